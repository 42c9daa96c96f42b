"""What a warp asks for with one instruction: 32-byte sectors of global memory, banks of shared memory.

From a traced run: the threads of a block are numbered x first, and 32 of them are a warp. What they touch when they run
a line for the same time is one instruction. That is what a GPU does as long as a warp's threads take the same path;
where some of them run a loop once more than others, instructions are matched by count.
"""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from ..ladder import ceil_div
from ..launch import Kernel
from ..launch.cuda_source import source_at_hand
from ..launch.given import takes
from ..sandbox import source_line
from ..sandbox.accesses import grouped, turns
from .gpus import WARP
from .traces import trace

SECTOR = 32  # bytes: the least that global memory moves
CODE = 52  # characters of a source line that a table shows
BANKS = 32  # words of 4 bytes that shared memory serves at once


@dataclass(frozen=True)
class Row:
    """All accesses of one source line to one array.

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
            place = f"{r.line} | {code}" if code else f"{r.line}"
            lines.append(f"{r.what:10} {r.instructions:12} {r.pieces:8} {r.fewest:7} {r.efficiency:10.0%}  {place}")
        return "\n".join(lines)


@takes
def coalescing(k: Kernel, M: int, N: int, K: int) -> Table:
    """How many 32-byte sectors each global access touches, against the fewest it could. Returns `Table`."""

    def sectors(indices):
        words = set(indices)
        return len({4 * word // SECTOR for word in words}), ceil_div(4 * len(words), SECTOR)

    return table(k, (M, N, K), "global", "sectors", sectors)


@takes
def bank_conflicts(k: Kernel, M: int, N: int, K: int) -> Table:
    """How many rounds each shared access takes, since a bank serves one word at a time. Returns `Table`.

    Accesses of 4 bytes a thread are served for a whole warp at once, of 8 bytes for half a warp, of 16 bytes for a
    quarter, 8 threads, at a time. So NVIDIA's slides show it for 16 bytes: "cuTENSOR", GTC 2019, S9593; they are cited
    in github.com/Dao-AILab/flash-attention/issues/738 and github.com/NVIDIA/cutlass/issues/898. Two quarters that ask
    for the same words may be served together (github.com/NervanaSystems/maxas/issues/8); that is not counted.
    """

    def rounds(indices):
        words = set(indices)  # threads that ask for the same word are served together
        busiest = max(sum(word % BANKS == bank for word in words) for bank in {word % BANKS for word in words})
        return busiest, ceil_div(len(words), BANKS)

    return table(k, (M, N, K), "shared", "rounds", rounds, lambda width: WARP // width)


def table(k, size, memory, pieces, judge, at_once=lambda width: WARP):
    """Group a traced run's accesses to that memory into warp instructions, and add up `judge` by line and array.

    `judge`: indices -> (pieces taken, fewest). `at_once`: words that a thread asks for, 1, 2 or 4 -> threads that are
    served at once; each such group is judged for itself.
    """
    a = trace(k, *size).where(memory=memory)
    x, y, _ = a["block"].T
    what = [a["line"], a["array"], a["writes"], x, y, a["round"]]
    nth = turns(*what, a["thread"], a["part"])  # one line may touch an array more than once
    instruction = grouped(*what, a["thread"] // WARP, nth)
    order = np.argsort(instruction)
    sums = defaultdict(lambda: [0, 0, 0])
    for one in np.split(order, np.flatnonzero(np.diff(instruction[order])) + 1) if len(a) else ():
        line, array, writes = (a[name][one[0]].item() for name in ("line", "array", "writes"))
        group = a["thread"][one] // at_once(len(np.unique(a["part"][one])))
        judged = [judge(a["index"][one[group == number]].tolist()) for number in np.unique(group)]
        took, fewest = map(sum, zip(*judged, strict=True))
        added = zip(sums[line, array, writes], (1, took, fewest), strict=True)
        sums[line, array, writes] = [total + n for total, n in added]
    source = {number: line.strip() for number, line in enumerate(k.source.splitlines(), 1)}
    if not source_at_hand(k):  # typed at Python's prompt: a number is all there is
        source = {}
    return Table(
        tuple(
            Row(
                source_line(k, line),
                source.get(source_line(k, line), ""),
                f"{'store' if writes else 'load'} {array}",
                *sums[line, array, writes],
            )
            for line, array, writes in sorted(sums)
        ),
        pieces,
    )
