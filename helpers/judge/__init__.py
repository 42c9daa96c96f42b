"""Is it right? The verdict on a kernel, hard to fool, with the cause and the line when it is wrong."""

from .checking import check
from .reference import error_bound, held, right_within_bound, wrong_elements
from .report import Report

__all__ = ["Report", "check", "error_bound", "held", "right_within_bound", "wrong_elements"]
