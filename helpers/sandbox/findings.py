"""One thing wrong with a kernel, and the line of its source that it is about."""

from dataclasses import dataclass

from ..launch import Kernel
from ..launch.cuda_source import came_as_text
from ..launch.numba_internals import plain_function

UNSET = (
    "what it stores comes from numbers that nobody has set, such as a sum that does not start at zero, or an element "
    "of a tile that was never staged"
)


@dataclass(frozen=True)
class Finding:
    """One thing wrong with a kernel.

    kind     "race", "out of bounds", "divergent barrier", "crash", "hang", "error", "unwritten", ...
    message  a sentence
    lines    1-based lines of the kernel's source that it is about, a tuple
    """

    kind: str
    message: str
    lines: tuple = ()


NAN = Finding(
    "not a number",
    "C holds NaN, and A and B hold none: look for a division by zero, an infinity, or the root of a negative number",
)


def source_line(k: Kernel, number: int) -> int:
    """A line of the running function as a line of k.source, which may begin at the function itself."""
    if k.dialect != "CUDA":
        return number
    whole_text = came_as_text(k.function) or not k.own
    return number if whole_text else number - plain_function(k.function).__code__.co_firstlineno + 1
