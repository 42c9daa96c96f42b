"""Imported first, so that helpers settles the CUDA target and the OpenCL drivers before anything else loads them."""

import helpers  # noqa: F401
