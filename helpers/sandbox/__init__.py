"""Where does a kernel run that may be wrong? In a process of its own, where it is seen what a device hides."""

from .child import SECONDS, Outcome, in_child, prepare
from .findings import Finding, source_line
from .inside import limit_computing
from .job import Job, calls_opencl
from .oclgrind import oclgrind_counts, oclgrind_findings
from .progress import ProgressBar

__all__ = [
    "SECONDS",
    "Finding",
    "Job",
    "Outcome",
    "ProgressBar",
    "calls_opencl",
    "in_child",
    "limit_computing",
    "oclgrind_counts",
    "oclgrind_findings",
    "prepare",
    "source_line",
]
