"""Tries a learner's CUDA kernel as a GPU would get it: compiled, and run on the PTX machine. Needs no GPU.

Numba's simulator runs a kernel as Python, with Python's whole numbers and NumPy's. A compiled kernel has whole numbers
of 32 and 64 bits, types that are settled before it runs, and addresses.
"""

import re
from dataclasses import replace

import numpy as np

import ptx_machine

from .. import devices, ladder
from ..instruments.compiler import lacks_a_part, ptx
from ..instruments.ptx_run import run_text
from ..launch import Contestant, Kernel, KernelError
from ..launch.numba_internals import is_complaint
from ..launch.on_ptx import CERTAIN, PTXWork
from ..sandbox import Finding, Job, in_child, source_line
from .examine import examine
from .reference import drawn_for, wrong_elements
from .trials import Trial

CAPABILITY = (8, 0)  # an A100's; the course's kernels need no younger one
WHY = "Compiled, a whole number has 64 bits or fewer, and a variable has one type in all of the kernel."
FEW = 6  # shapes that tell one mistake from another: `shapes_for` comes first, and has as many
UNWATCHED = {"race", "writes to an input"}  # for these the simulator looks, where it can run the kernel
HARMLESS = {"stored twice"}  # as when a kernel sums in C itself


def trial_compiled(k: Kernel, shapes: list, more: list = ()) -> Trial:
    """Compile the kernel, which did well in the simulator, and run what came out on those shapes (M, N, K), in a child.

    `more`: shapes that were too large for the simulator. For a kernel that no simulator runs, `shapes` is empty. Ask
    `compiles` first.
    """
    outcome = in_child(k, examine_compiled, simulated=False, step=k.step, shapes=shapes, more=list(more))
    if outcome.findings:
        message = outcome.findings[0].message
        return Trial([], () if lacks_a_part(message) else (f"the compiled code ({message.splitlines()[0]})",), shapes)
    lines = [tuple(source_line(k, line) for line in finding.lines if line) for finding in outcome.value]
    findings = [replace(finding, lines=own) for finding, own in zip(outcome.value, lines, strict=True)]
    return Trial(list(dict.fromkeys(findings)), (), [*shapes, *more])


def compiles(k: Kernel) -> bool:
    """Whether this machine has a compiler for the kernel that the PTX machine can follow."""
    return k.dialect == "CUDA" and devices.nvidia_tool("ptxas") is not None


def only_compiled(finding):
    """The finding as the learner is told it, at a shape that the simulator did as well."""
    return replace(finding, kind="compiled", message=f"right in the simulator, wrong compiled: {finding.message}")


def examine_compiled(job: Job, step: str, shapes: list, more: list) -> list[Finding]:
    """In the child: compile the kernel and run what came out, until something is wrong.

    `shapes` are those that the simulator did, `more` are larger; where it did none, a race and a store to A or B count
    like wrong numbers, since nothing else has looked for them. Returns findings, whose lines are those that Numba was
    given. Raises KernelError for what the PTX machine does not know, and for what is no fault of the kernel.
    """
    try:
        k = Compiled(ptx(job, CAPABILITY, lines=True), step, job.parameters)
    except KernelError as error:
        if is_complaint(error.__cause__):
            return [only_compiled(refused(str(error))) if shapes else refused(str(error))]
        raise
    for turn, shape in enumerate([*shapes, *more]):
        A, B = drawn_for(k, shape, turn)
        done = k.launched(A, B)
        wrong = bool(wrong_elements(done.C, A, B, k.inputs).any())
        if shape in shapes:
            findings = [only_compiled(located(one)) for one in done.findings if counts(one, wrong)]
            if wrong and not findings:
                example = " x ".join(map(str, shape))
                text = f"numbers of C are wrong, for example at {example} (M x N x K). {WHY}"
                findings = [only_compiled(Finding("wrong numbers", text))]
        else:
            alone = () if shapes else UNWATCHED
            findings = [located(one) for one in done.findings if one.kind in CERTAIN or one.kind in alone]
            if wrong and not findings:
                # One small shape alone would say little: C of one element is zero, and so is C.T.
                findings = examine(k, [*shapes, shape] if shapes else more[: max(turn + 1, FEW)])
        if findings:
            return findings
    return []


class Compiled(Contestant):
    """What the compiler made of a kernel, run on the PTX machine, so that it is examined like the kernel itself."""

    dialect = "CUDA"

    def __init__(self, text, step, parameters):
        self.text, self.name, self.step, self.parameters = text, step, step, parameters
        self.inputs = parameters.get("INPUT", "float32")
        self.block = ladder.STEPS[step].block(parameters)

    def grid(self, M, N):
        """Blocks along (x, y) for a C of M x N."""
        return ladder.STEPS[self.step].grid(self.parameters, M, N)

    def upload(self, A, B, fill=np.nan):
        """A, B, and a C full of `fill`, for the PTX machine."""
        return PTXWork(self.text, self.block, self.grid(A.shape[0], B.shape[1]), A, B, fill)

    def launched(self, A, B, fill=np.nan):
        """The `CompiledRun` of one launch."""
        return run_text(self.text, self.block, self.grid(A.shape[0], B.shape[1]), A, B, fill=fill)


def counts(finding: ptx_machine.Finding, wrong: bool) -> bool:
    """Whether that makes the kernel wrong. `wrong`: the numbers are.

    What is not `CERTAIN` counts only then: the compiler may load from shared memory what is not used, so there may be
    a race there, or an element that nobody wrote.
    """
    if finding.kind in HARMLESS:
        return False
    over_C = finding.kind == "race" and ".global" in finding.text
    return wrong or over_C or finding.kind in CERTAIN


def located(finding):
    """What the PTX machine found, with its line of the source in place of that of the PTX."""
    return Finding(finding.kind, finding.message, (finding.source,) * bool(finding.line))


def refused(text):
    """Numba's complaint about a kernel that does not compile, as a `Finding`: the most exact one, with its line."""
    exact = re.search(r"^\s*Numba\w*Error: (.+)$", text, re.MULTILINE)
    lacking = re.search(r"^\s*>>> (.+)$", text, re.MULTILINE)
    said = exact[1] if exact else f"it knows no {lacking[1]}" if lacking else text.strip().splitlines()[0]
    place = re.search(r'^File "[^"]*", line (\d+)', text, re.MULTILINE)
    lines = (int(place[1]),) if place else ()
    return Finding("does not compile", f"it does not compile. Numba says: {said.strip().rstrip('.:')}", lines)
