"""The most memory that a process has held."""

import psutil


def peak_bytes() -> int:
    """The most bytes of memory that this process has held so far; on Windows and elsewhere, as the system tells it."""
    try:
        import resource
    except ImportError:  # Windows
        return psutil.Process().memory_info().peak_wset
    unit = 1 if psutil.MACOS else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
