"""Pages 03 to 06: a kernel may load no more than the rung that it is launched like."""

from dataclasses import replace

import numpy as np

from .. import ladder
from ..instruments import trace
from ..instruments.accesses import grouped
from ..instruments.loads import predicted_traffic
from ..instruments.traces import Trace
from ..judge.reference import launched, wrong_elements
from ..judge.report import Report
from ..launch import DIALECTS, Kernel, KernelError, draw
from ..sandbox import Finding
from .rules import misses, right


def check_loads(k: Kernel, M: int = 16, N: int = 16, K: int = 16) -> Report:
    """Check a kernel, then count what it loads: no more than the rung that it is launched like. Returns a `Report`.

    It counts at M, N, K and where each side is one shorter, since whole tiles hide what is loaded in place of zeros.
    Neighbours in x shall read neighbours where they do in that rung, and no number may be staged that belongs to
    another row of A. It has to be right at the shape that is counted, too: one that leaves its products out there
    loads little.
    """
    report = right(k, (M, N, K), "its loads are counted")
    if not report:
        return report
    shorter = [max(1, side - 1) for side in (M, N, K)]
    try:
        findings, at_edges = loads_too_much(k, M, N, K), loads_too_much(k, *shorter)
    except (KernelError, ValueError) as error:
        return replace(report, not_looked_for=(*report.not_looked_for, f"how much it loads: {error}"))
    if findings := findings or reads_apart(k):
        return misses(report, *findings)
    if spoilt := takes_anothers_row(k):
        return replace(report, findings=tuple(spoilt))
    return misses(report, *at_edges)


def loads_too_much(k: Kernel, M: int, N: int, K: int) -> list[Finding]:
    """The memories from which it loads more than the rung that it is launched like, in that product.

    Raises ValueError or KernelError where nothing can follow it.
    """
    seen = trace(k, M, N, K)  # as the source has them; a compiler may take some away
    loads, most = seen.where(writes=False), predicted_traffic(k, M, N, K)
    # To sum in C itself costs time, and no idea.
    counts = loads["array"] != ("" if ladder.STEPS[k.step].reuse else "C")
    mine = {memory: int((counts & (loads["memory"] == memory)).sum()) for memory in ("global", "shared")}
    most = {"global": most.global_loads, "shared": most.shared_loads}
    return [
        Finding("too many loads", f"{mine[memory]:,} from {memory} memory at {M} x {N} x {K}, where {needed:,} do")
        for memory, needed in most.items()
        if mine[memory] > needed
    ]


def reads_apart(k: Kernel) -> list[Finding]:
    """Threads beside each other in x that read A or B further apart than those of the rung that k is launched like.

    Counted in stretches of 4 numbers, which a row of threads touches with one instruction.
    """
    rung = DIALECTS[k.dialect].build(k.step, k.device if k.dialect == "OpenCL" else None, **k.parameters)
    rows, columns, depth = ladder.STEPS[k.step].tile(k.parameters)
    mine, most = (stretches(trace(one, rows, columns, depth), k.block[0]) for one in (k, rung))
    for name, length in zip("AB", (depth, columns), strict=True):
        if mine[name][0] > most[name][0]:
            first, second = (divmod(index, length) for index in mine[name][1])
            text = f"neighbours in x do not read {name} together"
            if first != second:
                text = f"of two threads beside each other in x, one reads {name}[{first[0]}, {first[1]}]"
                text += f" and the other {name}[{second[0]}, {second[1]}]"
            return [Finding("not coalesced", f"{text}; {mine[name][0]} pieces of 16 bytes, where {most[name][0]} do")]
    return []


def stretches(seen: Trace, across: int) -> dict[str, tuple]:
    """{matrix: (pieces of 4 numbers that all rows of threads touch there, the indices of two neighbours)}."""
    found = {}
    for name in "AB":
        a = seen.where(array=name, writes=False)
        row = grouped(a["line"], *a["block"].T, a["round"], a["thread"] // across)
        pieces = len(np.unique(grouped(row, a["index"] // 4)))
        order = np.lexsort((a["thread"], row))
        a, row = a[order], row[order]
        beside = (np.diff(row) == 0) & (np.diff(a["thread"]) == 1)
        apart = np.flatnonzero(beside & (np.abs(np.diff(a["index"])) > 1))[:1]
        found[name] = pieces, a["index"][[*apart, *apart + 1]].tolist() or (0, 0)
    return found


def takes_anothers_row(k: Kernel) -> list[Finding]:
    """A row of C that is spoilt where the next row of A is infinite: it stages numbers of that row, times zero.

    Only OpenCL's arrays have no ends of rows that a guard for memory alone could miss.
    """
    rows, columns, depth = ladder.STEPS[k.step].tile(k.parameters)
    if k.dialect != "OpenCL" or rows < 2:
        return []
    A, B = draw(2, columns, depth + 1)
    A[1] = np.inf
    C = launched(k, A, B)
    if not wrong_elements(C[:1], A[:1], B).any():
        return []
    text = (
        f"with numbers in row 0 of A, and inf in row 1, row 0 of C is no number (K = {depth + 1}): beyond the end of "
        f"row 0 it takes row 1, times zero, and 0 * inf is no number. The guard of A asks for a column below K"
    )
    return [Finding("another row", text)]
