"""Where does a kernel run that may be wrong? In a process of its own, where it is seen what a device hides."""

from ._limits import limit_computing
from .child import SECONDS, Outcome, in_child, prepare
from .findings import Finding, source_line
from .job import Job
from .oclgrind import oclgrind_counts, oclgrind_findings
from .progress import ProgressBar

__all__ = [
    "SECONDS",
    "Finding",
    "Job",
    "Outcome",
    "ProgressBar",
    "in_child",
    "limit_computing",
    "oclgrind_counts",
    "oclgrind_findings",
    "prepare",
    "source_line",
]
