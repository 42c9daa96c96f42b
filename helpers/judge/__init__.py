"""Is it right? The verdict on whatever computes A @ B, with the cause and the line when it is wrong: `judge`."""

from .findings import Finding, Kind
from .moves import examine, judge
from .product import Product, Seen, Wrong
from .reference import error_bound, held, wrong_elements
from .report import Report

__all__ = ["Finding", "Kind", "Product", "Report", "Seen", "Wrong", "error_bound", "examine", "held", "judge",
           "wrong_elements"]  # fmt: skip
