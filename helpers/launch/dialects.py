"""The one table of dialects."""

from collections.abc import Iterable

from .cuda import CUDA
from .given import some, told
from .opencl import OPENCL
from .resolve import Dialect
from .webgpu import WEBGPU

DIALECTS: dict[str, Dialect] = {one.name: one for one in (CUDA, OPENCL, WEBGPU)}


def dialect(name: str) -> Dialect:
    """The dialect of that name, "CUDA" or "OpenCL", in any case. Raises ValueError for another."""
    found = [one for one in DIALECTS.values() if isinstance(name, str) and one.name.lower() == name.lower()]
    if not found:
        raise ValueError(f"there is no dialect {told(name)}; there are: {', '.join(DIALECTS)}.")
    return found[0]


def dialects(names: str | Iterable[str]) -> list[Dialect]:
    """The dialects of those names, one at least; a single name will do. Raises ValueError for others."""
    return [dialect(name) for name in some("dialects", names)]
