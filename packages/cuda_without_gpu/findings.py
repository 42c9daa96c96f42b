"""What was found wrong in this process: an error, a warning, or nothing, as `enable` was told."""

import os
import sys
import traceback
import warnings
from dataclasses import dataclass, field
from types import FrameType, TracebackType

from .errors import KernelError, KernelWarning, OutOfTime
from .settings import SETTINGS

UNFINISHED = "hang", "out of time", "error"  # kinds after which the arrays hold no result
FOUND: dict[tuple[str, str, int], "Found"] = {}  # {(a kernel's name and file, the kind, the line): what is wrong}


@dataclass
class Found:
    """One thing that is wrong with a kernel.

    kernel     its name, file and first line
    message    what is wrong, with the number and the text of its line, as of the first launch
    launches   how many had that on that line
    """

    kernel: str
    message: str
    launches: int = field(default=0)

    def __str__(self):
        times = f" ({self.launches} launches)" if self.launches > 1 else ""
        return f"{self.kernel}{times}\n  {self.message}"


def judge(kernel: str, findings: list[tuple[str, str, int]]) -> None:
    """Note what one launch of a kernel did wrong, and raise the first of it, or warn of all, as the settings say.

    findings   (kind, message, line of the source) each; of a kind and a line one

    Raises KernelError; OutOfTime where time was over. What leaves no result is raised whatever the settings say.
    """
    if not findings:
        return
    unfinished = [one for one in findings if one[0] in UNFINISHED]
    if SETTINGS.findings == "off" and not unfinished:
        return
    for kind, message, line in findings:
        FOUND.setdefault((kernel, kind, line), Found(kernel, message)).launches += 1
    if SETTINGS.findings == "raise" or unfinished:
        kind, message, line = findings[0] if SETTINGS.findings == "raise" else unfinished[0]
        raise OutOfTime(message, line) if kind == "out of time" else KernelError(message)
    caller = frame_of_launch()
    where = caller.f_code.co_filename, caller.f_lineno
    warned = caller.f_globals.setdefault("__warningregistry__", {})
    for _, message, _ in findings:
        warnings.warn_explicit(message, KernelWarning, *where, registry=warned)


def is_inside(file: str) -> bool:
    """Whether a file is Numba's, this package's, or what Python starts a program with."""
    names = "numba", "numba.cuda", "numba_cuda_mlir"
    known = (os.path.dirname(sys.modules[name].__file__) + os.sep for name in names if name in sys.modules)
    return os.path.dirname(file) == os.path.dirname(__file__) or file.startswith(("<frozen", *known))


def way_to_launch(error: KernelError) -> TracebackType | None:
    """The traceback of an error, without the frames of Numba and of this package."""
    kept = None
    for frame, line in reversed([*traceback.walk_tb(error.__traceback__)]):
        if not is_inside(frame.f_code.co_filename):
            kept = TracebackType(kept, frame, frame.f_lasti, line)
    return kept


def frame_of_launch() -> FrameType:
    """The nearest caller outside of Numba and of this package."""
    frames = (frame for frame, _ in traceback.walk_stack(sys._getframe()))
    return next(frame for frame in frames if not is_inside(frame.f_code.co_filename))
