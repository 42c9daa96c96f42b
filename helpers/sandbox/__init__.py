"""Where does a kernel run that may be wrong? In a process of its own, on simulators that see what a device hides."""

from .accesses import Access
from .child import SECONDS, Outcome, in_child, prepare
from .findings import Finding
from .job import Job
from .oclgrind import oclgrind_counts, oclgrind_findings
from .progress import ProgressBar
from .watch import Watch, source_line, watching
from .watched_arrays import NegativeIndex, OutsideArray

__all__ = [
    "SECONDS",
    "Access",
    "Finding",
    "Job",
    "NegativeIndex",
    "Outcome",
    "OutsideArray",
    "ProgressBar",
    "Watch",
    "in_child",
    "oclgrind_counts",
    "oclgrind_findings",
    "prepare",
    "source_line",
    "watching",
]
