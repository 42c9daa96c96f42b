"""Every access that a kernel makes to global and shared (local) memory, in either dialect, and how many there are.

CUDA kernels run compiled, on the PTX machine; OpenCL kernels on their own device, with notes in their source.
"""

from functools import partial

import numpy as np

import opencl_trace
from cuda_without_gpu import to_ptx
from kernel_judge.on_ptx import run_arrays
from ptx_machine import LINE, SECTOR, PTXError, sectors, wavefronts
from ptx_machine.touches import Table, Trace, Traffic, by_line, cells, of_run, records

from .. import devices, ladder
from ..arguments import named, sizes
from ..child import in_child, made_from, packed, source_line
from ..launch import Kernel, KernelError, draw
from ..launch.cuda_source import EXAMPLE, ptx_of

LIMIT = 1 << 15  # multiply-adds of a run, of which a picture can be drawn
# Wrong even if the numbers are right.
CERTAIN = {"out of bounds", "misaligned", "divergent barrier", "hang", "out of time", "error"}
KEPT = 8  # traces; pictures and tables of the same run follow each other
__all__ = ["Traffic", "cells"]  # which this room offers, too
recent: dict[bytes, Trace] = {}  # {what was run: its trace}, the latest last


def traffic(k: Kernel, M: int, N: int, K: int) -> Traffic:
    """Count what the kernel loads and stores for A (M, K) and B (K, N). Returns `Traffic`; raises as `trace` does."""
    return trace(k, M, N, K).traffic(M, N, K)


def predicted_traffic(k: Kernel, M: int, N: int, K: int) -> Traffic:
    """The same by the ladder's formula, for a kernel of the ladder, at any size. Returns `Traffic`."""
    M, N, K = sizes((M, N, K))
    k = k.fitted(M, N, K)
    step, given = ladder.step(k.step), (k.parameters, M, N, K)
    return Traffic(M, N, K, step.global_loads(*given), M * N, *step.shared_accesses(*given))


def coalescing(k: Kernel, M: int, N: int, K: int, pieces: str = "sectors") -> Table:
    """How many 32-byte sectors each global access touches, against the fewest it could. Returns `Table`.

    `pieces`: "lines" counts lines of 128 bytes instead. Raises ValueError for other pieces.
    """
    sides = {"sectors": SECTOR, "lines": LINE}
    side = sides[named(pieces, sides, "kind of piece")]
    rows = trace(k, M, N, K).where(memory="global")
    return by_line(rows, k.source, pieces, lambda words: sectors(words, 4, side))


def bank_conflicts(k: Kernel, M: int, N: int, K: int) -> Table:
    """How many wavefronts each shared access takes, as `ptx_machine.wavefronts` counts them. Returns `Table`."""
    return by_line(trace(k, M, N, K).where(memory="shared"), k.source, "wavefronts", wavefronts)


def trace(k: Kernel, M: int, N: int, K: int) -> Trace:
    """Run the kernel once, for A (M, K) and B (K, N), and note each access. Returns `Trace`.

    Raises ValueError for sizes that would take minutes, KernelError if the kernel fails.
    """
    M, N, K = sizes((M, N, K))
    if M * N * K > LIMIT:
        raise ValueError(f"{M} x {N} x {K} would take too long to follow; stay at 32 x 32 x 32 or so.")
    k = k.fitted(M, N, K)
    key = packed((k.dialect, made_from(k), k.step, k.parameters, k.device.name, M, N, K))
    if key not in recent:
        accesses, shapes = run_noted(k, *draw(M, N, K))
        accesses.flags.writeable = False
        recent[key] = Trace(accesses, {"A": (M, K), "B": (K, N), "C": (M, N), **shapes})
        if len(recent) > KEPT:
            del recent[next(iter(recent))]
    return recent[key]


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
    C = np.full((len(A), B.shape[1]), np.nan, np.float32)
    grid, limit = k.grid(*C.shape), 5000 * (len(B) + 100)
    ptx = ptx_of(k.function, each=True)
    try:
        run = run_arrays(ptx, k.block, grid, A, B, C, limit=limit, trace=True, requests=False)
    except (PTXError, ValueError) as error:
        raise KernelError(str(error)) from None
    if found := next((finding for finding in run.findings if finding.kind in CERTAIN), None):
        line = f" at line {source_line(k, found.source)}" if found.source else ""
        raise KernelError(f"{k} cannot be followed: {found.kind}{line}. check says what it is.")
    shared = to_ptx.shared_arrays(to_ptx.compiled_for(k.function, *EXAMPLE))
    names = {compiled: (name, size) for compiled, (name, _, size) in shared.items()}
    rows = of_run(run, grid[0], names, lambda line: source_line(k, line))
    return rows, {name: shape for name, shape, _ in shared.values()}


def with_notes(k: Kernel, A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, dict]:
    """The same of an OpenCL kernel, from a launch on its own device. Raises KernelError."""
    work = k.upload(A, B)
    lengths = (A.size, B.size, A.shape[0] * B.shape[1])
    arrays = [buffer.get_sub_region(0, 4 * n) for buffer, n in zip((work.A, work.B, work.C), lengths, strict=True)]
    arguments, global_size = [*map(np.int32, work.sizes), *arrays], k.global_size(A.shape[0], B.shape[1])
    try:
        run = opencl_trace.trace(work.on.queue, k.source, global_size, k.block, arguments, k.parameters)
    except opencl_trace.TraceError as error:
        raise KernelError(str(error)) from None
    local = dict(list(run.arrays.items())[3:])
    memory = {"local": "shared"}
    sites = [(memory.get(one.space, one.space), one.line, one.reads, one.writes, one.width) for one in run.sites]
    touches = run.touches
    names = np.array([*"ABC", *local])[touches["array"]]
    columns = (touches[name] for name in ("site", "phase", "group", "item", "index"))
    return records(sites, names, *columns, run.groups[0]), local
