"""Page 14: a kernel as an AMD GPU's code."""

import inspect
from collections.abc import Callable

import old_roc
from cuda_without_gpu import by_llvm, to_ptx

from .. import ladder
from ..arguments import named
from ..launch import Kernel, KernelError, cuda_source, numba_internals
from ..launch.on_cuda import cuda_kernel


def amd_report(
    k: Kernel | Callable | str, gpu: str = "MI300X", block: tuple[int, int] | None = None
) -> old_roc.AMDReport:
    """Compile a Python kernel for an AMD GPU, with no GPU and no ROCm, and read what came out. Returns `AMDReport`.

    `k`: what `cuda_kernel` built, the name of a step, or a function of (A, B, C), float32, under @cuda.jit or @roc.jit.
    `gpu`: "MI300X" or "RX 7900 XTX". `block`: work-items a group, (x, y), for a function; (16, 16) if left out.

    Raises ValueError for another GPU, KernelError for a kernel that is not written in Python, and for what
    `old_roc.compile_for_amd` refuses.
    """
    gpu = named(gpu, old_roc.GPUS, "AMD GPU")
    if isinstance(k, str):
        k = cuda_kernel(k, **ladder.step(k, "CUDA").defaults["GPU"])
    function = getattr(k, "function", k)
    if not (inspect.isfunction(function) or numba_internals.is_jitted(function)):
        raise KernelError(f"{k} is not written in Python; give a kernel of cuda_kernel's, or one under @cuda.jit.")
    title = f"{k} with {ladder.spell(k.parameters)}" if hasattr(k, "parameters") else function.__name__
    cuda_source.ptx_of(function)  # raises what speaks against the kernel on any GPU
    compiled = to_ptx.compiled_for(function, *cuda_source.EXAMPLE)
    text = str(by_llvm.linked(to_ptx.whole(compiled._codelibrary.llvm_strs)))
    try:
        return old_roc.compile_for_amd(text, gpu, tuple(block or getattr(k, "block", (16, 16))), title)
    except ValueError as error:
        raise KernelError(str(error)) from None
