"""Pages 02 to 06, 14 and 17: a kernel may load no more than the rung that it is launched like."""

import numpy as np

from kernel_judge import Finding, Report

from .. import ladder
from ..instruments import predicted_traffic, trace
from ..launch import Kernel, dialect
from .rules import judged

MORE = "{loads} from {memory} at {shape}, where {least} do"
APART = "neighbours in x do not read {name} together; {pieces} pieces of 16 bytes, where {least} do"


def check_loads(k: Kernel, M: int = 16, N: int = 16, K: int = 16) -> Report:
    """Check a kernel, then count what it loads: no more than the rung that it is launched like. Returns a `Report`.

    It counts at M, N, K and where each side is one shorter, since whole tiles hide what is loaded in place of zeros.
    Neighbours in x shall read neighbours where they do in that rung. Raises ValueError for what is no shape.
    """
    return judged(k, lambda k: more_than_its_rung(k, M, N, K))


def more_than_its_rung(k: Kernel, M: int, N: int, K: int) -> list[Finding]:
    """What the kernel loads that its rung does not, or loads in more pieces."""
    shorter = [max(1, side - 1) for side in (M, N, K)]
    return loads_too_much(k, M, N, K) or reads_apart(k) or loads_too_much(k, *shorter)


def loads_too_much(k: Kernel, M: int, N: int, K: int) -> list[Finding]:
    """The memories it loads more from than its rung."""
    loads = trace(k, M, N, K).where(writes=False)  # as the source has them; a compiler may take some away
    most = predicted_traffic(k, M, N, K)
    if not ladder.STEPS[k.step].reuse:  # to sum in C itself costs time, and no idea
        loads = loads[loads["array"] != "C"]
    found = []
    for memory, needed in (("global", most.global_loads), ("shared", most.shared_loads)):
        mine = np.count_nonzero(loads["memory"] == memory)
        if mine > needed:
            values = {"loads": f"{mine:,}", "least": f"{needed:,}", "memory": Finding("", f"{memory}_memory")}
            found.append(Finding("too many loads", MORE, values=values | {"shape": f"{M} x {N} x {K}"}))
    return found


def reads_apart(k: Kernel) -> list[Finding]:
    """The matrix that neighbours in x read further apart than the rung's, counted in pieces of 4 numbers."""
    rung = dialect(k.dialect).build(k.step, k.device if k.dialect == "OpenCL" else None, **k.parameters)
    for name in "AB":
        mine, most = pieces(k, name), pieces(rung, name)
        if mine > most:
            return [Finding("not coalesced", APART, values={"name": name, "pieces": mine, "least": most})]
    return []


def pieces(k: Kernel, name: str) -> int:
    """The pieces of 4 numbers that all rows of threads touch in that matrix, in a product of one tile."""
    a = trace(k, *ladder.STEPS[k.step].tile(k.parameters)).where(array=name, writes=False)
    rows = a["line"], a["block"], a["round"], a["thread"] // k.block[0], a["index"] // 4
    return len(np.unique(np.column_stack(rows), axis=0))
