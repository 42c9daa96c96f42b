"""What a warp asks for with one instruction: 32-byte sectors of global memory, banks of shared memory.

From a traced run: the threads of a block are numbered x first, and 32 of them are a warp. What they touch when they run
a line for the same time is one instruction. That is what a GPU does as long as a warp's threads take the same path;
where some of them run a loop once more than others, instructions are matched by count.
"""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from ptx_machine import LINE, SECTOR, WARP, bank_rounds, sectors

from ..arguments import named
from ..launch import Kernel
from .accesses import grouped, turns
from .traces import trace

CODE = 52  # characters of a source line that a table shows


@dataclass(frozen=True)
class Row:
    """All accesses of one source line to one array.

    line     1-based; 0 where nobody knows it
    pieces   sectors touched, or rounds that the banks took
    fewest   as few of them as could do
    """

    line: int
    code: str
    what: str
    instructions: int
    pieces: int
    fewest: int

    @property
    def efficiency(self) -> float:
        """The fewest pieces that could serve these instructions, as a share of those it took; 1 is best."""
        return self.fewest / self.pieces


@dataclass(frozen=True)
class Table:
    """Rows in the order of the source, and what their pieces are called."""

    rows: tuple
    pieces: str

    def __repr__(self):
        lines = [f"{'access':10} {'instructions':>12} {self.pieces:>8} {'fewest':>7} {'efficiency':>10}  line"]
        for r in self.rows:
            code = r.code if len(r.code) <= CODE else r.code[: CODE - 1] + "…"
            place = f"{r.line} | {code}" if code else f"{r.line or ''}"
            asked = f"{r.what:10} {r.instructions:12} {r.pieces:8} {r.fewest:7} {r.efficiency:10.0%}"
            lines.append(f"{asked}  {place}".rstrip())
        return "\n".join(lines)


def coalescing(k: Kernel, M: int, N: int, K: int, pieces: str = "sectors") -> Table:
    """How many 32-byte sectors each global access touches, against the fewest it could. Returns `Table`.

    `pieces`: "lines" counts lines of 128 bytes instead. Raises ValueError for other pieces.
    """
    sizes = {"sectors": SECTOR, "lines": LINE}
    size = sizes[named(pieces, sizes, "kind of piece")]
    return table(k, (M, N, K), "global", pieces, lambda words: sectors(words, 4, size))


def bank_conflicts(k: Kernel, M: int, N: int, K: int) -> Table:
    """How many rounds each shared access takes, since a bank serves one word at a time. Returns `Table`.

    Accesses of 4 bytes a thread are served for a whole warp at once, of 8 bytes for half a warp, of 16 bytes for a
    quarter, 8 threads, at a time; `ptx_machine.bank_rounds` names the sources.
    """
    return table(k, (M, N, K), "shared", "rounds", bank_rounds)


def table(k, size, memory, pieces, count):
    """Group a traced run's accesses to that memory into warp instructions, and add up `count` by line and array."""
    a = trace(k, *size).where(memory=memory)
    x, y, _ = a["block"].T
    what = [a["line"], a["array"], a["writes"], x, y, a["round"]]
    nth = turns(*what, a["thread"], a["part"])  # one line may touch an array more than once
    instruction = grouped(*what, a["thread"] // WARP, nth)
    width = np.zeros(len(a), int)  # of each instruction: words that a thread asks for
    np.maximum.at(width, instruction, a["part"] + 1)
    width = width[instruction]
    kind = grouped(a["line"], a["array"], a["writes"], width)
    sums = defaultdict(lambda: np.zeros(3, int))
    for chosen in (kind == number for number in range(kind.max(initial=-1) + 1)):
        some = a[chosen]
        numbers, warp = np.unique(instruction[chosen], return_inverse=True)
        words = np.full((len(numbers), WARP, width[chosen][0]), -1)
        words[warp, some["thread"] % WARP, some["part"]] = some["index"]
        sums[tuple(some[name][0].item() for name in ("line", "array", "writes"))] += count(words)
    # Of what was typed at Python's prompt nobody knows the lines: each is 0.
    source = {number: line.strip() for number, line in enumerate(k.source.splitlines(), 1)}
    rows = []
    for line, array, writes in sorted(sums):
        what = f"{'store' if writes else 'load'} {array}"
        rows.append(Row(line, source.get(line, ""), what, *sums[line, array, writes].tolist()))
    return Table(tuple(rows), pieces)
