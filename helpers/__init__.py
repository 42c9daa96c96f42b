"""The course's kernels, and what measures, checks and shows them: a room for each question, see ARCHITECTURE.md.

Notebooks import from here by name, and what is special to one page from the room itself:

    from numba import cuda                 # your own @cuda.jit keeps its usual name
    from helpers import check, cuda_kernel, measure, opencl_kernel, show
    from helpers.pictures import ladder_chart
"""

from . import devices

devices.choose_cuda_target()  # before anything loads Numba
devices.find_opencl_drivers()  # before anything loads pyopencl

from .clock import compare, machine_limits, measure, measure_ladder, tune  # noqa: E402
from .doctor import doctor  # noqa: E402
from .instruments import bank_conflicts, coalescing, compiler_report, predicted_traffic, traffic  # noqa: E402
from .judge import check, check_answer, with_compute_loop  # noqa: E402
from .launch import cuda_kernel, forget_tuned, opencl_kernel  # noqa: E402
from .pictures import show, show_changes  # noqa: E402

__all__ = [
    "bank_conflicts",
    "check",
    "check_answer",
    "coalescing",
    "compare",
    "compiler_report",
    "cuda_kernel",
    "doctor",
    "forget_tuned",
    "machine_limits",
    "measure",
    "measure_ladder",
    "opencl_kernel",
    "predicted_traffic",
    "show",
    "show_changes",
    "traffic",
    "tune",
    "with_compute_loop",
]
