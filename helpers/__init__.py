"""The course's kernels, and what measures, checks and shows them: a room for each question, see docs/ARCHITECTURE.md.

Notebooks import from here by name, and what is special to one page from the room itself:

    from numba import cuda                 # your own @cuda.jit keeps its usual name
    from helpers import check, cuda_kernel, measure, opencl_kernel, show
    from helpers.pictures import ladder_chart
"""

import sys
from importlib.util import find_spec

if not (find_spec("tomllib") and find_spec("platformdirs")):  # the first is Python's own, since 3.11
    where = "Take .venv/bin/python in the course's folder; `make lab` makes it."
    raise ImportError(f"This Python, {sys.executable}, lacks what the course needs. {where}")

import lazy_loader

from . import devices, drivers, files
from .needs import doctor as doctor

devices.find_home()  # before anything is loaded
devices.prepare_numba()  # before anything loads Numba
drivers.show_drivers()  # before anything lists OpenCL's
files.print_in_utf8()
if "IPython" in sys.modules and hasattr(sys.modules["IPython"].get_ipython(), "kernel"):
    from . import notebook

    notebook.prepare(sys.modules["IPython"].get_ipython())

# What pages share is loaded when first asked for, since Numba alone takes longer than all of this: `__init__.pyi`.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
