"""Runs Numba's CUDA kernels with no GPU: LLVM, which Numba brings, compiles them; `ptx_machine` runs and watches them.

`enable` is what one calls; README.md shows how.
"""

import importlib.metadata
import os

from . import before_numba
from .before_numba import let_numba_load, once_imported
from .errors import KernelError, NotNative

__all__ = ["KernelError", "NotNative", "enable"]


def enable(watch: str = "first") -> None:
    """Let `numba.cuda` compile kernels with LLVM, and run them on the PTX machine, from now on in this process.

    watch   "first": where an OpenCL device takes SPIR-V, a kernel runs natively, in a child process, once its launches
            on the PTX machine have taken two seconds together; of a first launch that takes longer some blocks are
            watched. "all": each launch runs on the PTX machine, which watches it

    A GPU that is there is not used. Call it before anything imports names from `numba.cuda`. Nothing is loaded before
    Numba is. Raises ValueError for another word, ImportError where Numba has loaded its simulator; and where Numba
    lacks a part that is replaced, RuntimeError, when `numba.cuda` is imported.

    From then on a launch raises KernelError for what the kernel does wrong, with the line of its source.
    """
    if watch not in ("first", "all"):
        raise ValueError(f'watch={watch!r}: it is "first" or "all".')
    before_numba.WATCH = watch
    let_numba_load()
    try:
        importlib.metadata.version("cuda-bindings")
    except importlib.metadata.PackageNotFoundError:  # an old numba-cuda asks for NVIDIA's bindings even so
        os.environ.setdefault("NUMBA_CUDA_USE_NVIDIA_BINDING", "0")
    once_imported("numba.cuda.cudadrv.driver", f"{__name__}.stand_in:ask_for_no_linker")
    once_imported("numba.cuda", f"{__name__}.stand_in:stand_in")
    once_imported("numba_cuda_mlir.cuda", f"{__name__}.successor:stand_in")
