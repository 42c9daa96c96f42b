"""Page 18, exercises 2 and 3: a product in Triton, or in cuTile, is right and loads each tile once."""

import itertools
import warnings
from collections.abc import Callable

from kernel_judge import Finding, Report
from kernel_judge.answers import Answer

from ..checking import check
from ..instruments import run_cutile, run_triton
from ..ladder import ceil_div
from .rules import MissesTheIdea

TILE = dict(BM=32, BN=64, BK=16)
WHOLE = (64, 128, 48)  # M, N, K of tiles that are whole, where what is loaded is counted
SHAPES = (WHOLE, (1, 1, 1), (33, 70, 41), (31, 129, 15))
CUT = "at {shape}: {text}. It ran on the matrix units, which cut float32 to TF32; PRECISION tells tl.dot not to"
BYTES = "{loads} bytes of A and B at {shape}, where {least} do"


def judge_product(kernel: Callable) -> Report:
    """Run a learner's Triton product at four shapes, in float32 and on matrix units, and count its loads. A `Report`.

    `kernel`: under `@triton.jit`, of (A, B, C, M, N, K) and the constants BM, BN, BK and PRECISION.
    Raises what `run_triton` raises: ValueError for other arguments, KernelError for what does not compile.
    """
    return judged(kernel.__name__, kernel, run_triton, ("float32", "tf32"))


def judge_tiles(kernel: Callable) -> Report:
    """Run a learner's cuTile product at the same shapes, in float32 and float16, and count its loads. A `Report`.

    `kernel`: under `@ct.kernel`, of (A, B, C) and the constants BM, BN and BK. Raises what `run_cutile` raises.
    """
    report = judged("tiles", kernel, run_cutile, ("float32", "float16"))

    def tiles(A, B):
        return run_cutile(kernel, len(A), B.shape[1], len(B), arrays=(A, B), **TILE).C

    if all(finding.kind != "wrong numbers" for finding in report.findings):
        return report
    cause = check(tiles, SHAPES)  # in words, where it finds one in float32
    return report if cause else cause


def judged(name: str, kernel: Callable, run_kernel: Callable, kinds: tuple) -> Report:
    """The verdict on a kernel, by running it at all shapes in both kinds of numbers."""
    for numbers, shape in itertools.product(kinds, SHAPES):
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # of `and` for &, again for each shape
            run = run_kernel(kernel, *shape, numbers, **TILE)
        if not run:
            where = f"{' x '.join(map(str, shape))} (M x N x K), {numbers}"
            return Report(name, (first_wrong(run, where),))
        if shape == WHOLE and (more := more_than_needed(run, *shape)):
            return MissesTheIdea(name, (more,))
    return Answer(name, ())


def first_wrong(run, where: str) -> Finding:
    """The first thing wrong with a run at that shape, in words."""
    first = run.findings[0]
    if first.kind == "unwritten" and not run.loaded_bytes:
        return Finding("not yet", "It stores nothing so far.")
    values = {"shape": where, "text": first.message + (f"\n    {first.text}" if first.text else "")}
    cut = first.kind == "wrong numbers" and run.numbers == "float32" and getattr(run, "executed", {}).get("matrix")
    return Finding(first.kind, CUT if cut else "at {shape}: {text}", values=values)


def more_than_needed(run, M: int, N: int, K: int) -> Finding | None:
    """What a run of whole tiles does that a product need not; None if there is nothing."""
    size = 2 if run.numbers == "float16" else 4
    least = size * (M * K * ceil_div(N, TILE["BN"]) + K * N * ceil_div(M, TILE["BM"]))
    if run.loaded_bytes > least:
        values = {"loads": f"{run.loaded_bytes:,}", "least": f"{least:,}", "shape": f"{M} x {N} x {K}"}
        return Finding("too many loads", BYTES, values=values)
    if run.numbers == "tf32" and not run.executed.get("matrix"):
        return Finding("no matrix units", "in tf32 they multiply what tl.dot is given, and nothing else")
    return None
