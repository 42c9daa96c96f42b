"""Which line of a kernel's source a finding is about."""

from kernel_judge.findings import Finding

from ..launch import Kernel
from ..launch.cuda_source import came_as_text
from ..launch.numba_internals import plain_function

__all__ = ["Finding", "source_line"]


def source_line(k: Kernel, number: int) -> int:
    """A line of the running function as a line of k.source, which may begin at the function itself."""
    if k.dialect != "CUDA":
        return number
    whole_text = came_as_text(k.function) or not k.own
    return number if whole_text else number - plain_function(k.function).__code__.co_firstlineno + 1
