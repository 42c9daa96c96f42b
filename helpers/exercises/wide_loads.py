"""Page 09: a part of `vectorized` with wide loads from a tile that is not turned; and a `tiled` that turns its own."""

import re

from ..instruments import bank_conflicts, trace
from ..judge.report import Report
from ..launch import Kernel, cuda_kernel
from ..launch.kernel import parameters_like
from ..sandbox import Finding
from .loads import check_loads
from .parts import with_part
from .rules import judged, right

PADDING = re.compile(r"(?<=LONG = TILE \+ )\d+")  # words behind each row of As
COUNTED = 16  # the TILE at which conflicts are counted: a padding of one word is not enough there


def unturned(text: str, **parameters: int) -> Kernel:
    """The CUDA kernel `vectorized` with its tile of A as it stands in A, and a learner's part 3, the products.

    As has BM rows and BK columns there, and `a_reg` room for four numbers of each of a thread's rows.
    """
    source = with_part("CUDA", "vectorized", 3, text)
    source = source.replace("(BK, WIDE)", "(BM, BK)").replace("local.array(TM,", "local.array((TM, 4),")
    for n in ("", " + 1", " + 2", " + 3"):
        source = source.replace(f"As[c{n}, r]", f"As[r, c{n}]")
    return cuda_kernel(source, like="vectorized", **parameters)


def judge_wide(k: Kernel) -> Report:
    """Check a kernel launched like `vectorized`, then count its loads from As and Bs: four numbers with each."""
    return judged(k, right(k), not_wide)


def not_wide(k: Kernel) -> list[Finding]:
    """The tile from which a warp loads more often than once for four numbers, of one tile of K."""
    rows, columns, depth = (k.parameters[name] for name in ("BM", "BN", "BK"))
    seen = bank_conflicts(k, rows, columns, depth).rows
    warps = -(-k.block[0] * k.block[1] // 32)
    for name, side in (("As", k.parameters["TM"]), ("Bs", k.parameters["TN"])):
        loads, most = sum(row.instructions for row in seen if row.what == f"load {name}"), warps * depth * side // 4
        if loads > most:
            said = f"a warp asks {loads // warps} times for numbers of {name}, where {most // warps} wide loads do"
            return [Finding("not wide", said)]
    return []


def turned(text: str, pad: int, TILE: int = 4) -> Kernel:
    """The CUDA kernel `tiled` with a learner's parts 1 to 3, and `pad` words behind each row of its As."""
    source = with_part("CUDA", "tiled", (1, 3), text).replace("((TILE, TILE)", "((TILE, LONG)", 1)
    source = source.replace("    @cuda.jit", f"    LONG = TILE + {pad}\n\n    @cuda.jit", 1)
    return cuda_kernel(source, like="tiled", TILE=TILE)


def judge_turned(k: Kernel) -> Report:
    """Check a kernel launched like `tiled`, then its tiles: A[row, k] in As[k, row], but B[k, col] in Bs[k, col].

    Of a kernel that `turned` has built it judges the padding, too: the smallest without a conflict in the stores to As.
    """
    tile = parameters_like(k, "tiled")["TILE"]
    report = judged(k, check_loads(k, tile, tile, tile), not_turned)
    return judged(k, report, not_smallest) if PADDING.search(k.source) else report


def not_smallest(k: Kernel) -> list[Finding]:
    """A padding with which the stores to As have bank conflicts at TILE = 16, or which is larger than one without."""
    pad = int(PADDING.search(k.source)[0])
    for less in range(pad + 1):
        there = cuda_kernel(PADDING.sub(str(less), k.source), like="tiled", TILE=COUNTED)
        stores = [row for row in bank_conflicts(there, COUNTED, COUNTED, COUNTED).rows if row.what == "store As"]
        rounds, fewest = sum(row.pieces for row in stores), sum(row.fewest for row in stores)
        if rounds == fewest:
            break
    if rounds > fewest:
        said = f"with PAD = {pad} and TILE = {COUNTED} the stores to As take {rounds} rounds, where {fewest} would do"
        return [Finding("bank conflicts", said)]
    if less < pad:
        said = f"PAD = {pad}: no conflict is left in the stores to As. Is there no smaller padding without one?"
        return [Finding("too much padding", said)]
    return []


def not_turned(k: Kernel) -> list[Finding]:
    """A number of A that is not at the turned place in As, or one of B not at its own in Bs, where K is one tile."""
    tile = k.parameters["TILE"]
    a = trace(k, tile, tile, tile)
    for name in "AB":
        stored = a.where(array=f"{name}s", writes=True)
        if not len(stored):
            return [Finding("not turned", f"nothing is stored in {name}s")]
        for access in stored:
            place = divmod(access["index"].item(), a.shapes[f"{name}s"][1])
            mine = [divmod(n, tile) for n in a.where(array=name, thread=access["thread"])["index"].tolist()]
            if (place[::-1] if name == "A" else place) not in mine:
                what = f"{name}[{mine[0][0]}, {mine[0][1]}]" if mine else f"what its thread has not read from {name}"
                said = f"{what} is stored at {name}s[{place[0]}, {place[1]}]"
                return [Finding("not turned" if name == "A" else "not in place", said)]
    return []
