"""What a child process does: the job in its folder. `process` starts it; nothing else runs this."""

import dataclasses
import faulthandler
import json
import os
import pickle
import signal
from pathlib import Path

from ..launch import KernelError
from ..launch.operands import leave_guards_out
from ._limits import limit_this_process
from .findings import Finding
from .job import Errand

WHERE = "where"  # the file in which a child writes, when it is asked, what its threads are doing


def main(folder: str) -> None:
    """Do the job in "job" and write a pair, its value and findings, to "answer": whole, or not at all.

    What comes of an errand is written as JSON, since it may run what somebody else wrote: to unpickle is to run.
    """
    limit_this_process()
    if hasattr(faulthandler, "register"):  # not on Windows
        faulthandler.register(signal.SIGUSR1, open(Path(folder, WHERE), "wb"), all_threads=True)  # noqa: SIM115
    job = pickle.loads(Path(folder, "job").read_bytes())
    if job.device is None:
        leave_guards_out()  # the simulators watch the ends of the buffers themselves
    try:
        value, findings = job.task(job, **job.arguments), []
    except KernelError as error:
        value, findings = None, [Finding("does not compile", str(error))]
    part = Path(folder, "answer.part")
    if isinstance(job, Errand):
        part.write_text(json.dumps([value, [dataclasses.asdict(finding) for finding in findings]]), encoding="utf-8")
    else:
        part.write_bytes(pickle.dumps((value, findings)))
    os.replace(part, Path(folder, "answer"))
