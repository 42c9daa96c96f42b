"""Every access that a kernel makes to global and shared (local) memory, in either dialect.

CUDA kernels run compiled, on the PTX machine, beside a GPU in a child process; OpenCL kernels run on their own device
with notes in their source, in a child process. The two agree: a kernel touches what it touches.
"""

from dataclasses import dataclass

import numpy as np

from .. import devices
from ..arguments import sizes
from ..launch import Kernel, KernelError, draw
from ..sandbox import SECONDS, Job, in_child
from ..sandbox.job import packed, portable
from .compiled import followed
from .loads import refuse_long
from .noted import noted_launch

KEPT = 8  # traces; pictures and tables of the same run follow each other
recent = {}  # what was run, as bytes -> its `Trace`, the latest last


@dataclass(frozen=True, eq=False)
class Trace:
    """The accesses of one launch, in each thread's own order, and the shape of every array, {name: shape}.

    `accesses`: an array that nobody may change, with the fields of `accesses.Access`.
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


def trace(k: Kernel, M: int, N: int, K: int) -> Trace:
    """Run the kernel once, for A (M, K) and B (K, N), and note each access. Returns `Trace`.

    Raises ValueError for sizes that would take minutes, KernelError if the kernel fails.
    """
    M, N, K = sizes((M, N, K))
    refuse_long(M, N, K)
    k = k.fitted(M, N, K)
    key = packed((k.dialect, portable(k), k.step, k.parameters, k.device.name, M, N, K))
    run = recent.pop(key, None) or taken(k, M, N, K)
    while len(recent) >= KEPT:
        del recent[next(iter(recent))]
    recent[key] = run
    return run


def cells(accesses: np.ndarray, columns: int) -> list[tuple[int, int]]:
    """The (row, column) of each access, for an array of so many columns."""
    return [divmod(index, columns) for index in accesses["index"].tolist()]


def taken(k, M, N, K):
    """A new `Trace`."""
    if k.dialect == "CUDA" and devices.compiling():  # that cannot take this process down
        accesses, shapes = followed(k, *draw(M, N, K))
    else:
        outcome = in_child(k, record, SECONDS, None, M=M, N=N, K=K)
        if outcome.findings:
            first = outcome.findings[0]
            why = first.message if outcome.unbuilt else f"{first.kind}, {first.message}"
            raise KernelError(f"{k} cannot be watched: {why}.")
        accesses, shapes = outcome.value
    accesses.flags.writeable = False
    return Trace(accesses, {"A": (M, K), "B": (K, N), "C": (M, N), **shapes})


def record(job: Job, M: int, N: int, K: int) -> tuple:
    """In the child: launch the kernel once. Returns all accesses as one array, and the shapes of its shared arrays."""
    return (followed if job.dialect == "CUDA" else noted_launch)(job.build(), *draw(M, N, K))
