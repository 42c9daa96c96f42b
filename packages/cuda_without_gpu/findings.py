"""What was found wrong in this process: an error, a warning, or nothing, as `enable` was told; and a summary."""

import os
import sys
import warnings
from dataclasses import dataclass, field
from types import FrameType

from .errors import KernelError, KernelWarning, OutOfTime
from .settings import SETTINGS

UNFINISHED = "hang", "out of time", "error"  # kinds after which the arrays hold no result
FOUND: dict[tuple[str, str], "Found"] = {}  # {(a kernel's name and file, what is wrong): it}


@dataclass
class Found:
    """One thing that is wrong with a kernel.

    kernel     its name, file and first line
    message    what is wrong, with the number and the text of its line
    launches   how many had it
    """

    kernel: str
    message: str
    launches: int = field(default=0)

    def __str__(self):
        times = f" ({self.launches} launches)" if self.launches > 1 else ""
        return f"{self.kernel}{times}\n  " + self.message.replace("\n", "\n  ")


def judge(kernel: str, findings: list[tuple[str, str, int]]) -> None:
    """Note what one launch of a kernel did wrong, and raise the first of it, or warn of all, as the settings say.

    findings   (kind, message, line of the source) each

    Raises KernelError; OutOfTime where time was over. What leaves no result is raised whatever the settings say.
    """
    if not findings:
        return
    unfinished = [one for one in findings if one[0] in UNFINISHED]
    if SETTINGS.findings == "off" and not unfinished:
        return
    for _, message, _ in findings:
        FOUND.setdefault((kernel, message), Found(kernel, message)).launches += 1
    if SETTINGS.findings == "raise" or unfinished:
        kind, message, line = findings[0] if SETTINGS.findings == "raise" else unfinished[0]
        raise OutOfTime(message, line) if kind == "out of time" else KernelError(message)
    caller = frame_of_launch()
    where = caller.f_code.co_filename, caller.f_lineno
    warned = caller.f_globals.setdefault("__warningregistry__", {})
    for _, message, _ in findings:
        warnings.warn_explicit(message, KernelWarning, *where, registry=warned)


def frame_of_launch() -> FrameType:
    """The nearest caller outside of Numba and of this package."""
    inside = tuple(
        os.path.dirname(module.__file__) + os.sep
        for name, module in sys.modules.items()
        if name in (__package__, "numba", "numba.cuda", "numba_cuda_mlir")
    )
    frame = sys._getframe()
    while frame.f_back and frame.f_code.co_filename.startswith(inside):
        frame = frame.f_back
    return frame


def summary() -> str:
    """All that was found until now, a kernel and a message each; "" for nothing."""
    return "\n".join(map(str, FOUND.values()))
