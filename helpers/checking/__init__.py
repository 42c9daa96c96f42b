"""Is a kernel, or a function, right? What turns it into a product that `kernel_judge` can judge."""

from .run_check import check, launched, right_within_bound

__all__ = ["check", "launched", "right_within_bound"]
