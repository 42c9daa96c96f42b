"""Runs a task on a kernel in a child process: a crash, or a loop that never ends, costs the child and not the notebook.

OpenCL kernels run under Oclgrind, which names out-of-bounds accesses, data races and barriers that not all
work-items reach; CUDA kernels run in Numba's simulator with `watch` watching.
"""

import os
import pickle
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from .. import devices
from ..launch import Kernel, dialect
from .findings import Finding
from .job import Errand, Job, packed, portable
from .oclgrind import oclgrind_environment
from .process import start, start_server
from .progress import Progress

SECONDS = 60  # of computing
LOOK = 0.25  # seconds between two looks at how a child is doing
MOST = 64  # processes that a child may start; a job needs a few, compilers and children of its own


class Crowd(RuntimeError):
    """A child has started too many processes; the message says how many."""


@dataclass(frozen=True)
class Outcome:
    """What came of a child process.

    value      what its task returned; None if it did not come so far
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
    seconds: float,
    oclgrind_options: dict | None,
    simulated: bool = True,
    **arguments: object,
) -> Outcome:
    """Call task(job, **arguments) in a child process, with a `Job` that builds the kernel there. Returns an `Outcome`.

    `seconds`: of computing, so that a busy machine does not cut it short; a child that does nothing for so long is
    stopped, too. `oclgrind_options`: environment variables for Oclgrind; None runs an OpenCL kernel on its own device.
    `simulated`: False loads Numba there for a GPU, to compile and not to run.
    """
    refuse_unbuilt(k)
    use_oclgrind = k.dialect == "OpenCL" and oclgrind_options is not None
    oclgrind = devices.oclgrind_library() if use_oclgrind else None
    own_device = None if oclgrind or k.dialect == "CUDA" else k.device.name
    job = Job(task, k.dialect, portable(k), k.step, k.parameters, own_device, arguments)
    with tempfile.TemporaryDirectory(prefix="kernel-trial-") as name:
        folder = Path(name)
        environment = child_environment(simulated)
        if own_device:
            environment[devices.PROVED_ABOVE] = own_device  # to compile a kernel takes a third of a second
        if oclgrind:
            environment |= oclgrind_environment(oclgrind, folder, k.device, oclgrind_options)
            environment.pop("PYOPENCL_CTX", None)
        why = (
            f"a loop that never ends, a barrier that some of its {dialect(k.dialect).thread}s never reach, "
            "or tiles too large to simulate"
        )
        return work(folder, environment, job, f"{k} in a simulator", seconds, why, bool(oclgrind))


def apart(task: Callable, what: str, seconds: float, **arguments: object) -> Outcome:
    """Call task(errand, **arguments) in a child process, with CUDA simulated. Returns an `Outcome`.

    `what`: what a progress bar calls it. `seconds`: as for `in_child`.
    """
    prepare(simulated=True)
    if devices.nvidia_tool("ptxas"):
        prepare(simulated=False)  # the task may have a kernel tried; its children come from this process's servers, too
    with tempfile.TemporaryDirectory(prefix="apart-") as name:
        why = "a loop that never ends"
        return work(Path(name), child_environment(True), Errand(task, arguments), what, seconds, why)


def work(folder, environment, job, what, seconds, why, oclgrind=False):
    """Let a child do the job in that folder. Returns an `Outcome`. `why`: what may keep it from coming to an end."""
    (folder / "job").write_bytes(packed(job))
    stopped = None
    with start(folder, environment) as child:
        try:
            if not wait_patiently(what, child, seconds):
                stopped = Finding("hang", f"it was still running after {seconds} s: {why}")
        except Crowd as error:
            stopped = Finding("too many processes", str(error))
    return Outcome(None, [stopped], "", oclgrind) if stopped else outcome(folder, child.status, oclgrind)


def outcome(folder, status, oclgrind):
    """What a child that has ended left in its folder, as an `Outcome`. `status`: its exit status."""
    log, printed = read_text(folder / "oclgrind.log"), read_text(folder / "out")
    answer = folder / "answer"
    if answer.exists():
        return Outcome(*read_answer(answer), log, oclgrind, printed)
    last = (read_text(folder / "err").strip().splitlines() or ["it said nothing"])[-1]
    return Outcome(None, [Finding("crash", f"it took its process down (exit status {status}): {last}")], log, oclgrind)


def prepare(simulated: bool) -> None:
    """Get ready, meanwhile, for a child that simulates or compiles: the first one waits seconds for its packages."""
    start_server(child_environment(simulated))


def refuse_unbuilt(k: object) -> None:
    """Raise TypeError for what is no kernel that was built."""
    if not isinstance(k, Kernel):
        said = str(k)[:40]
        raise TypeError(f"{said!r} is no built kernel; build it first, with cuda_kernel(...) or opencl_kernel(...).")


def child_environment(simulated):
    """This process's environment, and what its children need beside it."""
    return dict(
        os.environ,
        PYTHONPATH=devices.python_path(),
        PYOPENCL_NO_CACHE="1",
        OPENBLAS_NUM_THREADS="1",  # small products; its threads would only spin
        NUMBA_ENABLE_CUDASIM=str(int(simulated)),
    )


def read_answer(path):
    """The value and the findings that a child wrote; no value and a crash as a `Finding` where they cannot be read."""
    try:
        value, findings = pickle.loads(path.read_bytes())
        return value, findings
    except Exception as error:  # bytes that were cut off or overwritten fail to unpack in many ways
        said = f"{type(error).__name__}: {error}"
        return None, [Finding("crash", f"what its process left as an answer cannot be read ({said})")]


def read_text(path):
    """The file's text, "" if there is none."""
    return path.read_text(errors="replace") if path.exists() else ""


def wait_patiently(what, child, seconds):
    """Wait for the child, with a progress bar once it takes long. Returns whether it ended by itself.

    It is out of time once it has computed for `seconds`, or once neither it nor what it started has computed at all for
    so long: what another process takes of the machine does not count. A child that waits for one that it has asked a
    server for looks after it as this function does, which is computing, too. A driver on many cores computes more than
    one second in a second; then the wall's clock counts. Raises Crowd once it has started more processes than a job
    needs.
    """
    start = moved = time.monotonic()
    computed = everyones = 0.0
    with Progress(what, seconds) as progress:
        while not child.wait(LOOK):
            now, so_far, below = time.monotonic(), cpu_seconds(child.pid), descendants(child.pid)
            if len(below) > MOST:
                raise Crowd(f"it started {len(below)} processes, and was stopped")
            together = so_far + sum(map(cpu_seconds, below))
            if together != everyones:  # it waits for a child of its own, which computes or has ended
                everyones, moved = together, now
            computed = max(computed, so_far)
            spent = min(computed, now - start)
            if spent >= seconds or now - moved >= seconds:
                return False
            progress.update(spent)
    return True


def descendants(pid):
    """The process ids of what it has started, and these have; none once it is gone."""
    try:
        return [process.pid for process in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return []


def cpu_seconds(pid):
    """Seconds of computing that the process has had, on all cores; 0 once it is gone."""
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return 0.0
    return times.user + times.system
