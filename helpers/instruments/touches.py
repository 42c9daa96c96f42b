"""Every access that a kernel makes to global and shared (local) memory, in either dialect, and how many there are.

CUDA kernels run compiled, on the PTX machine, beside a GPU in a child process; OpenCL kernels run on their own device
with notes in their source, in a child process. The two agree, and agree with the ladder's formula: a kernel touches
what it touches.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

import opencl_trace
from cuda_without_gpu import to_ptx

from .. import devices, ladder
from ..arguments import sizes
from ..child import in_child, made_from, packed, source_line
from ..launch import Kernel, KernelError, draw
from ..launch.on_ptx import CERTAIN, EXAMPLE, ptx_of, run_arrays

LIMIT = 1 << 15  # multiply-adds of a run, of which a picture can be drawn
MOST = 2_000_000  # accesses of threads that the PTX machine keeps
AT_ONCE = 1 << 15  # threads of an instruction, at most: where fewer have room, no more is kept
KEPT = 8  # traces; pictures and tables of the same run follow each other
recent: dict[bytes, "Trace"] = {}  # {what was run: its trace}, the latest last


@dataclass(frozen=True, eq=False)
class Trace:
    """The accesses of one launch, in each thread's own order, and the shape of every array, {name: shape}.

    `accesses`: an array that nobody may change, with a row for each access to one element:
    memory, array, writes  "global" or "shared"; the array's name; whether it writes
    line           of the source, from 1; 0 where nobody knows it
    block, thread  (x, y, z) of the block, and the thread's number in it
    index          counts elements from the array's start
    round          how often the thread had run that line: threads of a warp run in step, so accesses of equal line and
                   round are one instruction of the warp
    phase          how many barriers the thread had passed
    part           its place within a load of four, or of as many as a vector has, else 0; all are one instruction
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


def traffic(k: Kernel, M: int, N: int, K: int) -> Traffic:
    """Count what the kernel loads and stores for A (M, K) and B (K, N). Returns `Traffic`.

    Raises ValueError for sizes that would take minutes, KernelError if the kernel fails.
    """
    found = trace(k, M, N, K).accesses
    counts = [
        np.count_nonzero((found["memory"] == memory) & (found["writes"] == writes))
        for memory in ("global", "shared")
        for writes in (False, True)
    ]
    return Traffic(M, N, K, *counts)


def predicted_traffic(k: Kernel, M: int, N: int, K: int) -> Traffic:
    """The same by the ladder's formula, for a kernel of the ladder, at any size. Returns `Traffic`."""
    M, N, K = sizes((M, N, K))
    k = k.fitted(M, N, K)
    step, given = ladder.step(k.step), (k.parameters, M, N, K)
    return Traffic(M, N, K, step.global_loads(*given), step.global_stores(*given), *step.shared_accesses(*given))


def trace(k: Kernel, M: int, N: int, K: int) -> Trace:
    """Run the kernel once, for A (M, K) and B (K, N), and note each access. Returns `Trace`.

    Raises ValueError for sizes that would take minutes, KernelError if the kernel fails.
    """
    M, N, K = sizes((M, N, K))
    if M * N * K > LIMIT:
        raise ValueError(
            f"{M} x {N} x {K} would take too long to follow; stay at M * N * K <= {LIMIT}, such as 32 x 32 x 32."
        )
    k = k.fitted(M, N, K)
    key = packed((k.dialect, made_from(k), k.step, k.parameters, k.device.name, M, N, K))
    if key not in recent:
        accesses, shapes = run_noted(k, *draw(M, N, K))
        accesses.flags.writeable = False
        recent[key] = Trace(accesses, {"A": (M, K), "B": (K, N), "C": (M, N), **shapes})
        if len(recent) > KEPT:
            del recent[next(iter(recent))]
    return recent[key]


def cells(accesses: np.ndarray, columns: int) -> list[tuple[int, int]]:
    """The (row, column) of each access, for an array of so many columns."""
    return [divmod(index, columns) for index in accesses["index"].tolist()]


def run_noted(k: Kernel, A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, dict]:
    """All accesses of one launch as one array, and the shapes of its shared arrays, {name: shape}."""
    if k.dialect == "CUDA" and devices.compiling():  # that cannot take this process down
        return on_ptx(k, A, B)
    outcome = in_child(k, partial(on_ptx if k.dialect == "CUDA" else with_notes, k, A, B))
    if outcome.value is None:
        why = outcome.error[1] if outcome.error else f"{outcome.why.kind}, {outcome.why.message}"
        raise KernelError(f"{k} cannot be watched: {why}.")
    return outcome.value


def on_ptx(k: Kernel, A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, dict]:
    """The same of a CUDA kernel, from a run of its compiled code. Raises KernelError for what no GPU would do."""
    (M, _), N = A.shape, B.shape[1]
    C = np.full((M, N), np.nan, np.float32)
    ptx = ptx_of(k.function, each=True)
    run = run_arrays(ptx, k.block, k.grid(M, N), A, B, C, trace=MOST, requests=False)
    if found := next((finding for finding in run.findings if finding.kind in CERTAIN), None):
        raise KernelError(f"{k} cannot be followed: {in_words(k, found)}.")
    if sum(one.threads.size for one in run.trace) > MOST - AT_ONCE:
        raise KernelError(f"{k} makes more than {MOST - AT_ONCE:,} accesses. Choose a smaller size.")
    shared = to_ptx.shared_arrays(to_ptx.compiled_for(k.function, *EXAMPLE))
    # {what it does, where: number} of each place of the source that touches memory. Rounds of a loop that the compiler
    # wrote out are one place.
    sites, notes = {}, []
    for one in run.trace:
        for number, compiled in enumerate(one.arrays if one.memory in ("global", "shared") else ()):
            name, _, size = shared.get(compiled, (compiled, (), 4))
            line, reads = one.source and source_line(k, one.source), one.act in ("load", "atomic")
            site = name, (one.memory, line, reads, one.act != "load", one.bytes // size)
            mine = one.array == number
            at = np.full(np.count_nonzero(mine), sites.setdefault(site, len(sites)))
            notes.append((at, *(of[mine] for of in (one.rounds, one.blocks, one.threads)), one.offsets[mine] // size))
    columns = [np.concatenate(column) for column in zip(*notes, strict=True)] or [np.zeros(0, int)] * 5
    names = [name for name, _ in sites]
    accesses = records([of for _, of in sites], np.array(names, str)[columns[0]], *columns, k.grid(M, N)[0])
    return accesses, {name: shape for name, shape, _ in shared.values()}


def in_words(k, finding):
    """What is wrong, by its line of k.source."""
    line = f"line {source_line(k, finding.source)} " if finding.source else ""
    if finding.kind == "out of bounds":
        does = {"ld": "reads", "st": "writes"}.get(finding.text[:2], "touches")
        memory = "shared" if ".shared" in finding.text else "global"
        return f"{line or 'it '}{does} {memory} memory outside of its arrays"
    return f"{line}({finding.kind}): {finding.message}"


def with_notes(k: Kernel, A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, dict]:
    """The same of an OpenCL kernel, from a launch on its own device. Raises KernelError."""
    work = k.upload(A, B)
    lengths = (A.size, B.size, A.shape[0] * B.shape[1])
    arrays = [buffer.get_sub_region(0, 4 * n) for buffer, n in zip((work.A, work.B, work.C), lengths, strict=True)]
    arguments, global_size = [*map(np.int32, work.sizes), *arrays], k.global_size(A.shape[0], B.shape[1])
    try:
        run = opencl_trace.trace(k.queue, k.source, global_size, k.block, arguments, k.parameters)
    except opencl_trace.TraceError as error:
        raise KernelError(str(error)) from None
    local = dict(list(run.arrays.items())[3:])
    if set(local) & set("ABC"):
        raise KernelError("one of its local arrays is called A, B or C")
    memory = {"local": "shared"}
    sites = [(memory.get(one.space, one.space), one.line, one.reads, one.writes, one.width) for one in run.sites]
    touches = run.touches
    names = np.array([*"ABC", *local])[touches["array"]]
    columns = (touches[name] for name in ("site", "phase", "group", "item", "index"))
    return records(sites, names, *columns, run.groups[0]), local


def records(sites: list, names, site, phase, block, thread, index, across: int) -> np.ndarray:
    """A row for each element that was touched; an access that reads and writes has the elements it reads first.

    `sites`: (memory, line, reads, writes, width) of each place of the source. Of each access: the name of its array,
    the number of its `site`, and the `index` of its first element. `across`: blocks along x.
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


def record_type(names) -> np.dtype:
    """The dtype of `Trace.accesses`, for accesses to arrays of those names."""
    longest = max(map(len, names), default=1)
    fields = "memory", "array", "writes", "line", "block", "thread", "index", "round", "phase", "part"
    types = "U6", f"U{longest}", bool, "i4", "3i4", "i4", "i4", "i4", "i4", "i1"
    return np.dtype(list(zip(fields, types, strict=True)))


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
