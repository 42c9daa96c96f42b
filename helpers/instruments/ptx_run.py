"""Compiles a CUDA kernel as for a GPU and runs what came out, with no GPU."""

import numpy as np

from .. import ladder
from ..launch import Kernel, cuda_kernel, draw
from ..launch.given import takes
from ..launch.operands import validate
from .compiler import ptx_of
from .ptx_machine import CompiledRun, run_text

LONGEST, LARGEST, MOST = 1 << 17, 1 << 22, 1 << 28  # K, M * N and M * N * K that take it some twenty seconds


@takes
def run_ptx(
    k: Kernel | str,
    M: int,
    N: int,
    K: int,
    arch: str = "sm_80",
    A: np.ndarray | None = None,
    B: np.ndarray | None = None,
    lto: bool = False,
) -> CompiledRun:
    """Compile a CUDA kernel for that architecture and run what came out, with no GPU. Returns `CompiledRun`.

    `k`: a kernel that `cuda_kernel` built, or the name of a step, which then has a GPU's parameters. A (M, K) and B
    (K, N) are float32, drawn when not given. `arch`: such as "sm_80" or "sm_120". `lto`: the code that nvJitLink
    makes. Raises ValueError for what is no CUDA kernel or no architecture, or for A and B of other shapes; KernelError
    for what does not compile, where NVIDIA's compiler is missing and, with its line, for an instruction that is not
    known.
    """
    if not isinstance(k, Kernel):
        k = cuda_kernel(k, **ladder.step(k, "CUDA").defaults["GPU"])
    if K > LONGEST or M * N > LARGEST or M * N * K > MOST:
        raise ValueError(
            f"{M} x {K} times {K} x {N} would take the PTX machine minutes: it runs in Python. Stay at K <= {LONGEST}, "
            f"M * N <= {LARGEST} and M * N * K <= {MOST}, such as 128 x 128 x 64."
        )
    drawn = draw(M, N, K)
    A, B = (drawn[0] if A is None else A), (drawn[1] if B is None else B)
    if validate(A, B) != (M, N, K):
        raise ValueError(f"A is {A.shape} and B is {B.shape}, which is no product of {M} x {K} times {K} x {N}.")
    title = f"{k} with {ladder.spell(k.parameters)} for {arch}" + " (linked)" * lto
    return run_text(ptx_of(k, arch, lto), k.block, k.grid(M, N), A, B, title)
