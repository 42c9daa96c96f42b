"""Page 10: does a kernel ask for the next tile before it needs it? And what it is written in."""

from itertools import groupby
from textwrap import indent

import numpy as np

from kernel_judge import Finding, Report

from .. import ladder
from ..instruments import trace
from ..language import said
from ..launch import Kernel, KernelError
from ..launch.on_cuda import cuda_kernel
from .rules import judged, more_than_its_rung, part_of, with_part

TILES = 3  # of K: the first is asked for before the loop, so two are left to ask for early
ASK = "fetch(A, B, row0, col0, k0, thread, a_new, b_new)\n"
BARRIERS = "{barriers} for {tiles} tiles; one a tile is enough"
EARLY = "{reads} reads between asking for {name} and storing it; {most} are there to do"


def asked_early(before: str, after: str, **parameters: int) -> Kernel:
    """The CUDA kernel `vectorized` that asks for its first tile above the loop, a learner's lines around the sums."""
    source = cuda_kernel("vectorized").source.replace(f"            {ASK}", "")
    for part, mine in (2, before), (4, after):
        barrier = next(line for line in source.splitlines() if part_of(line) == part)
        source = source.replace(barrier, indent(mine.strip("\n"), 12 * " "))
    source = source.replace("        k0 = 0\n", f"        k0 = 0\n        {ASK}")
    return cuda_kernel(source, like="vectorized", **parameters)


def double_buffered(text: str, TILE: int = 4) -> Kernel:
    """The CUDA kernel `tiled` with a learner's body of its loop over k0, and what that needs above the loop.

    As and Bs have 2 * TILE rows; `now` is 0; a_next and b_next are the thread's numbers of the first tile.
    """
    source = with_part("CUDA", "tiled", (1, 4), text).replace("(TILE, TILE), float32)", "(DEEP, TILE), float32)")
    source = source.replace("    @cuda.jit", "    DEEP = 2 * TILE\n\n    @cuda.jit")
    first = """acc, now = float32(0), 0
        a_next = A[row, tx] if row < M and tx < K else float32(0)
        b_next = B[ty, col] if ty < K and col < N else float32(0)"""
    return cuda_kernel(source.replace("acc = float32(0)", first), like="tiled", TILE=TILE)


def print_order(k: Kernel, M: int, N: int, K: int) -> None:
    """Print in what order the first thread asks for numbers, stores them in tiles and reads these: a line a barrier."""
    try:
        mine = trace(k, M, N, K).where(block=(0, 0, 0), thread=0, part=0)
    except KernelError:
        return print(said("{kernel}: its order cannot be shown, for the reason above", kernel=k.step))
    mine = mine[mine["array"] != "C"]
    print(said("{kernel}, thread 0; each line ends at a barrier", kernel=k.step))
    before = ""
    does = np.where(mine["writes"], "store {count}", "read {count}")
    does[mine["memory"] == "global"] = "ask {count}"
    for _, between in groupby(zip(mine["phase"].tolist(), does.tolist(), strict=True), key=lambda one: one[0]):
        parts = []
        for what, same in groupby(what for _, what in between):
            if what == "store {count}" and before == "ask {count}":
                parts.append(said("wait"))
            parts.append(said(what, count=len(list(same))))
            before = what
        print("  " + ", ".join(parts))


def judge_early(k: Kernel) -> Report:
    """Check a kernel, what it loads, and that it reads a whole tile between asking for one and storing it."""
    return judged(k, lambda k: more_than_its_rung(k, *shape(k)), late)


def judge_prefetching(k: Kernel) -> Report:
    """The same, and that it has one barrier a tile."""
    return judged(k, lambda k: more_than_its_rung(k, *shape(k)), late, crowded)


def shape(k: Kernel) -> tuple[int, int, int]:
    """M, N and K of a product of one block and three tiles."""
    rows, columns, depth = ladder.STEPS[k.step].tile(k.parameters)
    return rows, columns, TILES * depth


def late(k: Kernel) -> list[Finding]:
    """What the first of its threads that is late does not do early."""
    seen, threads = trace(k, *shape(k)), range(k.block[0] * k.block[1])
    return next((found for thread in threads if (found := waits(seen.where(thread=thread, part=0)))), [])


def crowded(k: Kernel) -> list[Finding]:
    """The barriers of three tiles of K, where they are more than three."""
    barriers = len({*trace(k, *shape(k)).where(thread=0)["phase"].tolist()}) - 1
    return [Finding("barriers", BARRIERS, values={"barriers": barriers, "tiles": TILES})] if barriers > TILES else []


def waits(a: np.ndarray) -> list[Finding]:
    """What a thread with these accesses, of three tiles of K, does not do early; [] if it does it all."""
    shared = a["memory"] == "shared"
    stores, reads = np.flatnonzero(shared & a["writes"]), shared & ~a["writes"]
    stored_each, most = len(stores) // TILES, np.count_nonzero(reads) // TILES
    for name in "AB":
        asks = np.flatnonzero(a["array"] == name)
        each = np.count_nonzero(asks < stores[0])  # of one tile; those of the second and third follow
        for asked, stored in zip(asks[each::each], stores[stored_each::stored_each], strict=False):
            if (read := np.count_nonzero(reads[asked:stored])) < most:
                lines = tuple(sorted({*a["line"][[asked, stored]].tolist()} - {0}))
                return [Finding("waits", EARLY, lines, {"reads": read, "name": name, "most": most})]
    return []
