"""Runs a task on a kernel in a child process: a crash, or a loop that never ends, costs the child and not the notebook.

OpenCL kernels run under Oclgrind, CUDA kernels on the PTX machine, whatever GPU there is.
"""

import pickle
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from .. import devices
from ..launch import Kernel
from . import process
from ._limits import AT_LIMIT, LIMIT, used_by
from .findings import Finding
from .job import Job, packed, portable, text_of
from .oclgrind import OCLGRIND, oclgrind_environment
from .process import start
from .progress import ProgressBar

SECONDS = 60  # of computing
LOOK = 0.25  # seconds between two looks at how a child is doing
STILL = 60  # seconds that a child may go without computing: on a busy machine it waits its turn
LONGER = 20  # times as long as its seconds of computing a child may take on a busy machine
# What the signals of a crash mean, and of those that are not here.
LIKELY = {
    signal.SIGFPE: "likely since it divides a whole number by zero",
    9: "likely since the machine had no memory left",  # Windows has no name for it
}
FAR = "likely with an index far outside an array"
# A declared array of fixed size: (name, sizes).
ARRAY = r"\b(?:float|double|half|u?int|u?char|u?short|u?long)\d*\s+(?:[^;(){}]*?,\s*)?(\w+)\s*((?:\[[^\]]+\])+)\s*[;,=]"
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
    k: Kernel,
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
    Where children are forked, a function `warm_up` of that module is called once in the process that they come from.
    """
    use_oclgrind = k.dialect == "OpenCL" and oclgrind_options is not None
    oclgrind = devices.oclgrind_library() if use_oclgrind else None
    own_device = None if oclgrind else k.device.name
    built = k.binary() if own_device else {}
    named = own_device if k.dialect == "OpenCL" else None
    job = Job(task, k.dialect, portable(k), k.step, k.parameters, named, arguments, built, text_of(k))
    with tempfile.TemporaryDirectory(prefix="kernel-trial-") as name:
        folder = Path(name)
        environment = child_environment(compiler)
        if own_device:
            environment[devices.PROVED_ABOVE] = own_device  # to compile a kernel takes a third of a second
        if oclgrind:
            environment |= oclgrind_environment(oclgrind, folder, k.device, oclgrind_options)
            environment[devices.PROVED_ABOVE] = OCLGRIND  # who cannot run it tries the kernel on its own device
        done = work(folder, environment, job, f"{k} in a child process", seconds, oclgrind=bool(oclgrind))
        return replace(done, findings=[in_the_source(k, finding) for finding in done.findings])


def in_the_source(k: Kernel, finding: Finding) -> Finding:
    """The finding; of a hang and a crash with what in the kernel's source may be the cause."""
    code = [line.partition("#" if k.dialect == "CUDA" else "//")[0] for line in k.source.splitlines()]
    if finding.kind == "hang":
        loops = tuple(n for n, line in enumerate(code, 1) if re.search(r"\b(for|while|do|goto)\b", line))
        prints = tuple(n for n, line in enumerate(code, 1) if re.search(r"\bprintf? *\(", line))
        where = "it prints here, which takes long: leave that out, and check again" if prints else "its loops are here"
        return replace(finding, key=f"{finding.message}; {where}", lines=prints or loops)
    if finding.kind == "crash" and FAR in finding.message:
        found = {n: re.findall(ARRAY, line) for n, line in enumerate(code, 1)}
        arrays = [name + sizes for declared in found.values() for name, sizes in declared]
        if arrays:
            text = f"{finding.message}. Look whether each index of {' and '.join(arrays)} stays below its size"
            return replace(finding, key=text, lines=tuple(n for n, declared in found.items() if declared))
    return finding


def crash(status: int, said: str) -> Finding:
    """Why a child ended before its time. `said`: what it wrote to its standard error."""
    if status > 0:  # Python ended it, and says why
        last = (said.strip().splitlines() or ["it said nothing"])[-1]
        return Finding("crash", f"it took its process down (exit status {status}): {last}")
    likely = LIKELY.get(-status, FAR)
    return Finding("crash", f"it took its process down (exit status {status}), {likely}")


def work(folder, environment, job, what, seconds, oclgrind=False):
    """Let a child do the job in that folder. Returns an `Outcome`."""
    (folder / "job").write_bytes(packed(job))
    with start(folder, environment, job.task) as child:
        stopped = wait_patiently(what, child, seconds)
    log = "" if stopped else read_text(folder / "oclgrind.log")
    done, value, findings = read_answer(folder / "answer")
    if done and not stopped:
        return Outcome(value, findings, log, oclgrind, read_text(folder / "out"))
    if not stopped and child.returncode == -AT_LIMIT:
        stopped = Finding("hang", read_text(folder / LIMIT))
    why = stopped or crash(child.returncode, read_text(folder / "err"))
    return Outcome(value, [why], log, oclgrind)


def prepare(compiler: bool) -> None:
    """Get ready, meanwhile, for a child, which may ask NVIDIA's compiler: the first waits seconds for its packages."""
    if process.FORKS:
        with suppress(OSError):  # then children are new processes
            process.server_for(child_environment(compiler))


def child_environment(compiler):
    """This process's environment variables but the user's for Oclgrind, and what its children need beside them."""
    return devices.drivers.without_oclgrinds() | {
        "PYTHONPATH": devices.python_path(),
        "PYTHONSAFEPATH": "1",  # a learner's file may be called like a module of Python's
        "PYOPENCL_NO_CACHE": "1",  # a child that is ended while it holds the cache's lock would leave it locked
        "OPENBLAS_NUM_THREADS": "1",  # small products; its threads would only spin
        devices.CUDA_OF_CHILD: "compiler" if compiler else "PTX machine",
    }


def read_answer(path):
    """Whether a child was done, its value and its findings; a crash where what it wrote cannot be read."""
    try:
        done, value, findings = pickle.loads(path.read_bytes())
        return done, value, findings
    except FileNotFoundError:
        return False, None, []
    except Exception as error:  # bytes that were cut off or overwritten fail to unpack in many ways
        said = f"{type(error).__name__}: {error}"
        return True, None, [Finding("crash", f"what its process left as an answer cannot be read ({said})")]


def read_text(path):
    """The file's text, "" if there is none, or none that can be read; of a flood its beginning."""
    with suppress(OSError), path.open("rb") as file:
        return file.read(READ).decode(errors="replace")
    return ""


def wait_patiently(what, child, seconds):
    """Wait for the child, with a progress bar once it takes long. Returns None once it has ended, or why it must be.

    It is out of time once it, with what it started, has computed for `seconds`, or once none of them has computed at
    all for so long, or for `STILL` seconds where that is longer: what another process takes of the machine does not
    count. A driver on many cores computes more than one second in a second; then the wall's clock counts.
    """
    start, still = time.monotonic(), max(seconds, STILL)
    moved = start
    computed = last = spent = 0.0
    with ProgressBar(what, seconds) as progress:
        while True:
            with suppress(subprocess.TimeoutExpired):
                child.wait(LOOK)
                return None
            now, seen = time.monotonic(), used_by(child.pid)
            if seen != last:
                last, moved = seen, now
            computed = max(computed, seen)
            spent = min(computed, now - start)
            if spent >= seconds or now - moved >= still or now - start >= LONGER * still:
                return Finding("hang", f"it still ran after {seconds:.0f} s of computing")
            progress.update(spent, "of computing")
