"""Is a kernel, or a function, right? What turns it into a product that `kernel_judge` can judge."""

from .run_check import check

__all__ = ["check"]
