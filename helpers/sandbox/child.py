"""Runs a task on a kernel in a child process: a crash, or a loop that never ends, costs the child and not the notebook.

OpenCL kernels run under Oclgrind, CUDA kernels on the PTX machine, whatever GPU there is.
"""

import pickle
import re
import signal
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .. import devices
from ..launch import Contestant, Kernel
from .findings import Finding
from .inside import DOING
from .job import BUILDING, Job, packed, portable, text_of
from .oclgrind import OCLGRIND, oclgrind_environment
from .process import end, start, start_server, wait_patiently

SECONDS = 60  # of computing
OUT_OF_TIME = getattr(signal, "SIGXCPU", 0)  # ends a child that has computed too long on one thing
# What the signals of a crash mean, and of those that are not here.
LIKELY = {
    signal.SIGFPE: "it took its process down (exit status {status}), likely since it divides a whole number by zero",
    9: "it took its process down (exit status {status}), likely since the machine had no memory left",
}  # Windows has no name for 9
FAR = "it took its process down (exit status {status}), likely with an index far outside an array"
LOOPS = "{what}; its loops are here"
PRINTS = "{what}; it prints here, which takes long: leave that out, and check again"
SIZED = "{what}. A buffer's size is in bytes, C.nbytes, and C.size counts elements"
LATE = "it still ran after {seconds} s of computing"
# A declared array of fixed size: (name, sizes).
ARRAY = r"\b(?:float|double|half|u?int|u?char|u?short|u?long)\d*\s+(?:[^;(){}]*?,\s*)?(\w+)\s*((?:\[[^\]]+\])+)\s*[;,=]"
UNROLL = r"#\s*pragma\s+(?:\w+\s+)?unroll|opencl_unroll_hint"
BY_ALL = r"\b(async_work_group\w*copy|wait_group_events|work_group_\w+|sub_group_\w+)\s*\("  # what a whole group calls
READ = 64_000_000  # bytes of what it leaves in a file


@dataclass(frozen=True)
class Outcome:
    """What came of a child process.

    value      what its task returned; None if it did not come so far; of one that yields, the list of what it yielded
    findings   why it did not: a crash or a hang, as a list of one `Finding`
    log        Oclgrind's reports, or ""
    printed    what the child printed, such as Oclgrind's counts
    oclgrind   whether it is an OpenCL kernel under Oclgrind
    """

    value: object
    findings: list
    log: str
    oclgrind: bool
    printed: str = ""

    @property
    def unbuilt(self) -> bool:
        """Whether the kernel did not compile there."""
        return any(finding.kind == "does not compile" for finding in self.findings)


def in_child(
    k: Contestant,
    task: Callable,
    seconds: float = SECONDS,
    oclgrind_options: dict | None = None,
    compiler: bool = False,
    **arguments: object,
) -> Outcome:
    """Call task(job, **arguments) in a child process, with a `Job` that builds the kernel there. Returns an `Outcome`.

    `seconds`: of computing, so that a busy machine does not cut it short; a child that does nothing for so long is
    stopped, too. `oclgrind_options`: environment variables for Oclgrind; None runs an OpenCL kernel on its own device.
    `compiler`: True lets Numba there ask NVIDIA's compiler, to compile and not to run. `task`: a function of a module.
    """
    watched = k.dialect == "OpenCL" and oclgrind_options is not None
    oclgrind = devices.oclgrind_library() if watched else None
    own_device = k.device.name if k.dialect == "OpenCL" and not oclgrind else None
    job = Job(task, k.dialect, portable(k), k.step, k.parameters, own_device, arguments, text_of(k))
    environment = child_environment(compiler)
    if k.device:
        environment[devices.PROVED_ABOVE] = k.device.name  # to compile a kernel takes a third of a second
    with tempfile.TemporaryDirectory(prefix="kernel-trial-") as name:
        folder = Path(name)
        if oclgrind:
            environment |= oclgrind_environment(oclgrind, folder, k.device, oclgrind_options)
            environment[devices.PROVED_ABOVE] = OCLGRIND  # who cannot run it tries the kernel on its own device
        process = start(folder, environment, task.__module__, packed(job), seconds)
        try:
            in_time = wait_patiently(process, seconds, f"{k} in a child process")
        finally:
            end(process)
        return outcome_of(k, folder, process.exitcode if in_time else None, seconds, bool(oclgrind))


def prepare(module: str) -> None:
    """Begin what a first child waits for, while this process does something else; `module`: of the child's task."""
    start_server(child_environment(compiler=False), module)


def outcome_of(k, folder, status, seconds, oclgrind):
    """What the child left in that folder, as an `Outcome`. `status`: how it ended, None where it was ended."""
    found = records(folder / "answer")
    said = dict(found)
    value = said.get("value", [item for kind, item in found if kind == "item"] or None)
    log = "" if status is None else read_text(folder / "oclgrind.log")
    if "findings" in said:
        return Outcome(value, said["findings"], log, oclgrind, read_text(folder / "out"))
    limit, _, doing = read_text(folder / DOING).partition("\n")
    if status is None:
        why = Finding("hang", LATE, values={"seconds": f"{seconds:.0f}"})
    elif status == -OUT_OF_TIME:
        why = Finding("hang", LATE, values={"seconds": limit})
    else:
        why = crash(status, read_text(folder / "err"))
    why = unbuildable(why, k, "Oclgrind" if oclgrind else k.device.name) if BUILDING in doing else in_the_source(k, why)
    return Outcome(value, [why], log, oclgrind)


def in_the_source(k: Contestant, finding: Finding) -> Finding:
    """The finding, a hang or a crash, with what in the source may be the cause."""
    code = code_of(k)
    if finding.kind == "hang":
        loops = lines_with(r"\b(for|while|do|goto)\b", code)
        prints = lines_with(r"\bprintf? *\(", code)
        return Finding(finding.kind, PRINTS if prints else LOOPS, prints or loops, {"what": finding})
    if finding.key != FAR:
        return finding
    if k.dialect == "Python":
        if sized := lines_with(r"\bBuffer\(.*\.size\b", code):
            return Finding(finding.kind, SIZED, sized, {"what": finding})
        key = "{what}. The sizes and the buffers go to a kernel in its own order"
        return Finding(finding.kind, key, lines_with(r"\bint32\(", code), {"what": finding})
    arrays = [name + sizes for line in code for name, sizes in re.findall(ARRAY, line)]
    if arrays:
        key = "{what}. Look whether each index of {arrays} stays below its size"
        return Finding(finding.kind, key, lines_with(ARRAY, code), {"what": finding, "arrays": " and ".join(arrays)})
    return finding


def unbuildable(finding: Finding, k: Kernel, compiler: str) -> Finding:
    """What to say of a source on which that compiler crashed, or did not come to an end."""
    if finding.kind == "hang":
        key = "the compiler of {compiler} had not built your kernel: {what}. {remedy}"
        lines = lines_with(UNROLL, code_of(k))
        remedy = "Unroll less: give #pragma unroll a small number, such as 4, or leave it out"
        otherwise = "Look for a loop of very many rounds, or an array of very many elements"
    else:
        key = "the compiler of {compiler} crashed on your kernel; this notebook goes on. {remedy}"
        lines = lines_with(BY_ALL, code_of(k))
        remedy = "All work-items of a work-group must call this with the same arguments"
        otherwise = "Take parts of the kernel out until it compiles; the part that was taken out last is the cause"
    values = {"compiler": compiler, "what": finding, "remedy": (remedy if lines else otherwise, {})}
    return Finding(finding.kind, key, lines[:1], values)


def code_of(k: Contestant) -> list[str]:
    """The lines of its source, without comments."""
    return [line.partition("//" if k.dialect == "OpenCL" else "#")[0] for line in k.source.splitlines()]


def lines_with(pattern: str, code: list[str]) -> tuple[int, ...]:
    """The numbers of the lines that the pattern is found in, from 1."""
    return tuple(number for number, line in enumerate(code, 1) if re.search(pattern, line))


def crash(status: int, said: str) -> Finding:
    """Why a child ended before its time. `said`: what it wrote to its standard error."""
    if status >= 0:  # Python ended it, and says why
        errors = re.findall(r"^[\w.]+(?:: .*)?$", said, re.MULTILINE) or [("it said nothing", {})]
        values = {"status": status, "error": errors[-1]}
        return Finding("crash", "it took its process down (exit status {status}): {error}", values=values)
    return Finding("crash", LIKELY.get(-status, FAR), values={"status": status})


def child_environment(compiler):
    """This process's environment variables but the user's for Oclgrind, and what its children need beside them."""
    return devices.drivers.without_oclgrinds() | {
        "PYTHONPATH": devices.python_path(),
        "PYTHONSAFEPATH": "1",  # a learner's file may be called like a module of Python's
        "PYOPENCL_NO_CACHE": "1",  # a child that is ended while it holds the cache's lock would leave it locked
        "OPENBLAS_NUM_THREADS": "1",  # small products; its threads would only spin
        devices.CUDA_OF_CHILD: "compiler" if compiler else "PTX machine",
    }


def records(path: Path) -> list[tuple[str, object]]:
    """What the child has written of its answer, as far as it can be read: a child may end while it writes."""
    found = []
    with suppress(Exception), path.open("rb") as file:  # what was cut off or overwritten fails in many ways
        while True:
            found.append(tuple(pickle.load(file)))
    return found


def read_text(path: Path) -> str:
    """The file's text, "" if there is none, or none that can be read; of a flood its beginning."""
    with suppress(OSError), path.open("rb") as file:
        return file.read(READ).decode(errors="replace")
    return ""
