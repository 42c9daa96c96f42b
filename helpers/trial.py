"""Tries a learner's kernel in a child process, on a simulator that sees what a device hides.

OpenCL kernels run under Oclgrind, which names out-of-bounds accesses, data races and barriers that not all
work-items reach; CUDA kernels run in Numba's simulator with `instruments.races` watching. A kernel that
crashes or never ends costs the child, not the notebook.
"""

import os
import pickle
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import cloudpickle

from . import devices

SECONDS = 60


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
    """Run the kernel on `shapes`, a list of (M, N, K), in a child. Returns (findings, what was not looked for).

    `findings` is a list of `Finding`, empty when the kernel did well.
    """
    oclgrind = devices.oclgrind_library() if k.dialect == "OpenCL" else None
    job = cloudpickle.dumps(
        dict(dialect=k.dialect, kernel=portable(k), like=k.step, parameters=k.parameters, shapes=shapes,
             device=None if oclgrind or k.dialect == "CUDA" else k.device.name)
    )
    with tempfile.TemporaryDirectory(prefix="kernel-trial-") as folder:
        log, answer = Path(folder, "oclgrind.log"), Path(folder, "answer")
        environment = dict(os.environ, PYTHONPATH=devices.python_path(), NUMBA_ENABLE_CUDASIM="1",
                           PYOPENCL_NO_CACHE="1")
        if oclgrind:
            # One thread, so that a race is reported the same way each time.
            environment.update(OCL_ICD_VENDORS=str(devices.icd_folder([oclgrind])), HELPERS_OPENCL_DEVICE="Oclgrind",
                               OCLGRIND_DATA_RACES="1", OCLGRIND_NUM_THREADS="1", OCLGRIND_LOG=str(log))
            environment.pop("PYOPENCL_CTX", None)
        command = [sys.executable, "-c", "from helpers.check import examine_in_child; examine_in_child()", str(answer)]
        try:
            child = subprocess.run(command, input=job, env=environment, capture_output=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return [Finding("hang", f"it was still running after {seconds} s: a loop that never ends, or a barrier "
                                    f"that some of its {'work-items' if oclgrind else 'threads'} never reach.")], ()
        seen = oclgrind_findings(log.read_text(errors="replace")) if log.exists() else []
        if answer.exists():
            findings = pickle.loads(answer.read_bytes())
        else:
            last = (child.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
            findings = [Finding("crash", f"it took its process down (exit status {child.returncode}): {last}")]
    # Wrong numbers follow from what the simulator saw; the cause is what the learner needs.
    missing = ("races",) if k.dialect == "OpenCL" and not oclgrind else ()
    return seen or findings, missing


def portable(k):
    """What the child builds the kernel from: source text, or the plain Python function."""
    plain = getattr(getattr(k, "function", None), "py_func", None)
    if k.dialect == "CUDA" and plain is not None and plain.__module__ != "kernel":
        return plain
    return k.source


def oclgrind_findings(log):
    """Oclgrind's reports as `Finding`s, each kind and line once."""
    findings = []
    for report in re.split(r"\n(?=\S)", log):
        lines = tuple(sorted({int(n) for n in re.findall(r"At line (\d+)", report)}))
        if "data race at" in report:
            memory = "local" if "local memory" in report else "global"
            what = (
                f"two work-items touch the same element of {memory} memory, one of them writing, "
                f"and no barrier keeps them apart"
            )
            findings.append(Finding("race", what, lines))
        elif re.match(r"Invalid (read|write)", report) or "exceeds static array size" in report:
            does = "writes" if "write" in report.split("\n")[0] or "store" in report else "reads"
            memory = re.search(r"(global|local|private) memory", report)
            where = f"{memory[1]} memory" if memory else "an array"
            findings.append(Finding("out of bounds", f"it {does} outside {where}", lines))
        elif "divergence detected (barrier)" in report:
            findings.append(Finding("divergent barrier", "only some work-items of a work-group reach this barrier", lines))
    once = {(f.kind, f.lines): f for f in reversed(findings)}
    causes_first = ("out of bounds", "divergent barrier", "race")
    return sorted(once.values(), key=lambda f: (causes_first.index(f.kind), f.lines))
