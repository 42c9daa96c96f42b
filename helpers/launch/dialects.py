"""The one table of dialects."""

import importlib
from collections.abc import Iterable

from ..arguments import some, told
from .resolve import Dialect

DIALECTS = "CUDA", "OpenCL"


def dialect(name: str) -> Dialect:
    """The dialect of that name, "CUDA" or "OpenCL", in any case. Raises ValueError for another.

    Its module is loaded then, since the other's package may be broken. Raises `needs.Missing` where its own is.
    """
    found = [one for one in DIALECTS if isinstance(name, str) and one.lower() == name.lower()]
    if not found:
        raise ValueError(f"there is no dialect {told(name)}; there are: {', '.join(DIALECTS)}.")
    return getattr(importlib.import_module(f".{found[0].lower()}", __package__), found[0].upper())


def dialects(names: str | Iterable[str] | None) -> list[Dialect]:
    """The dialects of those names, or of one; None takes all. Raises ValueError for other names."""
    return [dialect(name) for name in (DIALECTS if names is None else some("dialects", names))]
