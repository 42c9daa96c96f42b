"""Page 10: does a kernel ask for the next tile before it needs it, and for the right one? What it is written in."""

from dataclasses import replace
from itertools import islice, pairwise

import numpy as np

from ..instruments import trace
from ..instruments.traces import Trace
from ..judge.reference import wrong_elements
from ..judge.report import Report
from ..judge.trials import launched_there
from ..launch import Kernel, cuda_kernel, draw
from ..launch.kernel import parameters_like
from ..sandbox import Finding
from .parts import with_part
from .rules import BY_NUMBERS, judged, lines_of, right, traced

TILES = 3  # of K: the first is asked for before the loop, so two are left to ask for early


ASK = "a_next, b_next = four(A, row0 + r, k0 + c), four(B, k0 + rb, col0 + cb)"
STORE_AND_ASK = f"""
As[c, r], As[c + 1, r], As[c + 2, r], As[c + 3, r] = a_next
store4(Bs, rb, cb, b_next)
cuda.syncthreads()
k0 += BK
{ASK}
"""
ONE_FOUR = "assert BM == BN and BM * BK == 4 * THREADS"  # in the source, so that `check` tries no other sizes
PLACES = "r, c, rb, cb = thread // 2, thread % 2 * 4, thread // (BN // 4), thread % (BN // 4) * 4"


def asked_early(**parameters: int) -> Kernel:
    """The CUDA kernel `vectorized`, changed so that each thread asks for its fours of the next tile early.

    Each thread brings one four of A and one of B: BM == BN, BM * BK == 4 * threads a block. Else KernelError is raised.
    """
    source = with_part("CUDA", "vectorized", (1, 2), STORE_AND_ASK)
    source = source.replace("        k0 = 0\n", f"        k0 = 0\n        {PLACES}\n        {ASK}\n")
    source = source.replace("            k0 += BK\n\n", "\n")  # it stands above the products now
    source = source.replace("    @cuda.jit\n    def kernel", f"    {ONE_FOUR}\n\n    @cuda.jit\n    def kernel")
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


def judge_prefetching(k: Kernel) -> Report:
    """Check a kernel launched like `tiled`, then judge when it asks, stores and reads. Returns a `Report`.

    Three tiles of K: each number is asked for once, one barrier a tile, and a whole other tile is read between asking
    for a tile and storing it. Where the numbers are wrong, the order of what it asks for may say why.
    """
    tile = parameters_like(k, "tiled")["TILE"]
    shape = tile, tile, TILES * tile
    report = right(k, shape, "its order is looked at")
    if not report:
        cause = asks_for_others(k, shape) if report.findings[0].kind in BY_NUMBERS else ()
        return replace(report, findings=cause or report.findings)
    return judged(k, report, first_that_waits)


def first_that_waits(k: Kernel) -> list[Finding]:
    """What the first of its threads that is late does not do early."""
    tile = k.parameters["TILE"]
    seen = trace(k, tile, tile, TILES * tile)
    found = (waits(seen.where(thread=thread), tile) for thread in range(tile * tile))
    return [*islice(filter(None, found), 1)]


def waits(a: np.ndarray, tile: int) -> Finding | None:
    """What a thread with these accesses, of three tiles of K, does not do early; None if it does it all."""
    stores = np.flatnonzero((a["memory"] == "shared") & a["writes"])[2::2]  # of the second tile and the third
    if len(stores) < TILES - 1:
        return Finding("waits", "a thread stores fewer than two numbers a tile, so it asks for none early")
    for name in "AB":
        asked = a[a["array"] == name]
        if len(asked) > TILES:
            text = f"a thread reads {len(asked)} numbers of {name} for {TILES} tiles; it needs {TILES}"
            return Finding("asks twice", text, lines_of(asked))
    barriers = len(set(a["phase"].tolist())) - 1
    if barriers > TILES:
        return Finding("barriers", f"{barriers} for {TILES} tiles; one a tile is enough")
    for name in "AB":
        for asked, stored in zip(np.flatnonzero(a["array"] == name)[1:], stores, strict=False):
            read = int((a[asked:stored]["memory"] == "shared").sum())
            if read < 2 * tile:
                text = f"{read} reads between asking for {name} and storing it; {2 * tile} are there to do"
                return Finding("waits", text, lines_of(a[[asked, stored]]))
    return None


def asks_for_others(k: Kernel, shape: tuple) -> tuple:
    """Why the numbers are wrong, as far as what the first thread asks for explains them: one `Finding`, or none."""
    _, N, K = shape
    tile = K // TILES
    seen = traced(k, *shape)
    if seen is None:
        return ()
    if found := asks_too_soon(k, seen):
        return (found,)
    mine = seen.where(thread=0, writes=False)
    asks = {name: mine[mine["array"] == name] for name in "AB"}
    tiles = {"A": asks["A"]["index"] % K // tile, "B": asks["B"]["index"] // N // tile}
    order = {name: [n for n in found.tolist() if n < TILES][:TILES] for name, found in tiles.items()}
    A, B = draw(*shape)
    outcome = launched_there(k, [(A, B)])
    if not outcome.value or all(found == list(range(TILES)) for found in order.values()):
        return ()
    pairs = list(zip(order["A"], order["B"], strict=False))
    taken_A = np.hstack([A[:, a * tile : (a + 1) * tile] for a, _ in pairs] or [A[:, :0]])
    taken_B = np.vstack([B[b * tile : (b + 1) * tile] for _, b in pairs] or [B[:0]])
    if wrong_elements(outcome.value[0], taken_A, taken_B).any():
        return ()
    name = next(name for name in "AB" if order[name] != list(range(TILES)))
    twice, missing = len(set(order[name])) < len(order[name]), set(range(TILES)) - set(order[name])
    what = "one K-tile twice, one missing" if twice and missing else "one K-tile twice" if twice else "one missing"
    asked = ", ".join(map(str, order[name]))
    text = f"it asks for the K-tiles {asked} of {name}: {what}. Where does the next tile begin?"
    return (Finding("wrong tile", text, lines_of(asks[name][1:])),)


def asks_too_soon(k: Kernel, seen: Trace) -> Finding | None:
    """The first thread asks for a number of A or B before it has stored the last one, which is then lost; or None."""
    mine = seen.where(thread=0)
    for name in "AB":
        asked = np.flatnonzero(mine["array"] == name)
        for first, second in pairwise(asked):
            between = mine[first:second]
            if not ((between["memory"] == "shared") & between["writes"]).any():
                text = f"it asks for the next number of {name} before it has stored the last one, which is lost"
                return Finding("asks too soon", text, lines_of(mine[[second]]))
    return None
