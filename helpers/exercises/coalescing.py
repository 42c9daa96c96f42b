"""Page 03, exercise 2: a kernel for C = A @ B.T, judged by the addresses that its threads touch."""

import re
from dataclasses import replace

import numpy as np

from ..instruments import trace
from ..instruments.accesses import grouped
from ..judge.reference import drawn_for, wrong_elements
from ..judge.report import Report
from ..judge.trials import launched_there
from ..launch import Kernel, KernelError
from ..sandbox import SECONDS, Finding, oclgrind_findings
from .rules import lines_of, misses, traced


def judge_transposed(k: Kernel) -> Report:
    """Judge a kernel for C = A @ B.T, with B stored as N rows of K: the addresses that each thread touches, then C.

    `check` knows A @ B only. Returns a `Report`, true when right. Addresses explain wrong numbers; where the numbers
    are right, they may still miss the idea.
    """
    seen = traced(k, 5, 5, 7), traced(k, 5, 7, 3)
    if all(one is not None and not len(one.accesses) for one in seen):
        return Report(str(k), (Finding("not yet", "No element of C is ever written."),), 1, k.source)
    # In the first one, most wrong formulas stay inside the arrays, so that what they touch can be told.
    stray = misread(k, 5, 5, 7) or misread(k, 5, 7, 3)
    far = FAR if k.dialect == "OpenCL" else []  # Python's whole numbers have no end
    for shapes, limit in ((SHAPES, SECONDS), (LONG, QUICK_SECONDS), (far, QUICK_SECONDS)):
        operands = [drawn_for(k, shape, 1) for shape in shapes]  # none special, and those of a long sum by `late`
        outcome = launched_there(k, operands, limit, {})
        wrong = oclgrind_findings(outcome.log, k.source)
        for (A, B), C in zip(operands, outcome.value or (), strict=False):
            if not wrong and wrong_elements(C, A, B.reshape(B.shape[::-1]).T).any():
                at = f"{C.shape[0]} x {C.shape[1]} x {len(B)} (M x N x K)"
                wrong = [Finding("wrong numbers", f"numbers of C are not right, for example at {at}")]
        wrong = wrong or outcome.findings
        if wrong:
            break
    if shapes is LONG and [finding.kind for finding in wrong] == ["hang"]:
        text = "right where M, N and K are up to 101, and never done where they are 300: can its counters hold 300?"
        wrong = [Finding("hang", text)]
    report = Report(str(k), tuple(wrong), len(SHAPES + LONG + far), k.source)
    if stray and report:
        return misses(report, stray)
    return replace(report, findings=(stray,)) if stray else report


SHAPES = [(5, 7, 3), (1, 1, 1), (17, 31, 23), (1, 1, 101)]
LONG = [(2, 1, 300), (1, 300, 2), (300, 1, 2)]  # longer than a counter of 8 bits counts
# A row, and positions in A, B and C, that 16 bits do not hold.
FAR = [(1, 1, 66_000), (300, 1, 221), (1, 300, 221), (260, 260, 1)]
QUICK_SECONDS = 5  # of computing: several times what a right kernel takes for the long ones, or for the far ones


def misread(k: Kernel, M: int, N: int, K: int) -> Finding | None:
    """The first element of C = A @ B.T whose thread reads or stores elsewhere, as a `Finding`; None if none does."""
    try:
        touched = trace(k, M, N, K).accesses
    except (KernelError, ValueError) as error:
        if at := re.search(r"line (\d+) (.*)", str(error)):
            return Finding("out of bounds", f"it {at[2].rstrip('.')}", (int(at[1]),))
        return Finding("error", str(error))
    if not len(touched):
        return Finding("unwritten", f"nothing is read or stored at {M} x {N} x {K} (M x N x K)")
    number = grouped(*touched["block"].T, touched["thread"])
    threads = [touched[number == n] for n in np.unique(number)]
    loads = [{name: a[(a["array"] == name) & ~a["writes"]] for name in "AB"} for a in threads]
    sums = [tuple(whole_row(a["index"].tolist(), K) for a in mine.values()) for mine in loads]
    all_there = set(sums) == set(np.ndindex(M, N))  # then it is the store
    for a, mine, (row, col) in zip(threads, loads, sums, strict=True):
        stores = a[a["writes"]]
        places = set(stores["index"].tolist())
        if all_there and places != {row * N + col}:
            where = f"stored at {min(places)} of C" if places else "stored nowhere"
            text = f"the sum of row {row} of A and row {col} of B is {where}; it belongs at {row * N + col}"
            return Finding("wrong index", f"{text}, which is C[{row}, {col}]", lines_of(stores))
        for place in () if all_there else places:
            row, col = divmod(place, N)
            for (name, at), first in zip(mine.items(), (row * K, col * K), strict=True):
                given, wanted = sorted(at["index"].tolist()), list(range(first, first + K))
                if given != wanted:
                    kind = "too many loads" if set(wanted) <= set(given) else "wrong index"
                    place = f"for C[{row}, {col}] at {M} x {N} x {K} (M x N x K)"
                    text = f"{place} it reads {name} at the positions {given}; it should read {wanted}"
                    return Finding(kind, text, lines_of(at))
    return None


def whole_row(positions: list[int], K: int) -> int | None:
    """The number of the row whose K positions these are, each once, such as 2 for [6, 7, 8] and K = 3; None if none."""
    row = min(positions, default=0) // K
    return row if sorted(positions) == list(range(row * K, (row + 1) * K)) else None
