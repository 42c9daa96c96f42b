"""Tries a learner's CUDA kernel as a GPU would get it: compiled, and run on the PTX machine. Needs no GPU.

Numba's simulator runs a kernel as Python, with Python's whole numbers and NumPy's. A compiled kernel has whole numbers
of 32 and 64 bits, types that are settled before it runs, and addresses.
"""

import re

from .. import devices, ladder
from ..instruments.compiler import lacks_a_part, ptx
from ..instruments.ptx_machine import CompiledRun, run_text
from ..launch import Kernel, KernelError, draw
from ..launch.numba_internals import is_complaint
from ..sandbox import SECONDS, Finding, Job, in_child, prepare, source_line
from .reference import wrong_elements

CAPABILITY = (8, 0)  # an A100's; the course's kernels need no younger one
# These are wrong even where the numbers came out right. The compiler may load from shared memory what is not used then,
# so a race there, or an element that nobody wrote, counts only where the numbers are wrong.
CERTAIN = {"out of bounds", "misaligned", "divergent barrier", "hang", "error"}
WHY = "Compiled, a whole number has 64 bits or fewer, and a variable has one type in all of the kernel."
HARMLESS = {"stored twice"}  # as when a kernel sums in C itself


def trial_compiled(k: Kernel, shapes: list) -> tuple[list[Finding], tuple]:
    """Compile the kernel, which did well in the simulator, and run what came out on those shapes (M, N, K), in a child.

    Returns (findings, what was not looked for). Both are empty for an OpenCL kernel, and where NVIDIA's compiler is
    missing.
    """
    if not compiles(k):
        return [], ()
    outcome = in_child(k, examine_compiled, SECONDS, None, simulated=False, step=k.step, shapes=shapes)
    if outcome.findings:
        message = outcome.findings[0].message
        return [], () if lacks_a_part(message) else (f"the compiled code ({message.splitlines()[0]})",)
    return list(dict.fromkeys(told(k, finding) for finding in outcome.value)), ()


def compiles(k: Kernel) -> bool:
    """Whether this machine has a compiler for the kernel that the PTX machine can follow."""
    return k.dialect == "CUDA" and devices.nvidia_tool("ptxas") is not None


def get_ready(k: Kernel) -> None:
    """Begin, while the simulator is at work, with what `trial_compiled` will need."""
    if compiles(k):
        prepare(simulated=False)


def told(k, finding):
    """The finding as the learner is told it, with lines of k.source."""
    lines = tuple(source_line(k, line) for line in finding.lines if line)
    return Finding("compiled", f"right in the simulator, wrong compiled: {finding.message}", lines)


def examine_compiled(job: Job, step: str, shapes: list) -> list[Finding]:
    """In the child: compile the kernel and run what came out on each shape, until something is wrong.

    Returns findings, whose lines are those that Numba was given. Raises KernelError for what the PTX machine does not
    know, and for what is no fault of the kernel.
    """
    try:
        text = ptx(job, CAPABILITY, lines=True)
    except KernelError as error:
        if is_complaint(error.__cause__):
            return [refused(str(error))]
        raise
    rung, p = ladder.STEPS[step], job.parameters
    for M, N, K in shapes:
        A, B = draw(M, N, K)
        run = run_text(text, rung.block(p), rung.grid(p, M, N), A, B)
        wrong = bool(wrong_elements(run.C, A, B).any())
        if findings := [located(run, one) for one in run.findings if counts(run, one, wrong)]:
            return findings
        if wrong:
            return [
                Finding("wrong numbers", f"numbers of C are wrong, for example at {M} x {N} x {K} (M x N x K). {WHY}")
            ]
    return []


def counts(run: CompiledRun, finding: Finding, wrong: bool) -> bool:
    """Whether that makes the kernel wrong. `wrong`: the numbers are."""
    if finding.kind in HARMLESS:
        return False
    over_C = finding.kind == "race" and ".global" in run.ptx.splitlines()[finding.lines[0] - 1]
    return wrong or over_C or finding.kind in CERTAIN


def located(run, finding):
    """The finding with lines of the source in place of lines of the PTX."""
    return Finding(finding.kind, finding.message, tuple(run.sources[line] for line in finding.lines))


def refused(text):
    """Numba's complaint about a kernel that does not compile, as a `Finding`: the most exact of it, and its line."""
    exact = re.search(r"^\s*Numba\w*Error: (.+)$", text, re.MULTILINE)
    lacking = re.search(r"^\s*>>> (.+)$", text, re.MULTILINE)
    said = exact[1] if exact else f"it knows no {lacking[1]}" if lacking else text.strip().splitlines()[0]
    place = re.search(r'^File "[^"]*", line (\d+)', text, re.MULTILINE)
    lines = (int(place[1]),) if place else ()
    return Finding("does not compile", f"it does not compile. Numba says: {said.strip().rstrip('.:')}", lines)
