"""Every access that a kernel makes to global and shared (local) memory, in either dialect.

CUDA kernels are watched in Numba's simulator, OpenCL kernels run on their own device with notes in their source;
both in a child process. The two agree: a kernel touches what it touches.
"""

import functools
from dataclasses import dataclass

from ..launch import Kernel, KernelError, draw
from ..sandbox import SECONDS, Job, in_child, watching
from .annotate import noted_launch
from .traffic import refuse_long


@dataclass(frozen=True)
class Trace:
    """The accesses of one launch, a tuple of `Access` in each thread's own order, and the shape of every array."""

    accesses: tuple
    shapes: dict

    @property
    def has_barriers(self) -> bool:
        """Whether any access comes after a barrier."""
        return any(a.phase for a in self.accesses)


def trace(k: Kernel, M: int, N: int, K: int) -> Trace:
    """Run the kernel once, for A (M, K) and B (K, N), and note each access. Returns `Trace`.

    Raises ValueError for sizes that would take minutes, KernelError if the kernel fails.
    """
    refuse_long(M, N, K)
    return remembered(k, M, N, K)


@functools.lru_cache(maxsize=32)  # pictures and tables of the same run follow each other
def remembered(k, M, N, K):
    """The trace of that run, which is taken once."""
    outcome = in_child(k, record, SECONDS, None, M=M, N=N, K=K)
    if outcome.findings:
        first = outcome.findings[0]
        raise KernelError(
            f"{k} cannot be watched: {first.message if outcome.unbuilt else f'{first.kind}, {first.message}'}."
        )
    accesses, shapes = outcome.value
    return Trace(tuple(accesses), {"A": (M, K), "B": (K, N), "C": (M, N), **shapes})


def record(job: Job, M: int, N: int, K: int) -> tuple:
    """In the child: launch the kernel once. Returns every `Access` it made and the shapes of its shared arrays."""
    k, (A, B) = job.build(), draw(M, N, K)
    if k.dialect == "OpenCL":
        return noted_launch(k, A, B)
    with watching(keep_accesses=True) as watch:
        k.upload(A, B).launch()
    return watch.accesses, {name: shape for name, shape in watch.shapes.items() if name not in "ABC"}
