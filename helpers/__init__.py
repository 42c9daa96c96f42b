"""The course's kernels, and what measures, checks and shows them.

Notebooks import from here by name:

    from numba import cuda                 # your own @cuda.jit keeps its usual name
    from helpers import check, cuda_kernel, measure, opencl_kernel, show
"""

from . import devices

devices.choose_cuda_target()  # before anything loads Numba
devices.find_opencl_drivers()  # before anything loads pyopencl

from .cuda import kernel as cuda_kernel  # noqa: E402
from .opencl import kernel as opencl_kernel  # noqa: E402

__all__ = ["cuda_kernel", "opencl_kernel"]
