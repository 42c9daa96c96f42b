"""Judges a kernel at other sizes than its own: some exercises are about sizes that a check has no reason to try."""

from dataclasses import replace

from .. import ladder
from ..launch import Kernel
from .checking import wrong_at
from .other_sizes import at_sizes, wrong_at_other_sizes
from .report import Report


def right_with(k: Kernel, report: Report, *others: dict) -> Report:
    """The report; where that says right, also of the kernel with each of these sizes, such as dict(TILE=5), instead.

    C has three blocks more along a side than a block has threads there, or than four if those are fewer; K has two
    tiles and a part.
    """
    for other in others if report else ():
        there = at_sizes(k, k.parameters | other)
        rows, columns, depth = ladder.STEPS[k.step].tile(there.parameters)
        down, across = (min(side, 4) for side in ladder.STEPS[k.step].block(there.parameters))
        for finding in wrong_at(there, ((down + 2) * rows + 1, (across + 2) * columns + 1, 2 * depth + 1)):
            return replace(report, findings=(wrong_at_other_sizes(k.parameters, there.parameters, finding),))
    return report
