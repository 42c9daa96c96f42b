"""Judges a part of `vectorized` that reads its tiles with wide loads, where the tile of A is not turned."""

from ..instruments import bank_conflicts
from ..launch import Kernel, cuda_kernel
from ..launch.given import takes
from ..sandbox import Finding
from .checking import check
from .parts import with_part
from .report import Report
from .touched import answered, misses


@takes
def unturned(text: str, **parameters: int) -> Kernel:
    """The CUDA kernel `vectorized` with its tile of A as it stands in A, and a learner's part 3, the products.

    As has BM rows and BK columns there, and `a_reg` room for four numbers of each of a thread's rows.
    """
    source = with_part("CUDA", "vectorized", 3, text)
    source = source.replace("(BK, WIDE)", "(BM, BK)").replace("local.array(TM,", "local.array((TM, 4),")
    for n in ("", " + 1", " + 2", " + 3"):
        source = source.replace(f"As[c{n}, r]", f"As[r, c{n}]")
    return cuda_kernel(source, like="vectorized", **parameters)


@takes
def judge_wide(k: Kernel) -> Report:
    """Check a kernel launched like `vectorized`, then count its loads from As and Bs: four numbers with each."""
    report = answered(k, check(k))
    if not report:
        return report
    rows, columns, depth = (k.parameters[name] for name in ("BM", "BN", "BK"))
    seen = bank_conflicts(k, rows, columns, depth).rows
    warps = -(-k.block[0] * k.block[1] // 32)
    for name, side in (("As", k.parameters["TM"]), ("Bs", k.parameters["TN"])):
        loads, most = sum(row.instructions for row in seen if row.what == f"load {name}"), warps * depth * side // 4
        if loads > most:
            said = f"a warp asks {loads // warps} times for numbers of {name}, where {most // warps} wide loads do"
            return misses(report, Finding("not wide", said))
    return report
