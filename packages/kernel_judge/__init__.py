"""Is it right? The verdict on whatever computes A @ B, with the cause and the line when it is wrong: `judge`."""

from importlib import import_module
from typing import TYPE_CHECKING

# What this package offers, by module. Loaded when first asked for: who only says a sentence needs no NumPy.
OFFERED = {
    "findings": ["Drawn", "Finding", "Kind"],
    "function": ["Function"],
    "moves": ["examine", "judge"],
    "product": ["Product", "Seen", "Wrong"],
    "reference": ["error_bound", "held", "wrong_elements"],
    "report": ["Report"],
    "words": ["set_language"],
}
__all__ = [name for names in OFFERED.values() for name in names]

if TYPE_CHECKING:  # editors and mypy read this
    from .findings import Drawn, Finding, Kind
    from .function import Function
    from .moves import examine, judge
    from .product import Product, Seen, Wrong
    from .reference import error_bound, held, wrong_elements
    from .report import Report
    from .words import set_language
else:

    def __getattr__(name):
        for module, names in OFFERED.items():
            if name in names:
                return getattr(import_module(f"{__name__}.{module}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
