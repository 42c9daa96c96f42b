"""The one table of dialects."""

import importlib
from collections.abc import Iterable

from ..arguments import named, some
from .resolve import Dialect

DIALECTS = "CUDA", "OpenCL"


def dialect(name: str) -> Dialect:
    """The dialect of that name, "CUDA" or "OpenCL", in any case. Raises ValueError for another.

    Its module is loaded then, since the other's package may be broken. Raises `needs.Missing` where its own is.
    """
    name = named(name, DIALECTS, "dialect")
    return getattr(importlib.import_module(f".{name.lower()}", __package__), name.upper())


def dialects(names: str | Iterable[str] | None) -> list[Dialect]:
    """The dialects of those names, or of one; None takes all. Raises ValueError for other names."""
    return [dialect(name) for name in (DIALECTS if names is None else some("dialects", names))]
