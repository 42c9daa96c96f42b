"""Runs Numba's CUDA kernels with no GPU: LLVM, which Numba brings, compiles them; `ptx_machine` runs and watches them.

`enable` is what one calls; README.md shows how. (PYTEST_DONT_REWRITE: it may be imported before pytest.)
"""

import os

from .before_numba import let_numba_load, once_imported
from .errors import KernelError, KernelWarning, NotNative
from .opencl_drivers import version
from .settings import SETTINGS, VARIABLE, settings_of

__all__ = ["KernelError", "KernelWarning", "NotNative", "enable"]


def enable(
    watch: str | None = None, findings: str | None = None, seconds: float | None = None, native: str | None = None
) -> None:
    """Let `numba.cuda` compile kernels with LLVM, and run them on the PTX machine, from now on in this process.

    Kernels of its successor, `numba_cuda_mlir`, which NVIDIA's own packages compile with no GPU, run there, too.

    Each setting is as it was before where it is not given; at first it is the word, or the number, that stands first.

    watch      "first": where an OpenCL device takes SPIR-V, a kernel runs natively once its launches on the PTX machine
               have taken two seconds together; of a first launch that takes longer some blocks are watched. "all": each
               launch runs on the PTX machine, which watches it
    findings   what a launch does wrong, with the line of the kernel's source: "raise", a KernelError; "warn", a
               KernelWarning, and the program goes on; "off", nothing. A launch that does not end is an error always
    seconds    120.0, of computing, before a launch is ended
    native     where a native launch happens: in a "child" process, so that a crash ends that, or "here", which takes
               less time

    A GPU that is there is not used. Call it before anything imports names from `numba.cuda`. Nothing is loaded before
    Numba is. Python processes that this one starts do the same, if the package is installed there. Raises ValueError
    for another word, ImportError where Numba has loaded its simulator; and where Numba lacks a part that is replaced,
    RuntimeError, when `numba.cuda` is imported.
    """
    given = dict(watch=watch, findings=findings, seconds=seconds, native=native)
    SETTINGS.set(**{name: value for name, value in given.items() if value is not None})
    let_numba_load()
    if not version("cuda-bindings"):  # an old numba-cuda asks for NVIDIA's bindings even so
        os.environ.setdefault("NUMBA_CUDA_USE_NVIDIA_BINDING", "0")
    once_imported("numba.cuda.cudadrv.driver", f"{__name__}.stand_in:ask_for_no_linker")
    once_imported("numba.cuda", f"{__name__}.stand_in:stand_in")
    once_imported("numba_cuda_mlir.cuda", f"{__name__}.successor:stand_in")


def enable_as_told() -> None:
    """Do what the variable CUDA_WITHOUT_GPU says: "1", or settings such as "findings=warn seconds=300".

    Python calls this as it starts, where the package is installed; see `at_start.pth`. Ends Python for other text.
    """
    try:
        enable(**settings_of(os.environ[VARIABLE]))
    except ValueError as error:
        raise SystemExit(f"ValueError: {error}") from None
