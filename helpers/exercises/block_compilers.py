"""Page 18, exercise 1: a product in Triton is right, loads each tile once, and leaves TF32 to the matrix units."""

import itertools
import warnings
from collections.abc import Callable

from kernel_judge import Finding, Report
from kernel_judge.answers import Answer

from ..instruments import BlockRun, run_triton
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
    name = kernel.__name__
    for numbers, shape in itertools.product(("float32", "tf32"), SHAPES):
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # of `and` for &, again for each shape
            run = run_triton(kernel, *shape, numbers, **TILE)
        if not run:
            where = f"{' x '.join(map(str, shape))} (M x N x K), {numbers}"
            return Report(name, (first_wrong(run, where),))
        if shape == WHOLE and (more := more_than_needed(run, *shape)):
            return MissesTheIdea(name, (more,))
    return Answer(name, ())


def first_wrong(run: BlockRun, where: str) -> Finding:
    """The first thing wrong with a run at that shape, in words."""
    first = run.findings[0]
    if first.kind == "unwritten" and not run.total("bytes", "global", "load"):
        return Finding("not yet", "It stores nothing so far.")
    values = {"shape": where, "text": first.message + (f"\n    {first.text}" if first.text else "")}
    cut = first.kind == "wrong numbers" and run.numbers == "float32" and run.executed.get("matrix")
    return Finding(first.kind, CUT if cut else "at {shape}: {text}", values=values)


def more_than_needed(run: BlockRun, M: int, N: int, K: int) -> Finding | None:
    """What a run of whole tiles does that a product need not; None if there is nothing."""
    loads = run.total("bytes", "global", "load")
    least = 4 * (M * K * ceil_div(N, TILE["BN"]) + K * N * ceil_div(M, TILE["BM"]))
    if loads > least:
        values = {"loads": f"{loads:,}", "least": f"{least:,}", "shape": f"{M} x {N} x {K}"}
        return Finding("too many loads", BYTES, values=values)
    if run.numbers == "tf32" and not run.executed.get("matrix"):
        return Finding("no matrix units", "in tf32 they multiply what tl.dot is given, and nothing else")
    return None
