"""How does a kernel run? A built kernel of either dialect, k(A, B) -> C: NumPy arrays in, a NumPy array out.

What builds one is in `on_cuda` and `on_opencl`: neither is loaded, with Numba or pyopencl, before it is needed.
"""

from .dialects import DIALECTS, dialect
from .kernel import Contestant, HostKernel, Kernel, KernelError, NotYet, draw
