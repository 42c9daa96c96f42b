"""Many pages: the two rules of exercises on kernels. The kernel is right, and it does no more than an answer needs.

`right` is the first. `judged` is the second: a look that counts, once the first is kept.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kernel_judge import Finding, Report

from .. import ladder
from ..checking import check
from ..instruments import predicted_traffic, trace
from ..launch import Kernel, KernelError

NOTHING = ("not yet", "zeros", "nothing stored")  # what C shows where nothing came of a kernel


class MissesTheIdea(Report):
    """The verdict on a kernel that is right and still misses the idea."""

    def head(self) -> tuple[str, str, dict]:
        """As `Report.head`."""
        return "✗ ", "{subject} computes the right C, but misses the idea.", {"subject": self.subject}


def right(k: Kernel, shape: tuple = (), what: tuple = ("", {})) -> Report:
    """Check a kernel, and that it is right at one more shape (M, N, K), if one is given. Returns a `Report`.

    `what` is done there, a sentence such as ("its loads are counted", {}): a kernel that takes another path at this
    shape, one that gives wrong numbers, could show anything.
    """
    report = check(k)
    if not report:
        return answered(k, report)
    if not shape or (there := check(k, [shape])):
        return report
    values = {"shape": f"{' x '.join(map(str, shape))} (M x N x K)", "what": what, "found": there.findings[0]}
    text = "right elsewhere, and wrong at {shape}, where {what}: {found}"
    return replace(report, findings=(Finding("wrong at one size", text, there.findings[0].lines, values),))


def judged(k: Kernel, report: Report, look: Callable) -> Report:
    """The report; where that says right, with what the look finds.

    `look`: a function of the kernel, which counts something, and returns a list of findings: what is more than an
    answer needs.
    """
    return misses(report, *look(k)) if report else report


def misses(report: Report, *findings: Finding) -> Report:
    """The verdict on a kernel of which `report` says that it is right, and of which these findings say the rest."""
    return MissesTheIdea(report.subject, findings, report.source) if findings else report


def answered(k: Kernel, report: Report) -> Report:
    """The report; where that is "not yet" and the kernel reads what it is about, what was seen instead."""
    if report.findings[0].kind not in NOTHING or not reads(k):
        return report
    text = "{found} It reads numbers; follow them through the sum into C"
    found = report.findings[0]
    if found.kind != "not yet":
        text = "{found}. It reads numbers; follow them through the sum into C"
    return replace(report, findings=(Finding("nothing arrives", text, values={"found": found}),))


def reads(k: Kernel) -> bool:
    """Whether threads read A, B and, if the rung does that, shared memory, in a product of one tile."""
    try:
        loads = trace(k, *ladder.STEPS[k.step].tile(k.parameters)).where(writes=False)
    except (KernelError, ValueError):
        return False
    tiled = predicted_traffic(k, 8, 8, 8).shared_loads > 0
    return {"A", "B"} <= {*loads["array"]} and (not tiled or "shared" in loads["memory"])


def lines_of(accesses: np.ndarray) -> tuple:
    """The lines of k.source at which these accesses are made."""
    return tuple(sorted({*accesses["line"].tolist()} - {0}))
