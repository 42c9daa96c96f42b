"""What a child process does with a kernel. `helpers.trial` starts it; nothing else runs this."""

import pickle
import sys
from contextlib import nullcontext

from . import cuda, kernel, opencl
from .check import draw, examine, watched_findings
from .instruments.annotate import noted_launch
from .instruments.watch import watching
from .trial import Finding


def main():
    """Build the kernel of the job on stdin, do its task, and write the answer to the file named."""
    job = pickle.load(sys.stdin.buffer)
    simulated = job["dialect"] == "CUDA"
    if job["device"] is None:
        kernel.GUARD = 0  # the simulators watch the ends of the buffers themselves
    try:
        if job["task"] == "ptx":
            value = cuda.ptx(job["kernel"], job["parameters"], **job["arguments"])
        else:
            build, extra = (cuda.kernel, {}) if simulated else (opencl.kernel, {"device": job["device"]})
            k = build(job["kernel"], like=job["like"], **extra, **job["parameters"])
            value = {"examine": examine_watched, "launch": launch, "trace": trace}[job["task"]](k, simulated, **job["arguments"])
        findings = []
    except kernel.KernelError as error:
        value, findings = None, [Finding("does not compile", str(error))]
    with open(sys.argv[1], "wb") as answer:
        pickle.dump((value, findings), answer)


def examine_watched(k, simulated, shapes):
    """Check the kernel; in the simulator, watch it too. Returns findings, what was watched before what follows."""
    with watching() if simulated else nullcontext() as watch:
        findings = examine(k, shapes)
    return (watched_findings(k, watch) or findings) if simulated else findings


def launch(k, simulated, M, N, K):
    """Launch the kernel once. Returns counts, as watched in the simulator; None for OpenCL, which Oclgrind counts."""
    with watching() if simulated else nullcontext() as watch:
        k.upload(*draw(M, N, K)).launch()
    return watch.counts if simulated else None


def trace(k, simulated, M, N, K):
    """Launch the kernel once. Returns every `Access` it made and the shapes of its shared arrays."""
    A, B = draw(M, N, K)
    if not simulated:
        return noted_launch(k, A, B)
    with watching(keep_accesses=True) as watch:
        k.upload(A, B).launch()
    return watch.accesses, {name: shape for name, shape in watch.shapes.items() if name not in "ABC"}
