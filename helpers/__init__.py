"""The course's kernels, and what measures, checks and shows them.

Notebooks import from here by name:

    from numba import cuda                 # your own @cuda.jit keeps its usual name
    from helpers import check, cuda_kernel, measure, opencl_kernel, show
"""

from . import devices

devices.choose_cuda_target()  # before anything loads Numba
devices.find_opencl_drivers()  # before anything loads pyopencl

from .check import check  # noqa: E402
from .cuda import kernel as cuda_kernel  # noqa: E402
from .doctor import doctor  # noqa: E402
from .exercises import check_answer, with_compute_loop  # noqa: E402
from .instruments.compiler import compiler_report  # noqa: E402
from .instruments.traffic import predicted_traffic, traffic  # noqa: E402
from .instruments.warps import bank_conflicts, coalescing  # noqa: E402
from .opencl import kernel as opencl_kernel  # noqa: E402
from .show import show, show_changes  # noqa: E402
from .timing import compare, machine_limits, measure, measure_ladder  # noqa: E402
from .tuned import forget as forget_tuned  # noqa: E402
from .tuning import tune  # noqa: E402

__all__ = [
    "bank_conflicts", "check", "check_answer", "coalescing", "compare", "compiler_report", "cuda_kernel", "doctor", "forget_tuned",
    "machine_limits", "measure", "measure_ladder", "opencl_kernel", "predicted_traffic", "show", "show_changes", "traffic",
    "tune", "with_compute_loop",
]
