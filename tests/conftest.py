"""Imported first, so that helpers settles the CUDA target and the OpenCL drivers before anything else loads them.

The tests of the clock have the real one. The processes that tests start, such as those of the pages, have a brief one,
since nothing compares their times.
"""

import os

import helpers.clock.timing  # noqa: F401

os.environ["HELPERS_CLOCK"] = "brief"
