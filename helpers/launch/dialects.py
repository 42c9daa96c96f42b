"""The one table of dialects."""

from .cuda import CUDA
from .opencl import OPENCL
from .resolve import Dialect

DIALECTS: dict[str, Dialect] = {one.name: one for one in (CUDA, OPENCL)}


def dialect(name: str) -> Dialect:
    """The dialect of that name, "CUDA" or "OpenCL". Raises ValueError for another."""
    if name not in DIALECTS:
        raise ValueError(f"there is no dialect {name!r}; there are: {', '.join(DIALECTS)}.")
    return DIALECTS[name]
