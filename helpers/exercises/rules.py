"""Many pages: the two rules of exercises on kernels. The kernel is right, and it does no more than an answer needs.

`right` is the first. `judged` is the second: a look that counts, once the first is kept.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .. import ladder
from ..arguments import sizes
from ..instruments import trace
from ..instruments.loads import predicted_traffic
from ..instruments.traces import Trace
from ..judge.checking import check
from ..judge.on_ptx import try_on_ptx
from ..judge.other_sizes import at_sizes, wrong_at_other_sizes
from ..judge.report import Report
from ..judge.trials import launched_there, trial
from ..launch import Kernel, KernelError, draw
from ..launch.cuda_source import came_as_text
from ..sandbox import Finding

# What the numbers alone showed. Of the other kinds, somebody watched the cause.
BY_NUMBERS = {
    *("wrong numbers", "wrong index", "wrong row", "wrong column", "wrong place"),
    *("K is cut", "edge", "transposed"),
}
PASSED = {}  # {a kernel's text and all that it is built with: the report}
NOTHING = ("not yet", "zeros", "nothing stored")  # what C shows where nothing came of a kernel


class MissesTheIdea(Report):
    """The verdict on a kernel that is right and still misses the idea."""

    def __repr__(self):
        text = f"✗ {self.subject} computes the right C, but misses the idea."
        return text + super().__repr__().removeprefix(f"✗ {self.subject} is wrong.")

    _repr_pretty_ = Report._repr_pretty_  # else IPython takes __repr__, since it stands here


def judged(k: Kernel, report: Report, look: Callable) -> Report:
    """The report; where that says right, with what the look finds.

    `look`: a function of the kernel, which counts something, and returns a list of findings: what is more than an
    answer needs.
    """
    return misses(report, *look(k)) if report else report


def misses(report: Report, *findings: Finding) -> Report:
    """The verdict on a kernel of which `report` says that it is right, and of which these findings say the rest."""
    return MissesTheIdea(report.subject, findings, report.shapes, report.source) if findings else report


# --------------------------------------------------------------------------------------------------------------- right


def right(k: Kernel, shape: tuple = (), what: str = "") -> Report:
    """Check a kernel, and that it is right at one more shape (M, N, K), if one is given. Returns a `Report`.

    `what` is looked at there, "its loads are counted": a kernel that takes another path at this shape, one that gives
    wrong numbers, could show anything.
    """
    shape = shape and sizes(shape)
    report = checked_once(k)
    if not report or not shape or not (wrong := wrong_at(k, shape)):
        return report
    if wrong[0].kind == "too slow":
        return replace(report, findings=tuple(wrong))
    where = f"{' x '.join(map(str, shape))} (M x N x K), where {what}"
    text = f"right elsewhere, and wrong at {where}: {wrong[0].message}"
    return replace(report, findings=(Finding("wrong at one size", text, wrong[0].lines),))


def checked_once(k: Kernel) -> Report:
    """What a check says of the kernel. A text that has passed in this process, in a cell above, is not tried again."""
    whole_text = k.dialect != "CUDA" or came_as_text(k.function)
    key = k.dialect, k.step, k.source, tuple(k.parameters.items()), k.device.name
    if whole_text and key in PASSED:
        k.checked = True
        return PASSED[key]
    report = answered(k, check(k))
    if report and whole_text:
        PASSED[key] = report
    return report


def right_with(k: Kernel, report: Report, *others: dict) -> Report:
    """The report; where that says right, also of the kernel with each of these sizes, such as dict(TILE=5), instead.

    C has three blocks more along a side than a block has threads there, or than four if those are fewer; K has two
    tiles and a part.
    """
    for other in others if report else ():
        there = at_sizes(k, k.parameters | other)
        rows, columns, depth = ladder.STEPS[k.step].tile(there.parameters)
        down, across = (min(side, 4) for side in there.block)
        for finding in wrong_at(there, ((down + 2) * rows + 1, (across + 2) * columns + 1, 2 * depth + 1)):
            slow = finding.kind == "too slow"
            said = finding if slow else wrong_at_other_sizes(k.parameters, there.parameters, finding)
            return replace(report, findings=(said,))
    return report


def wrong_at(k: Kernel, shape: tuple) -> list[Finding]:
    """What is wrong at one more shape (M, N, K) with a kernel that is right at others."""
    return (try_on_ptx if k.dialect == "CUDA" else trial)(k, [shape]).findings


def answered(k: Kernel, report: Report) -> Report:
    """The report; where that is "not yet" and the kernel reads what it is about, what was seen instead.

    "Not yet" is for the placeholder that nobody has changed, and that reads neither A, nor B, nor a tile.
    """
    if report or report.findings[0].kind not in NOTHING or not reads(k):
        return report
    said = report.findings[0].message.rstrip(".")
    found = Finding("nothing arrives", f"{said}. It reads numbers; follow them through the sum into C")
    outcome = launched_there(k, [[1000 + np.abs(X) for X in draw(*ladder.STEPS[k.step].tile(k.parameters))]])
    if outcome.value and np.nan_to_num(outcome.value[0]).any():
        text = f"{said}, but not with numbers a thousand times as large: an int cuts them off"
        found = Finding("whole numbers", text)
    return replace(report, findings=(found,))


def traced(k: Kernel, *shape: int) -> Trace | None:
    """The kernel's `Trace` at that shape M, N, K; None where nothing can follow it."""
    try:
        return trace(k, *shape)
    except (KernelError, ValueError):
        return None


def reads(k: Kernel) -> bool:
    """Whether threads read A, B and, if the rung does that, shared memory, in a product of one tile."""
    seen = traced(k, *ladder.STEPS[k.step].tile(k.parameters))
    if seen is None:
        return False
    shared = predicted_traffic(k, 8, 8, 8).shared_loads == 0 or len(seen.where(memory="shared", writes=False))
    return all(len(seen.where(array=name, writes=False)) for name in "AB") and bool(shared)


def lines_of(accesses: np.ndarray) -> tuple:
    """The lines of k.source at which these accesses are made."""
    return tuple(sorted(set(accesses["line"].tolist()) - {0}))
