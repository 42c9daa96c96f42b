"""What a child may take of the machine, so that a learner's mistake costs a verdict and not the room's server.

The limits are those of one process, which the system holds.
"""

import signal
from contextlib import suppress
from pathlib import Path

import psutil

try:
    import resource
except ImportError:  # Windows has none
    resource = None

GIGABYTE = 2**30
MEMORY = 12 * GIGABYTE  # of data: an OpenCL driver reserves gigabytes that it never touches
FILE = GIGABYTE  # of one file that it writes, such as what it prints
TASKS = 4096  # of one user, threads among them; root has no such limit

AT_LIMIT = getattr(signal, "SIGPROF", 0)  # ends a process that has computed too long
LIMIT = "limit"  # the file, beside Oclgrind's log, that says how long that is


def limit_computing(seconds: float, folder: Path, what: str) -> None:
    """End this process once it has computed for so long from now on; 0 takes an earlier limit away.

    `what`: where it is then, for the file "limit" in the folder. Where a system has no such clock, there is no limit.
    """
    if not AT_LIMIT:
        return
    if seconds:
        (folder / LIMIT).write_text(f"it still ran after {seconds:.0f} s of computing {what}", encoding="utf-8")
    signal.signal(AT_LIMIT, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)


def limit_this_process() -> None:
    """Set the limits, for this process and those it starts; where the system has none, or lower ones, leave it so."""
    if resource is None:
        return
    half = psutil.virtual_memory().total // 2
    for what, most in (("DATA", min(MEMORY, half)), ("FSIZE", FILE), ("NPROC", TASKS), ("CORE", 0)):
        number = getattr(resource, f"RLIMIT_{what}", None)
        if number is not None:
            lowest = [value for value in (most, *resource.getrlimit(number)) if value != resource.RLIM_INFINITY]
            resource.setrlimit(number, (min(lowest), min(lowest)))


def used_by(pid: int) -> float:
    """Seconds of computing that a process and its descendants have had so far, on all cores; 0 once it is gone."""
    used = 0.0
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            with suppress(psutil.Error):  # that one has ended
                times = one.cpu_times()
                used += times.user + times.system
    return used
