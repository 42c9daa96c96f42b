"""How does a kernel run? A built kernel of either dialect, k(A, B) -> C: NumPy arrays in, a NumPy array out."""

import lazy_loader

# Loaded when first asked for: what runs OpenCL alone, such as a rank of page 15, need not wait for Numba.
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "contestant": ["Contestant"],
        "cuda": ["CudaKernel", "cuda_kernel"],
        "dialects": ["DIALECTS", "dialect"],
        "errors": ["KernelError", "NotYet"],
        "host": ["HostKernel"],
        "kept": ["forget_tuned"],
        "kernel": ["Kernel"],
        "opencl": ["OpenCLKernel", "opencl_kernel"],
        "given": ["sizes"],
        "operands": ["draw"],
        "units": ["mma_bfloat16", "mma_float16", "mma_tf32", "word_bfloat16", "word_float16", "word_tf32"],
        "webgpu": ["WebGPUKernel", "webgpu_kernel"],
        "wide": ["load4", "store4"],
    },
)
