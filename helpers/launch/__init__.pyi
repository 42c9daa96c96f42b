# What this room exports, and where it stands. lazy_loader reads it, and so do editors and mypy.

from .contestant import Contestant as Contestant
from .cuda import CudaKernel as CudaKernel
from .cuda import cuda_kernel as cuda_kernel
from .dialects import DIALECTS as DIALECTS
from .dialects import dialect as dialect
from .host import HostKernel as HostKernel
from .host import NotYet as NotYet
from .kernel import Kernel as Kernel
from .kernel import KernelError as KernelError
from .kernel import parameters_like as parameters_like
from .opencl import OpenCLKernel as OpenCLKernel
from .opencl import opencl_kernel as opencl_kernel
from .operands import draw as draw
