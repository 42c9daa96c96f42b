"""Page 09: does a kernel load four numbers at a time? And a `tiled` that transposes its own tile."""

from kernel_judge import Finding, Report

from ..instruments import bank_conflicts
from ..launch import Kernel
from .rules import judged

NARROW = "as written, a warp asks {name} {loads} times, where {least} wide loads do; a compiler may merge some"


def judge_wide(k: Kernel) -> Report:
    """Check a kernel launched like `vectorized`, then count its loads from As and Bs: four numbers with each."""
    return judged(k, not_wide)


def not_wide(k: Kernel) -> list[Finding]:
    """The tile from which a warp loads more often than once for four numbers, of one tile of K."""
    rows, columns, depth = (k.parameters[name] for name in ("BM", "BN", "BK"))
    seen = bank_conflicts(k, rows, columns, depth).rows
    warps = -(-k.block[0] * k.block[1] // 32)
    for name, side in (("As", k.parameters["TM"]), ("Bs", k.parameters["TN"])):
        loads, most = sum(row.instructions for row in seen if row.what == f"load {name}"), warps * depth * side // 4
        if loads > most:
            return [Finding("not wide", NARROW, (), {"loads": loads // warps, "name": name, "least": most // warps})]
    return []
