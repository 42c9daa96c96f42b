"""Page 12, exercise 3: B packed into panels of any width; the number that fills all lanes of a vector is named."""

import re
from dataclasses import replace

import numpy as np

from .. import ladder
from ..judge.reference import wrong_elements
from ..judge.report import Report
from ..judge.trials import launched_there
from ..launch import Kernel, draw
from ..sandbox import Finding
from .rules import NOTHING, right, right_with

# Several panels of 4, 16 and 8 columns, of one vector or two, each used by several patches; the last copies A, too.
OTHERS = (
    dict(BM=4, BN=8, BK=4, TM=2, TN=1, VW=4),
    dict(BM=4, BN=32, BK=8, TM=2, TN=2, VW=8),
    dict(BM=4, BN=32, BK=8, TM=2, TN=1, VW=8),
)


def judge_packing(k: Kernel) -> Report:
    """Check a kernel launched like `packed`, also with panels of other widths. Returns a `Report`, true when right."""
    report = right_with(k, right(k), *OTHERS)
    if report or report.findings[0].kind in (*NOTHING, "does not compile"):
        return report
    rows, columns, depth = ladder.STEPS[k.step].tile(k.parameters)
    A, B = draw(rows, columns, depth)  # all panels are full
    width = k.parameters["VW"]
    first = np.arange(columns) // width * width
    outcome = launched_there(k, [(A, B)])
    if not outcome.value or wrong_elements(outcome.value[0], A, B[:, first]).any():
        return report
    lines = [n for n, line in enumerate(k.source.splitlines(), 1) if re.search(r"\bBs\s*\[.*[^=!<>]=[^=]", line + " ")]
    text = f"C[0, 1] to C[0, {width - 1}] hold the sum for C[0, 0]: a vector of Bs is made from one number of B"
    return replace(report, findings=(Finding("one number in all lanes", text, tuple(lines)),))
