"""What a child process does: the job in its folder. `process` starts it; nothing else runs this."""

import os
import pickle
from collections.abc import Iterator
from pathlib import Path

from ..launch import KernelError
from ..launch.operands import leave_guards_out
from ._limits import limit_this_process
from .findings import Finding


def main(folder: str) -> None:
    """Do the job in "job" and write to "answer" whether it is done, its value and findings.

    The value of a task that yields is the list of what it yields; each is written at once, so that no crash loses it.
    """
    limit_this_process()
    job = pickle.loads(Path(folder, "job").read_bytes())
    if job.device is None:
        leave_guards_out()  # what watches the kernel watches the ends of the buffers, too
    value, findings = None, []
    try:
        value = job.task(job, **job.arguments)
        if isinstance(value, Iterator):
            yields, value = value, []
            for one in yields:
                value.append(one)
                write_answer(folder, False, value, [])
    except KernelError as error:
        findings = [Finding("does not compile", str(error))]
    write_answer(folder, True, value, findings)


def write_answer(folder, *answer):
    """Write the answer, whole or not at all."""
    part = Path(folder, "part")
    part.write_bytes(pickle.dumps(answer))
    os.replace(part, Path(folder, "answer"))
