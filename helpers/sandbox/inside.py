"""What a child process does: it leaves its parent's terminal alone, does a job, and leaves word of it in a folder.

"answer" has a record for each value of its task, "out" and "err" what it printed, "doing" what its clock is set for.
"""

import math
import multiprocessing
import os
import pickle
import re
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing import connection
from pathlib import Path

import psutil

from ..launch import KernelError
from ..launch.operands import leave_guards_out
from .findings import Finding

try:
    import resource
except ImportError:  # Windows has none
    resource = None

GIGABYTE = 2**30
MEMORY = 12 * GIGABYTE  # of data: an OpenCL driver reserves gigabytes that it never touches
FILE = GIGABYTE  # of one file that it writes, such as what it prints
BEYOND = 5  # seconds after its time, of computing on each core, a child ends even if nobody looks
DOING = "doing"  # the file that says how many seconds a child may compute on one thing, and on what


def run(folder: Path, environment: dict, path: list, packed: bytes, seconds: float) -> None:
    """Do the job in that folder, under that environment and module search path. For a process of its own.

    `seconds`: of computing that it has.
    """
    threading.Thread(target=end_with_parent, daemon=True).start()
    if hasattr(os, "setsid"):
        os.setsid()  # an interrupt is meant for the notebook; and what this process starts can be ended with it
    for stream, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT), stream)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # it was found by other variables
    sys.path[:] = path  # once this package has its own modules: a learner's file may be called like one of them
    limit_this_process(seconds)
    with open(folder / "answer", "wb", buffering=0) as answer:
        for record in records(packed, folder):
            answer.write(pickle.dumps(record))


def end_with_parent():
    """End this process once its parent has ended, however that was."""
    connection.wait([multiprocessing.parent_process().sentinel])
    os._exit(1)


def records(packed: bytes, folder: Path) -> Iterator[tuple[str, object]]:
    """Pairs of "value" and what the task returns, or "item" and each thing that it yields; last, "findings"."""
    job, findings = replace(pickle.loads(packed), folder=folder), []
    if job.device is None:
        leave_guards_out()  # what watches the kernel watches the ends of the buffers, too
    try:
        value = job.task(job, **job.arguments)
        if isinstance(value, Iterator):
            for item in value:
                yield "item", item
        else:
            yield "value", value
    except KernelError as error:
        findings = refused(str(error))
    yield "findings", findings


def refused(said: str) -> list[Finding]:
    """The findings of a kernel that does not compile, a line each, where the compiler names lines."""
    kind, told = "does not compile", said.partition("does not compile.\n")[2]
    lines = re.findall(r"^line (\d+): (.*)", told, re.MULTILINE)
    found = [Finding(kind, "{text}", (int(number),), {"text": message}) for number, message in lines]
    return found or [Finding(kind, "{text}", values={"text": told or said})]


def limit_this_process(seconds: float) -> None:
    """Limit what this process takes of the machine; where the system has no such limits, or lower ones, leave it so."""
    if resource is None:
        return
    data = min(MEMORY, psutil.virtual_memory().total // 2)
    computing = math.ceil(seconds + BEYOND) * os.cpu_count()
    for what, most in (("DATA", data), ("FSIZE", FILE), ("CORE", 0), ("CPU", computing)):
        number = getattr(resource, f"RLIMIT_{what}")
        lowest = [value for value in (most, *resource.getrlimit(number)) if value != resource.RLIM_INFINITY]
        resource.setrlimit(number, (min(lowest), min(lowest)))


def limit_computing(seconds: float, folder: Path, what: str) -> None:
    """End this process once it has computed for so long from now on; 0 takes an earlier limit away.

    `what`: what it is about, for the file "doing" in the folder. Where a system has no such clock, there is no limit.
    """
    (folder / DOING).unlink(missing_ok=True)
    if resource is None:
        return
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    end = most
    if seconds:
        end = min(math.ceil(time.process_time() + seconds), most if most != resource.RLIM_INFINITY else math.inf)
        (folder / DOING).write_text(f"{seconds:.0f}\n{what}", encoding="utf-8")
    resource.setrlimit(resource.RLIMIT_CPU, (end, most))
