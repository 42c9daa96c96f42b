"""Where does a kernel run that may be wrong? In a process of its own, where it is seen what a device hides."""

from ._limits import limit_computing as limit_computing
from .child import SECONDS as SECONDS
from .child import Outcome as Outcome
from .child import in_child as in_child
from .child import prepare as prepare
from .findings import Finding as Finding
from .findings import source_line as source_line
from .job import Job as Job
from .oclgrind import oclgrind_counts as oclgrind_counts
from .oclgrind import oclgrind_findings as oclgrind_findings
from .progress import ProgressBar as ProgressBar
