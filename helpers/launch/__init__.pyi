# What this room exports, and where it stands. lazy_loader reads it, and so do editors and mypy.

from .dialects import DIALECTS as DIALECTS
from .dialects import dialect as dialect
from .kernel import Contestant as Contestant
from .kernel import HostKernel as HostKernel
from .kernel import Kernel as Kernel
from .kernel import KernelError as KernelError
from .kernel import NotYet as NotYet
from .kernel import draw as draw
from .on_cuda import CudaKernel as CudaKernel
from .on_cuda import cuda_kernel as cuda_kernel
from .on_opencl import OpenCLKernel as OpenCLKernel
from .on_opencl import opencl_kernel as opencl_kernel
