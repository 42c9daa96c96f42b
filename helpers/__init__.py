"""The course's kernels, and what measures, checks and shows them: a room for each question, see docs/ARCHITECTURE.md.

Notebooks import from here by name, and what is special to one page from the room itself:

    from numba import cuda                 # your own @cuda.jit keeps its usual name
    from helpers import check, cuda_kernel, measure, opencl_kernel, show
    from helpers.pictures import ladder_chart
"""

from .which_python import refuse_another

refuse_another()

import sys

from . import stopping
from .stored import Stored

stopping.answer_in_one_line(Stored)  # before what takes a while to load, when Ctrl-C is as likely as later

import lazy_loader

from . import devices, terminal
from .doctor import doctor as doctor


def draw_verdicts(shell):
    """Have the shell of a notebook draw what a verdict found, below its text: a judge draws nothing."""

    def shown(report):
        from .pictures.verdicts import show_verdict

        show_verdict(report)

    shell.display_formatter.ipython_display_formatter.for_type_by_name("kernel_judge.report", "Report", shown)


devices.find_home()  # before anything is loaded
devices.prepare_numba()  # before anything loads Numba
devices.find_opencl_drivers()  # before anything loads pyopencl
terminal.print_in_utf8()
if "IPython" in sys.modules and hasattr(sys.modules["IPython"].get_ipython(), "kernel"):
    draw_verdicts(sys.modules["IPython"].get_ipython())

# Loaded when first asked for, since Numba alone takes longer than all of this course.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
