"""Page 03, exercise 2: a kernel for C = A @ B.T, judged by the addresses that its threads touch, and by its numbers."""

import numpy as np

from kernel_judge import Report, wrong_elements

from ..instruments import Trace, trace
from ..launch import Kernel, KernelError, draw
from ..sandbox import SECONDS, Finding, Job, in_child, oclgrind_findings
from .rules import lines_of, misses

SHAPES = [(5, 7, 3), (9, 9, 14), (1, 1, 1), (17, 31, 23), (1, 1, 301), (1, 301, 2)]
LOOKED_AT = 5, 5, 7  # M, N, K; there most wrong addresses stay inside the arrays, so that they can be told
ELSEWHERE = "for C[{row}, {col}] at {shape} it reads {name} at the positions {given}; it should read {wanted}"


def judge_transposed(k: Kernel) -> Report:
    """Judge an OpenCL kernel for C = A @ B.T, with B stored as N rows of K: what each thread touches, then C.

    `check` knows A @ B only. Returns a `Report`, true when right. Addresses explain wrong numbers; where the numbers
    are right, they may still miss the idea.
    """
    try:
        seen = trace(k, *LOOKED_AT)
    except (KernelError, ValueError):  # an address outside; Oclgrind names its line below
        seen = None
    if seen and not len(seen.accesses):
        return Report(k.title, (Finding("not yet", "not_yet_nothing_stored"),), k.source)
    stray = misread(seen) if seen else ()
    report = Report(k.title, tuple(wrong_numbers(k)), k.source)
    if report:
        return misses(report, *stray)
    return Report(k.title, stray or report.findings, k.source)


def wrong_numbers(k: Kernel) -> list[Finding]:
    """What is wrong with C, or what a child under Oclgrind saw that multiplies at all of the shapes."""
    operands = [draw(*shape) for shape in SHAPES]
    outcome = in_child(k, products, SECONDS, {}, operands=operands)
    found = oclgrind_findings(outcome.log, k.source) or outcome.findings
    for (A, B), C in zip(operands, outcome.value or (), strict=False):
        if not found and wrong_elements(C, A, B.reshape(B.shape[::-1]).T).any():
            shape = f"{C.shape[0]} x {C.shape[1]} x {len(B)} (M x N x K)"
            text = "numbers of C are not right, for example at {shape}"
            found = [Finding("wrong numbers", text, values={"shape": shape})]
    return found


def products(job: Job, operands: list) -> list[np.ndarray]:
    """In the child: C of each launch."""
    k, found = job.build(), []
    for A, B in operands:
        work = k.upload(A, B)
        work.launch()
        found.append(work.download())
    return found


def misread(seen: Trace) -> tuple:
    """The first element of C = A @ B.T whose thread reads something else, as a `Finding`; () if none does."""
    _, N, K = LOOKED_AT
    for store in seen.where(array="C", writes=True):
        row, col = divmod(store["index"].item(), N)
        mine = seen.where(block=store["block"], thread=store["thread"], writes=False)
        for name, first in (("A", row * K), ("B", col * K)):
            loads = mine[mine["array"] == name]
            given, wanted = sorted(loads["index"].tolist()), list(range(first, first + K))
            if given != wanted:
                kind = "too many loads" if {*wanted} <= {*given} else "wrong index"
                values = {"row": row, "col": col, "shape": f"{' x '.join(map(str, LOOKED_AT))} (M x N x K)"}
                values |= {"name": name, "given": str(given), "wanted": str(wanted)}
                return (Finding(kind, ELSEWHERE, lines_of(loads), values),)
    return ()
