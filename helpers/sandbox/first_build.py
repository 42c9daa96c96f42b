"""The first build of a learner's OpenCL source: in a child, since a compiler may crash, or not come to an end."""

import re
import tempfile
from pathlib import Path

from .. import devices
from ..errors import quoted
from ..launch import KernelError
from .child import child_environment, work
from .job import Job

SECONDS = 20  # of computing
UNROLL = r"#\s*pragma\s+(?:\w+\s+)?unroll|opencl_unroll_hint"


def build_in_child(source: str, step: str, parameters: dict, device: devices.Device) -> dict:
    """Build that source there, launched like the step on that device. Returns what `OpenCLKernel.binary` gives.

    Raises KernelError for a source that does not compile, for one that crashes the device's compiler, and for one on
    which that still works after `SECONDS` of computing.
    """
    job = Job(binary_of, "OpenCL", source, step, parameters, device.name, {})
    with tempfile.TemporaryDirectory(prefix="kernel-build-") as folder:
        environment = child_environment(compiler=False) | {devices.PROVED_ABOVE: device.name}
        done = work(Path(folder), environment, job, f"{device.name} compiles your kernel", SECONDS)
    for finding in done.findings:
        if finding.kind == "does not compile":
            raise KernelError(finding.message)
        raise KernelError(unbuildable(finding, source, device))
    return done.value


def binary_of(job: Job) -> dict:
    """In the child: what came of the build."""
    return job.build().binary()


def unbuildable(finding, source, device):
    """What to say of a source on which the compiler crashed, or did not come to an end."""
    code = [line.split("//")[0] for line in source.splitlines()]
    if finding.kind == "hang":
        said = f"The compiler of {device.name} had not built your kernel after {SECONDS} s of computing. "
        where, remedy = UNROLL, "Unroll less: give #pragma unroll a small number, such as 4, or leave it out."
        otherwise = "Look for a loop of very many rounds, or an array of very many elements."
    else:
        said = f"The compiler of {device.name} crashed on your kernel; this notebook goes on. "
        where = r"\b(async_work_group\w*copy|wait_group_events|work_group_\w+|sub_group_\w+)\s*\("
        remedy = "All work-items of a work-group must call this with the same arguments."
        otherwise = "Take parts of the kernel out until it compiles; the part that was taken out last is the cause."
    for number, line in enumerate(code, 1):
        if re.search(where, line):
            return said + remedy + "\n" + quoted(source, number, "look here first")
    return said + otherwise
