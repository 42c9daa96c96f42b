"""Page 09: does a kernel load four numbers at a time? And a `tiled` that transposes its own tile."""

from kernel_judge import Finding, Report

from ..instruments import bank_conflicts, cells, trace
from ..launch import Kernel
from ..launch.on_cuda import cuda_kernel
from .rules import judged, more_than_its_rung, with_part

CONFLICTS = "with TILE = {tile} the stores to As take {lost} wavefronts too many"
NARROW = "a warp asks {loads} times for numbers of {name}, where {least} wide loads do"


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
            values = {"loads": loads // warps, "name": name, "least": most // warps}
            return [Finding("not wide", NARROW, values=values)]
    return []


def transposed(text: str, pad: int, TILE: int = 4) -> Kernel:
    """The CUDA kernel `tiled` with a learner's parts 1 to 3, and `pad` words behind each row of its As."""
    source = with_part("CUDA", "tiled", (1, 3), text).replace("((TILE, TILE)", "((TILE, LONG)", 1)
    source = source.replace("    @cuda.jit", f"    LONG = TILE + {pad}\n\n    @cuda.jit", 1)
    return cuda_kernel(source, like="tiled", TILE=TILE)


def judge_transposed(k: Kernel, large: Kernel) -> Report:
    """Check a kernel that `transposed` has built, what it loads, and its tile: A[row, k] in As[k, row].

    `large`: the same with a larger tile, whose padding shall leave no conflict in the stores to As.
    """
    tile = k.parameters["TILE"]
    return judged(k, lambda k: more_than_its_rung(k, tile, tile, tile), not_transposed, lambda _: conflicts(large))


def conflicts(k: Kernel) -> list[Finding]:
    """The wavefronts that bank conflicts add to the stores to As, in a product of one tile."""
    tile = k.parameters["TILE"]
    for row in bank_conflicts(k, tile, tile, tile).rows:
        if row.what == "store As" and row.pieces > row.fewest:
            return [Finding("bank conflicts", CONFLICTS, values={"tile": tile, "lost": row.pieces - row.fewest})]
    return []


def not_transposed(k: Kernel) -> list[Finding]:
    """A number of A that is not at the transposed place in As, if K is one tile."""
    tile = k.parameters["TILE"]
    seen = trace(k, tile, tile, tile)
    loads, stores = seen.where(array="A", writes=False), seen.where(array="As", writes=True)
    read = dict(zip(loads["thread"].tolist(), cells(loads, tile), strict=True))
    for thread, place in zip(stores["thread"].tolist(), cells(stores, seen.shapes["As"][1]), strict=True):
        row, col = read.get(thread, (-1, -1))
        if place != (col, row):
            values = {"read": f"A[{row}, {col}]", "stored": f"As[{place[0]}, {place[1]}]"}
            return [Finding("not transposed", "the thread that reads {read} stores at {stored}", values=values)]
    return []
