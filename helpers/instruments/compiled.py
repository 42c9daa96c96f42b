"""A CUDA kernel's accesses to memory, from a run of its compiled code on the PTX machine, with no GPU."""

import numpy as np

import ptx_machine

from ..launch import Kernel, KernelError, numba_internals
from ..launch.on_ptx import CERTAIN, EXAMPLE, ptx_of, run_arrays
from ..sandbox import source_line
from .accesses import NOTE, grouped, records_of

MOST = 2_000_000  # accesses of threads that are kept
AT_ONCE = 1 << 15  # threads of an instruction, at most: where fewer have room, no more is kept


def run_watched(k: Kernel, A: np.ndarray, B: np.ndarray, trace: int = 0) -> ptx_machine.Run:
    """Run the kernel's code that keeps each access of the source, for A (M, K) and B (K, N). Returns its `Run`.

    `trace`: how many accesses of threads it keeps. Raises KernelError for what does not compile, and for what no GPU
    would do, with its line.
    """
    (M, _), N = A.shape, B.shape[1]
    C = np.full((M, N), np.nan, np.float32)
    run = run_arrays(ptx_of(k.function, each=True), k.block, k.grid(M, N), A, B, C, trace=trace)
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
    shared = numba_internals.shared_arrays(numba_internals.compiled_for(k.function, *EXAMPLE))
    shapes = {name: shape for name, shape, _ in shared.values()}
    seen = [one for one in run.trace if one.memory in ("global", "shared")]
    names = [*dict.fromkeys(["A", "B", "C", *shapes, *(name for one in seen for name in one.arrays)])]
    size = np.array([4] * len(names))  # bytes of an element
    for name, _, size_of_one in shared.values():
        size[names.index(name)] = size_of_one
    place = {name: names.index(shared.get(name, (name,))[0]) for name in names}
    many = [one.threads.size for one in seen]

    def each(values, of=object):
        """A value for each access of a thread, from one for each instruction."""
        return np.repeat(np.array(values, of), many)

    def all_of(parts):
        """A value for each access of a thread, from one array for each instruction."""
        return np.concatenate([np.zeros(0, int), *parts])

    array = all_of(np.array([place[name] for name in one.arrays])[one.array] for one in seen)
    site = {
        "memory": each([one.memory for one in seen], "U6"),
        "line": each([one.source for one in seen], int),
        "reads": each([one.act in ("load", "atomic") for one in seen], bool),
        "writes": each([one.act != "load" for one in seen], bool),
        "width": np.maximum(1, each([one.bytes for one in seen], int) // size[array]),
    }
    notes = np.zeros(len(array), NOTE)
    notes["block"], notes["thread"] = (all_of(getattr(one, name) for one in seen) for name in ("blocks", "threads"))
    notes["phase"] = all_of(one.rounds for one in seen)
    # The compiler writes rounds of a loop out: they are the same place of the source.
    notes["site"] = grouped(site["line"], array, site["reads"], site["writes"])
    index = all_of(one.offsets for one in seen) // size[array]
    return records_of(notes, site, names, array, index, k.grid(A.shape[0], B.shape[1])[0]), shapes
