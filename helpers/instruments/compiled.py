"""A CUDA kernel's accesses to memory, from a run of its compiled code on the PTX machine, with no GPU."""

import numpy as np

import ptx_machine
from cuda_without_gpu import to_ptx

from ..launch import Kernel, KernelError
from ..launch.on_ptx import CERTAIN, EXAMPLE, ptx_of, run_arrays
from ..sandbox import source_line
from .accesses import NOTE, record_type, records_of

MOST = 2_000_000  # accesses of threads that are kept
AT_ONCE = 1 << 15  # threads of an instruction, at most: where fewer have room, no more is kept


def run_watched(k: Kernel, A: np.ndarray, B: np.ndarray, trace: int = 0) -> ptx_machine.Run:
    """The `Run` of code that keeps each access, `trace` of them; raises KernelError for what no GPU would do."""
    (M, _), N = A.shape, B.shape[1]
    C = np.full((M, N), np.nan, np.float32)
    options = dict(trace=trace, requests=not trace)  # what warps ask for follows from the trace
    run = run_arrays(ptx_of(k.function, each=True), k.block, k.grid(M, N), A, B, C, **options)
    if found := next((finding for finding in run.findings if finding.kind in CERTAIN), None):
        raise KernelError(f"{k} cannot be followed: {in_words(k, found)}.")
    return run


def in_words(k, finding):
    """What is wrong, by its line of k.source."""
    line = f"line {source_line(k, finding.source)} " if finding.source else ""
    if finding.kind == "out of bounds":
        does = {"ld": "reads", "st": "writes"}.get(finding.text[:2], "touches")
        memory = "shared" if ".shared" in finding.text else "global"
        return f"{line or 'it '}{does} {memory} memory outside of its arrays"
    return f"{line}({finding.kind}): {finding.message}"


def followed(k: Kernel, A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, dict]:
    """All accesses of one launch as one array, and the shapes of its shared arrays, {name: shape}.

    Raises KernelError as `run_watched` does, and for too many accesses.
    """
    run = run_watched(k, A, B, trace=MOST)
    if sum(one.threads.size for one in run.trace) > MOST - AT_ONCE:
        raise KernelError(f"{k} makes more than {MOST - AT_ONCE:,} accesses. Choose a smaller size.")
    if not any(one.arrays for one in run.trace):
        return np.zeros(0, record_type("ABC")), {}
    shared = to_ptx.shared_arrays(to_ptx.compiled_for(k.function, *EXAMPLE))
    # {(line, memory, array, reads, writes, width): number} of each place of the source that touches memory. Rounds of a
    # loop that the compiler wrote out are one place.
    sites, notes = {}, [np.zeros(0, NOTE)]
    for one in run.trace:
        for number, compiled in enumerate(one.arrays if one.memory in ("global", "shared") else ()):
            name, _, size = shared.get(compiled, (compiled, (), 4))
            reads, writes = one.act in ("load", "atomic"), one.act != "load"
            site = one.source and source_line(k, one.source), one.memory, name, reads, writes, one.bytes // size
            mine = one.array == number
            note = np.zeros(np.count_nonzero(mine), NOTE)
            note["site"], note["address"] = sites.setdefault(site, len(sites)), one.offsets[mine] // size
            note["block"], note["thread"], note["phase"] = one.blocks[mine], one.threads[mine], one.rounds[mine]
            notes.append(note)
    notes = np.concatenate(notes)
    fields = zip(("line", "memory", "array", "reads", "writes", "width"), zip(*sites, strict=True), strict=False)
    site = {field: np.array(values)[notes["site"]] for field, values in fields}
    names, array = np.unique(site["array"], return_inverse=True)
    across, _ = k.grid(A.shape[0], B.shape[1])
    accesses = records_of(notes, site, names.tolist(), array, notes["address"].astype(int), across)
    return accesses, {name: shape for name, shape, _ in shared.values()}
