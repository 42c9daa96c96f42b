"""The most memory that a process has held."""

import re
from pathlib import Path

import psutil


def peak_bytes() -> int:
    """The most bytes of memory that this process has held so far, as its system tells it."""
    status = Path("/proc/self/status")
    if status.exists():  # Linux's ru_maxrss begins with what the parent had, and is of no use here
        return 1024 * int(re.search(r"VmHWM:\s*(\d+) kB", status.read_text()).group(1))
    if psutil.WINDOWS:
        return psutil.Process().memory_info().peak_wset
    import resource

    return (1 if psutil.MACOS else 1024) * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
