"""The course's kernels, and what measures, checks and shows them: a room for each question, see docs/ARCHITECTURE.md.

Notebooks import from here by name, and what is special to one page from the room itself:

    from numba import cuda                 # your own @cuda.jit keeps its usual name
    from helpers import check, cuda_kernel, measure, opencl_kernel, show
    from helpers.pictures import ladder_chart
"""

from .which_python import refuse_another

refuse_another()

from . import stopping
from .stored import Stored

stopping.answer_in_one_line(Stored)  # before what takes a while to load, when Ctrl-C is as likely as later

import lazy_loader

from . import devices, terminal
from .doctor import doctor as doctor

devices.find_home()  # before anything is loaded
devices.prepare_numba()  # before anything loads Numba
devices.find_opencl_drivers()  # before anything loads pyopencl
terminal.print_in_utf8()

# Loaded when first asked for, since Numba alone takes longer than all of this course.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
