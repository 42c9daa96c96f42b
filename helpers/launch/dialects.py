"""The one table of dialects."""

from collections.abc import Iterable

from ..arguments import some, told
from .cuda import CUDA
from .opencl import OPENCL
from .resolve import Dialect

DIALECTS: dict[str, Dialect] = {one.name: one for one in (CUDA, OPENCL)}


def dialect(name: str) -> Dialect:
    """The dialect of that name, "CUDA" or "OpenCL", in any case. Raises ValueError for another."""
    found = [one for one in DIALECTS.values() if isinstance(name, str) and one.name.lower() == name.lower()]
    if not found:
        raise ValueError(f"there is no dialect {told(name)}; there are: {', '.join(DIALECTS)}.")
    return found[0]


def dialects(names: str | Iterable[str] | None) -> list[Dialect]:
    """The dialects of those names, or of one; None takes all. Raises ValueError for other names."""
    return [*DIALECTS.values()] if names is None else [dialect(name) for name in some("dialects", names)]
