"""Where does a kernel run that may be wrong? In a process of its own, on simulators that see what a device hides."""

from ._limits import limit_this_process
from .accesses import Access
from .child import SECONDS, Outcome, allow, apart, folder_of_a_stranger, in_child, prepare
from .findings import Finding
from .job import Errand, Job
from .oclgrind import oclgrind_counts, oclgrind_findings
from .progress import ProgressBar
from .watch import Watch, source_line, watching
from .watched_arrays import NegativeIndex, OutsideArray

__all__ = [
    "SECONDS",
    "Access",
    "Errand",
    "Finding",
    "Job",
    "NegativeIndex",
    "Outcome",
    "OutsideArray",
    "ProgressBar",
    "Watch",
    "allow",
    "apart",
    "folder_of_a_stranger",
    "in_child",
    "limit_this_process",
    "oclgrind_counts",
    "oclgrind_findings",
    "prepare",
    "source_line",
    "watching",
]
