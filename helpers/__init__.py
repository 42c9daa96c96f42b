"""The course's kernels, and what measures, checks and shows them: a room for each question, see docs/ARCHITECTURE.md.

Notebooks import from here by name, and what is special to one page from the room itself:

    from numba import cuda                 # your own @cuda.jit keeps its usual name
    from helpers import check, cuda_kernel, measure, opencl_kernel, show
    from helpers.pictures import ladder_chart
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if not (find_spec("tomllib") and find_spec("platformdirs")):  # the first is Python's own, since 3.11
    where = "Take .venv/bin/python in the course's folder; `make lab` makes it."
    raise ImportError(f"This Python, {sys.executable}, lacks what the course needs. {where}")

from . import devices, drivers, files
from .needs import doctor as doctor

devices.find_home()  # before anything is loaded
devices.prepare_numba()  # before anything loads Numba
drivers.show_drivers()  # before anything lists OpenCL's
files.print_in_utf8()
if "IPython" in sys.modules and hasattr(sys.modules["IPython"].get_ipython(), "kernel"):
    from . import notebook

    notebook.prepare(sys.modules["IPython"].get_ipython())

# What pages share, by where it stands. It is loaded when first asked for: Numba alone takes longer than all of this.
SHARED = {
    "checking": ["check"],
    "clock": ["compare", "machine_limits", "measure", "measure_ladder", "tune"],
    "exercises": ["ask", "check_loads", "judge_wishes", "with_part"],
    "instruments": ["bank_conflicts", "coalescing", "compiler_report", "predicted_traffic", "traffic"],
    "language": ["set_language"],
    "launch.on_cuda": ["cuda_kernel"],
    "launch.on_opencl": ["opencl_kernel"],
    "logbook": ["work_log"],
    "pictures": ["show", "show_changes"],
}
__all__ = ["doctor", *(name for names in SHARED.values() for name in names)]

if TYPE_CHECKING:  # editors and mypy read this
    from .checking import check
    from .clock import compare, machine_limits, measure, measure_ladder, tune
    from .exercises import ask, check_loads, judge_wishes, with_part
    from .instruments import bank_conflicts, coalescing, compiler_report, predicted_traffic, traffic
    from .language import set_language
    from .launch.on_cuda import cuda_kernel
    from .launch.on_opencl import opencl_kernel
    from .logbook import work_log
    from .pictures import show, show_changes
else:

    def __getattr__(name):
        for place, names in SHARED.items():
            if name in names:
                return getattr(import_module(f"{__name__}.{place}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
