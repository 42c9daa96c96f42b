"""Page 18: a product in Triton, or in cuTile, is right and loads each tile once; experiments tell what is wrong."""

import warnings
from collections.abc import Callable

import numpy as np

from kernel_judge import Finding, Report
from kernel_judge.answers import Answer

from ..checking import check
from ..instruments import run_cutile, run_triton
from .rules import MissesTheIdea

TILE = dict(BM=32, BN=64, BK=16)
WHOLE = (64, 128, 48)  # M, N, K of tiles that are whole, where what is loaded is counted
SHAPES = (WHOLE, (1, 1, 1), (33, 70, 41), (31, 129, 15))
AT = "at {shape}: {text}"
CUT = "at {shape}: {text}. It ran on the matrix units, which cut float32 to TF32; PRECISION tells tl.dot not to"
TURNED = "at {shape}: {text}. Where C has as many tiles down as across it is right: does x count the tiles of a row?"
PAST = "at {shape}: C holds NaN, and none where no tile sticks out of A or B; padding_mode says what such a tile holds"
STAYS = "at {shape}: each turn of the loop multiplies the first tiles along K, so what they are loaded by never moves"
SHORT = "at {shape}: not all tiles along K are in the sums; where does the loop end?"
LAST = "at {shape}: only the last tiles along K are in the sums; each turn of the loop begins them anew"
PLACES = "at {shape}: tiles of C change places; that in row 0, column 1 has what belongs in row 1, column 0"
AGAIN = "at {shape}: earlier tiles count more than once: tl.dot and ct.mma add their third argument, so write `acc =`"
FOREIGN = "`{word}` belongs to the other language; here words begin with `{own}.`"
TWICE = "at {shape}: {text}. Which tile does tl.program_id or ct.bid give each program? Store it once, after the loop"


def judge_product(kernel: Callable) -> Report:
    """Run a learner's Triton product at four shapes, in float32 and on matrix units, and count its loads. A `Report`.

    `kernel`: under `@triton.jit`, of (A, B, C, M, N, K), BM, BN, BK and PRECISION. Raises what `run_triton` raises.
    """
    return judged(kernel, getattr(kernel, "fn", kernel), "tl", run_triton, ("float32", "tf32"))


def judge_tiles(kernel: Callable) -> Report:
    """Run a cuTile product of (A, B, C), BM, BN and BK as `judge_product` does, in float32 and float16. A `Report`."""
    function = getattr(getattr(kernel, "_annotated_function", None), "pyfunc", kernel)
    return judged(kernel, function, "ct", run_cutile, ("float32", "float16"))


def judged(kernel: Callable, function: Callable, own: str, run_kernel: Callable, kinds: tuple) -> Report:
    """The verdict on a kernel, by running it at all shapes in both kinds of numbers. `own`: how its words begin."""
    name, rng = function.__name__, np.random.default_rng()
    for word in {"ct", "tl"}.difference({own}).intersection(function.__code__.co_names):
        return Report(name, (Finding("does not compile", FOREIGN, values={"word": word, "own": own}),))

    def product(A, B):
        return run_kernel(kernel, len(A), B.shape[1], len(B), arrays=(A, B), **TILE).C

    for numbers, (M, N, K) in [(numbers, shape) for numbers in kinds for shape in SHAPES]:
        A, B = rng.uniform(-1, 1, (M, K)), rng.uniform(-1, 1, (K, N))
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # of `and` for &, again for each shape
            run = run_kernel(kernel, M, N, K, numbers, arrays=(A, B), **TILE)
            if not run:
                found, product.__name__ = first_wrong(run, A, B), name
                if (found.kind, found.key) == ("wrong numbers", AT) and not (report := check(product, SHAPES)):
                    return report  # in words, where it finds one in float32
                return Report(name, (found,))
        if (M, N, K) == WHOLE and (more := more_than_needed(run, *WHOLE)):
            return MissesTheIdea(name, (more,))
    return Answer(name, ())


def first_wrong(run, A: np.ndarray, B: np.ndarray) -> Finding:
    """The first thing wrong with a run on these, in words: a cause where an experiment finds one."""
    first, shape = run.findings[0], (run.M, run.N, run.K)
    if first.kind == "unwritten" and not run.loaded_bytes:
        return Finding("not yet", "It stores nothing so far.")
    kind, key = first.kind, TWICE if first.kind == "stored twice" else AT
    if kind == "wrong numbers":
        kind, key = of_tiles(run.C, A, B, shape == WHOLE)
        if key == AT and run.numbers == "float32" and getattr(run, "executed", {}).get("matrix"):
            key = CUT
    elif kind == "unwritten" and shape == SHAPES[-1]:  # the only one with more tiles across than down
        key = TURNED
    text = first.message + (f"\n    {first.text}" if first.text else "")
    values = {"shape": f"{' x '.join(map(str, shape))} (M x N x K), {run.numbers}", "text": text}
    return Finding(kind, key, values=values)


def of_tiles(C: np.ndarray, A: np.ndarray, B: np.ndarray, whole: bool) -> tuple[str, str]:
    """(Kind, sentence) of what a wrong C holds in place of the sum of all products of tiles along K."""
    BM, BN, BK = TILE.values()
    tiles = [A[:, k : k + BK] @ B[k : k + BK] for k in range(0, len(B), BK)]
    if np.isnan(C).any() and not whole:
        return "not a number", PAST
    turned = sum(tiles)
    if whole:
        turned[:BM, BN:], turned[BM:, :BN] = turned[BM:, :BN].copy(), turned[:BM, BN:].copy()
    for kind, key, guess in (
        ("K is cut", SHORT, sum(tiles[:-1])),
        ("K is cut", SHORT, tiles[0]),
        ("wrong index", STAYS, tiles[0] * len(tiles)),
        ("wrong numbers", LAST, tiles[-1]),
        ("wrong numbers", AGAIN, sum(2.0 ** (len(tiles) - 1 - n) * tile for n, tile in enumerate(tiles))),
        ("wrong place", PLACES, turned),
    ):
        if np.allclose(C, guess, atol=0.05):  # as near as TF32 is
            return kind, key
    return "wrong numbers", AT


def more_than_needed(run, M: int, N: int, K: int) -> Finding | None:
    """What a run of whole tiles does that a product need not; None if there is nothing."""
    size = 2 if run.numbers == "float16" else 4
    least = size * (M * K * (N // TILE["BN"]) + K * N * (M // TILE["BM"]))
    if run.loaded_bytes > least:
        values = {"loads": f"{run.loaded_bytes:,}", "least": f"{least:,}", "shape": f"{M} x {N} x {K}"}
        return Finding("too many loads", "{loads} bytes of A and B at {shape}, where {least} do", values=values)
    if run.numbers == "tf32" and not run.executed.get("matrix"):
        return Finding("no matrix units", "in tf32 they multiply what tl.dot is given, and nothing else")
    return None
