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
from .units import mma_bfloat16 as mma_bfloat16
from .units import mma_float16 as mma_float16
from .units import mma_tf32 as mma_tf32
from .units import word_bfloat16 as word_bfloat16
from .units import word_float16 as word_float16
from .units import word_tf32 as word_tf32
from .wide import load4 as load4
from .wide import store4 as store4
