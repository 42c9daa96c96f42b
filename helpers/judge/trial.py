"""Tries a learner's kernel in a child process, on a simulator that sees what a device hides.

OpenCL kernels run under Oclgrind, which names out-of-bounds accesses, data races and barriers that not all
work-items reach; CUDA kernels run in Numba's simulator with `instruments.watch` watching. A kernel that
crashes or never ends costs the child, not the notebook.
"""

import io
import math
import os
import pickle
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import cloudpickle
from tqdm import tqdm

from . import devices, ladder
from .kernel import Kernel

SECONDS = 60
PATIENCE = 10  # seconds without a progress bar
UNSET = ("what it stores comes from numbers that nobody has set: a sum that does not start at zero, or an element of a tile "
         "that was never staged")
# Products that the simulators do in ten seconds or so, and that Oclgrind does while it also follows what was never set.
LIMITS = {"CUDA": 1 << 19, "OpenCL": 100 << 16}
THOROUGH = 1 << 21


@dataclass(frozen=True)
class Finding:
    """One thing wrong with a kernel.

    kind     "race", "out of bounds", "divergent barrier", "crash", "hang", "error", "unwritten", ...
    message  a sentence
    lines    1-based lines of the kernel's source that it is about, a tuple
    """

    kind: str
    message: str
    lines: tuple = ()


def trial(k, shapes, seconds=SECONDS):
    """Run the kernel in a child on as many of the `shapes`, a list of (M, N, K), as a simulator does in seconds.

    Returns (findings, what was not looked for, the shapes tried). `findings` is a list of `Finding`, empty when the
    kernel did well.
    """
    tried, products = small_enough(k, shapes)
    ask = {"OCLGRIND_DATA_RACES": "1"}
    thorough = products <= THOROUGH
    if thorough:
        ask["OCLGRIND_UNINITIALIZED"] = "1"
    outcome = in_child(k, "examine", seconds, ask, shapes=tried)
    if thorough and "Uninitialized.cpp" in outcome.log:  # that part of Oclgrind does not know every instruction
        thorough = False
        outcome = in_child(k, "examine", seconds, {"OCLGRIND_DATA_RACES": "1"}, shapes=tried)
    if outcome.oclgrind and outcome.unbuilt:  # Oclgrind's compiler is older than the device's
        outcome = in_child(k, "examine", seconds, None, shapes=tried)
    # Wrong numbers follow from what the simulator saw; the cause is what the learner needs.
    findings = oclgrind_findings(outcome.log, k.source) or outcome.findings or outcome.value
    if k.dialect == "CUDA":
        return findings, (), tried
    unseen = () if outcome.oclgrind else ("races", "reads outside a local array")
    if not outcome.oclgrind or not thorough:
        unseen += ("numbers that nobody has set",)
    return findings, unseen, tried


def small_enough(k, shapes):
    """The smallest of the shapes, at least one, and how many products they take; a partial tile costs as much as a whole."""
    tile = ladder.STEPS[k.step].tile(k.parameters)
    cost = {shape: math.prod(ladder.ceil_div(n, t) * t for n, t in zip(shape, tile)) for shape in map(tuple, shapes)}
    chosen, products = [], 0
    for shape in sorted(cost, key=cost.get):
        if not chosen or products + cost[shape] <= LIMITS[k.dialect]:
            chosen.append(shape)
            products += cost[shape]
    return chosen, products


@dataclass(frozen=True)
class Outcome:
    """What came of a child process.

    value      what its task returned; None if it did not come so far
    findings   why it did not: a crash or a hang, as a list of one `Finding`
    log        Oclgrind's reports, or ""
    oclgrind   whether it is an OpenCL kernel under Oclgrind
    """

    value: object
    findings: list
    log: str
    oclgrind: bool

    @property
    def unbuilt(self):
        return any(finding.kind == "does not compile" for finding in self.findings)


def in_child(k, task, seconds, oclgrind_options, **arguments):
    """Build the kernel in a child process on a simulator, and do a task of `helpers.child` with it there.

    `oclgrind_options`: environment variables for Oclgrind; None runs an OpenCL kernel on its own device instead.
    """
    if not isinstance(k, Kernel):
        raise TypeError(f"{str(k)[:40]!r} is no built kernel; build it first, with cuda_kernel(...) or opencl_kernel(...).")
    use_oclgrind = k.dialect == "OpenCL" and oclgrind_options is not None
    oclgrind = devices.oclgrind_library() if use_oclgrind else None
    job = dict(dialect=k.dialect, kernel=portable(k), like=k.step, parameters=k.parameters, task=task,
               device=None if oclgrind or k.dialect == "CUDA" else k.device.name, arguments=arguments)
    with tempfile.TemporaryDirectory(prefix="kernel-trial-") as folder:
        log, answer = Path(folder, "oclgrind.log"), Path(folder, "answer")
        environment = dict(os.environ, PYTHONPATH=devices.python_path(), PYOPENCL_NO_CACHE="1",
                           NUMBA_ENABLE_CUDASIM="0" if task == "ptx" else "1")
        if oclgrind:
            Path(folder, "oclgrind.icd").write_text(f"{oclgrind}\n")
            # One thread, so that a race is reported the same way each time.
            environment.update(oclgrind_options, OCL_ICD_VENDORS=folder, HELPERS_OPENCL_DEVICE="Oclgrind",
                               OCLGRIND_NUM_THREADS="1", OCLGRIND_LOG=str(log),
                               OCLGRIND_LOCAL_MEM_SIZE=str(k.device.shared_bytes),
                               OCLGRIND_MAX_WGSIZE=str(k.device.max_threads))
            environment.pop("PYOPENCL_CTX", None)
        command = [sys.executable, "-c", "from helpers.child import main; main()", str(answer)]
        try:
            child = run_patiently(f"{k} in a simulator", command, pickled(job), environment, seconds)
        except subprocess.TimeoutExpired:
            threads = "threads" if k.dialect == "CUDA" else "work-items"
            hang = Finding("hang", f"it was still running after {seconds} s: a loop that never ends, a barrier that "
                                   f"some of its {threads} never reach, or tiles too large to simulate")
            return Outcome(None, [hang], "", bool(oclgrind))
        text = log.read_text(errors="replace") if log.exists() else ""
        text += child.stdout.decode(errors="replace")  # where Oclgrind prints its counts
        if answer.exists():
            return Outcome(*pickle.loads(answer.read_bytes()), text, bool(oclgrind))
    last = (child.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
    crash = Finding("crash", f"it took its process down (exit status {child.returncode}): {last}")
    return Outcome(None, [crash], text, bool(oclgrind))


def run_patiently(what, command, job, environment, seconds):
    """`subprocess.run`, with a progress bar once it takes longer than one waits gladly. Raises subprocess.TimeoutExpired."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=environment) as child:
        try:
            with tqdm(total=seconds, delay=PATIENCE, leave=False, bar_format="{desc}: {n} s of at most {total} s |{bar:20}|",
                      desc=what) as progress:
                for second in range(seconds):
                    try:
                        out, err = child.communicate(None if second else job, timeout=1)
                        return subprocess.CompletedProcess(command, child.returncode, out, err)
                    except subprocess.TimeoutExpired:
                        progress.update()
            raise subprocess.TimeoutExpired(command, seconds)
        finally:
            child.kill()  # out of time, or interrupted; one that has ended does not mind


def portable(k):
    """What the child builds the kernel from: source text, or the plain Python function."""
    plain = getattr(k.function, "py_func", None)
    built_from_text = plain is None or plain.__code__.co_filename.startswith("<kernel") or not k.own
    return k.source if built_from_text else plain


class Pickler(cloudpickle.CloudPickler):
    """Takes `@cuda.jit` functions that a kernel calls along as plain functions: compiled for a GPU, they cannot travel."""

    def reducer_override(self, obj):
        if hasattr(obj, "py_func") and hasattr(obj, "targetoptions"):
            return jit_again, (obj.py_func, bool(obj.targetoptions.get("device")))
        if type(obj).__name__ == "FakeCUDAKernel":  # the simulator's, which may be compiled over there
            return jit_again, (obj.fn, obj._device)
        return super().reducer_override(obj)


def jit_again(function, device):
    from numba import cuda

    return cuda.jit(function, device=device)


def pickled(job):
    """The job as bytes. Raises TypeError when a learner's function uses something that cannot travel."""
    buffer = io.BytesIO()
    try:
        Pickler(buffer).dump(job)
    except Exception as error:  # pickling fails in many ways; each means the same
        raise TypeError(f"the kernel uses something that cannot be sent to the process that tries it: {error}") from None
    return buffer.getvalue()


def oclgrind_findings(log, source):
    """Oclgrind's reports on that source as `Finding`s, each kind and line once."""
    findings = []
    for report in re.split(r"\n(?=\S)", log.lstrip()):
        lines = tuple(sorted({int(n) for n in re.findall(r"At line (\d+)", report)}))
        if "data race at" in report:
            if "local memory" in report:
                what = "work-items read and write the same element of local memory" + missing_barrier(source, lines)
            else:
                what = "two work-items touch the same element of global memory, one of them writing"
            findings.append(Finding("race", what, lines))
        elif re.match(r"Invalid (read|write)", report) or "exceeds static array size" in report:
            does = "writes" if "write" in report.split("\n")[0] or "store" in report else "reads"
            memory = re.search(r"(global|local|private) memory", report)
            where = f"{memory[1]} memory" if memory else "an array"
            findings.append(Finding("out of bounds", f"it {does} outside {where}", lines))
        elif "divergence detected (barrier)" in report:
            findings.append(Finding("divergent barrier", "only some work-items of a work-group reach this barrier", lines))
        elif report.startswith("Uninitialized value"):
            findings.append(Finding("uninitialised", UNSET, lines))
    once = {(f.kind, f.lines): f for f in reversed(findings)}
    if any(kind == "race" for kind, _ in once):  # what nobody had set yet follows from it
        once = {key: f for key, f in once.items() if f.kind != "uninitialised"}
    causes_first = ("out of bounds", "divergent barrier", "race", "uninitialised")
    return sorted(once.values(), key=lambda f: (causes_first.index(f.kind), f.lines))


def missing_barrier(source, lines):
    """Where a barrier is missing between two lines of a loop: between them, or on the way round; "" if unclear."""
    if len(lines) != 2:
        return ""
    first, second = lines
    code = [line.split("//")[0] for line in source.splitlines()]
    if any(re.search(r"\bbarrier\s*\(", line) for line in code[first : second - 1]):
        return f", since no barrier keeps line {first} from running again before all are done with line {second}"
    return f", since there is no barrier between line {first} and line {second}"
