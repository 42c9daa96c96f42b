"""How does a kernel run? A built kernel of either dialect, k(A, B) -> C: NumPy arrays in, a NumPy array out."""

from .contestant import Contestant
from .cuda import CudaKernel, cuda_kernel
from .dialects import DIALECTS, dialect
from .errors import KernelError, NotYet
from .host import HostKernel
from .kept import forget_tuned
from .kernel import Kernel
from .opencl import OpenCLKernel, opencl_kernel
from .operands import draw, sizes
from .wide import load4, store4

__all__ = [
    "DIALECTS",
    "Contestant",
    "CudaKernel",
    "HostKernel",
    "Kernel",
    "KernelError",
    "NotYet",
    "OpenCLKernel",
    "cuda_kernel",
    "dialect",
    "draw",
    "forget_tuned",
    "load4",
    "opencl_kernel",
    "sizes",
    "store4",
]
