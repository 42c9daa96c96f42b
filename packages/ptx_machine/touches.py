"""What a kernel touched, an element a row, and what its warps asked for with each line of the source.

The rows come from a trace, of this machine or of another that notes each access. A table of them says what a GPU would
ask for: the threads of a block are numbered x first, and 32 of them are a warp. What they touch when they run a line
for the same time is one instruction. That is what a GPU does as long as a warp's threads take the same path; where some
of them run a loop once more than others, instructions are matched by count.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .results import Run
from .warps import WARP

CODE = 52  # characters of a source line that a table shows
FIELDS = "memory", "array", "writes", "line", "block", "thread", "index", "round", "phase", "part"


def record_type(names) -> np.dtype:
    """The dtype of `records`, for accesses to arrays of those names."""
    longest = max(map(len, names), default=1)
    types = "U6", f"U{longest}", bool, "i4", "3i4", "i4", "i4", "i4", "i4", "i1"
    return np.dtype(list(zip(FIELDS, types, strict=True)))


def records(sites: list, names, site, phase, block, thread, index, across: int) -> np.ndarray:
    """A row for each element that was touched; an access that reads and writes has the elements it reads first.

    sites   (memory, line, reads, writes, elements side by side) of each place of the source: "global" or "shared"
    names, site, phase, block, thread, index  of each access, in each thread's own order: its array's name, the number
            of its place, how many barriers the thread had passed, the numbers of block and thread, x fastest, and the
            index of its first element
    across  blocks along x
    Of a row `block` is (x, y, z); `part` its place within a vector, whose parts are one instruction, else 0; `round`
    how often the thread had run that line: accesses of a warp of equal line and round are one instruction.
    """
    if not sites:
        return np.zeros(0, record_type("ABC"))
    memory, line, reads, writes, width = (np.array(column)[site] for column in zip(*sites, strict=True))
    count = width * (reads.astype(int) + writes)
    access = np.repeat(np.arange(len(site)), count)
    nth = np.arange(len(access)) - np.repeat(np.cumsum(count) - count, count)
    rows = np.zeros(len(access), record_type(names))
    rows["memory"], rows["line"], rows["array"] = memory[access], line[access], names[access]
    rows["writes"] = writes[access] & (~reads[access] | (nth >= width[access]))
    rows["block"][:, 1], rows["block"][:, 0] = np.divmod(block[access], across)
    rows["thread"], rows["phase"] = thread[access], phase[access]
    rows["round"] = turns(block, thread, site)[access]
    rows["part"] = nth % width[access]
    rows["index"] = index[access] + rows["part"]
    return rows


def of_run(run: Run, across: int, shared: dict, line_of: Callable[[int], int]) -> np.ndarray:
    """The `records` of a traced run on the PTX machine.

    across   blocks along x
    shared   {what the compiler calls a shared array: (the source's name, bytes of an element)}; others have 4 bytes
    line_of  a function of a line that the PTX names: that of the source as it is shown
    """
    # {what it does, where: number} of each place of the source that touches memory. Iterations of a loop that the
    # compiler unrolled are one place.
    sites, notes = {}, []
    for one in run.trace:
        for number, compiled in enumerate(one.arrays if one.memory in ("global", "shared") else ()):
            name, size = shared.get(compiled, (compiled, 4))
            line, reads = one.source and line_of(one.source), one.act in ("load", "atomic")
            site = name, (one.memory, line, reads, one.act != "load", one.bytes // size)
            mine = one.array == number
            at = np.full(np.count_nonzero(mine), sites.setdefault(site, len(sites)))
            notes.append((at, *(of[mine] for of in (one.phases, one.blocks, one.threads)), one.offsets[mine] // size))
    columns = [np.concatenate(column) for column in zip(*notes, strict=True)] or [np.zeros(0, int)] * 5
    names = np.array([name for name, _ in sites], str)[columns[0]]
    return records([of for _, of in sites], names, *columns, across)


@dataclass(frozen=True, eq=False)
class Trace:
    """The accesses of one launch, in each thread's own order, and the shape of every array, {name: shape}.

    `accesses`: an array that nobody may change, with a row for each access to one element: its memory, "global" or
    "shared", array and `index`, counted from the array's start; whether it `writes`; the `line` of the source, 0 where
    nobody knows it; block (x, y, z) and number of the thread; and `round`, `phase` and `part`, as `records` has them.
    """

    accesses: np.ndarray
    shapes: dict

    def where(self, **values: object) -> np.ndarray:
        """The accesses whose fields have these values, such as where(array="A", writes=False, block=(0, 0, 0))."""
        chosen = np.ones(len(self.accesses), bool)
        for name, value in values.items():
            same = self.accesses[name] == value
            chosen &= same.all(axis=1) if name == "block" else same
        return self.accesses[chosen]

    def traffic(self, M: int, N: int, K: int) -> "Traffic":
        """How many loads and stores there are, of a product of that size."""
        shared, writes = self.accesses["memory"] == "shared", self.accesses["writes"]
        counts = map(np.count_nonzero, (~shared & ~writes, ~shared & writes, shared & ~writes, shared & writes))
        return Traffic(M, N, K, *counts)


@dataclass(frozen=True)
class Traffic:
    """Elements (float32) that all threads of a launch together load and store, and what follows from them."""

    M: int
    N: int
    K: int
    global_loads: int
    global_stores: int
    shared_loads: int
    shared_stores: int

    @property
    def bytes(self) -> int:
        """Bytes to and from global memory, if no cache helped."""
        return 4 * (self.global_loads + self.global_stores)

    @property
    def intensity(self) -> float:
        """Arithmetic intensity: flop per byte of global memory."""
        return 2 * self.M * self.N * self.K / self.bytes

    def __repr__(self):
        return (
            f"{self.M} x {self.N} x {self.K}: global {self.global_loads:,} loads, {self.global_stores:,} stores; "
            f"shared {self.shared_loads:,} loads, {self.shared_stores:,} stores; "
            f"{self.intensity:.2f} flop per byte asked for"
        )


def cells(accesses: np.ndarray, columns: int) -> list[tuple[int, int]]:
    """The (row, column) of each access, for an array of so many columns."""
    return [divmod(index, columns) for index in accesses["index"].tolist()]


@dataclass(frozen=True)
class Row:
    """All accesses of one source line to one array.

    line     1-based; 0 where nobody knows it
    pieces   sectors touched, or wavefronts
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


def by_line(rows: np.ndarray, source: str, pieces: str, count: Callable) -> Table:
    """Group `records` into instructions of warps, and add up what `count` says of them, by line and array.

    `pieces`: what is counted; `count`: words (warps, 32, w) -> (instructions, pieces, fewest), as `wavefronts` does.
    """
    x, y, _ = rows["block"].T
    what = [rows["line"], rows["array"], rows["writes"], x, y, rows["round"]]
    nth = turns(*what, rows["thread"], rows["part"])  # one line may touch an array more than once
    instruction = grouped(*what, rows["thread"] // WARP, nth)
    width = np.zeros(len(rows), int)  # of each instruction: words that a thread asks for
    np.maximum.at(width, instruction, rows["part"] + 1)
    width = width[instruction]
    kind = grouped(rows["line"], rows["array"], rows["writes"], width)
    sums = defaultdict(lambda: np.zeros(3, int))
    for chosen in (kind == number for number in range(kind.max(initial=-1) + 1)):
        some = rows[chosen]
        numbers, warp = np.unique(instruction[chosen], return_inverse=True)
        words = np.full((len(numbers), WARP, width[chosen][0]), -1)
        words[warp, some["thread"] % WARP, some["part"]] = some["index"]
        sums[tuple(some[name][0].item() for name in ("line", "array", "writes"))] += count(words)
    # Of what was typed at Python's prompt nobody knows the lines: each is 0.
    code, found = {number: line.strip() for number, line in enumerate(source.splitlines(), 1)}, []
    for line, array, writes in sorted(sums):
        what = f"{'store' if writes else 'load'} {array}"
        found.append(Row(line, code.get(line, ""), what, *sums[line, array, writes].tolist()))
    return Table(tuple(found), pieces)


def grouped(*columns) -> np.ndarray:
    """A number for each row, the same where all columns are the same; an int array, counted in the columns' order."""
    number = np.zeros(len(columns[0]), int)
    for column in columns:
        values, place = np.unique(column, return_inverse=True)
        # The numbers are made small again each time, so that they never overflow.
        number = np.unique(number * len(values) + place, return_inverse=True)[1]
    return number


def turns(*columns) -> np.ndarray:
    """For each row the number of earlier ones with the same in all columns: [0, 0, 1] for the column [7, 3, 7]."""
    number = grouped(*columns)
    order = np.argsort(number, kind="stable")
    result = np.empty(len(number), int)
    result[order] = np.arange(len(number)) - np.searchsorted(number[order], number[order])
    return result
