"""Page 18, exercise 1: a product in Triton, which is right, and loads no more than one that loads each tile once."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..instruments.block_run import run_triton
from ..judge.report import Report
from ..ladder import ceil_div
from ..launch.given import takes
from ..needs import need
from ..sandbox import Finding
from .questions import Answer
from .rules import misses

if TYPE_CHECKING:
    from triton import JITFunction

TILE = dict(BM=32, BN=64, BK=16)
WHOLE = (64, 128, 48)  # M, N, K of tiles that are whole, where what is loaded is counted
SHAPES = (WHOLE, (1, 1, 1), (33, 70, 41), (31, 129, 15))


@takes
def judge_product(kernel: Callable | str) -> Report:
    """Run a learner's Triton product at four shapes, in float32 and on matrix units, and count its loads. A `Report`.

    `kernel`: under `@triton.jit`, of (A, B, C, M, N, K) and the constants BM, BN, BK and PRECISION, or its text.
    Raises what `run_triton` raises: ValueError for other arguments, KernelError for what does not compile.
    """
    name = getattr(kernel, "__name__", "your program")
    for numbers in ("float32", "tf32"):
        for shape in SHAPES:
            run = run_triton(kernel, *shape, numbers, **TILE)
            loads = run.total("bytes", "global", "load")
            if not run:
                first = run.findings[0]
                if first.kind == "unwritten" and not loads:
                    return Report(name, (Finding("not yet", "It stores nothing so far."),), 1)
                at = f"at {' x '.join(map(str, shape))} (M x N x K) of {numbers}: {first.message}"
                return Report(name, (Finding(first.kind, f"{at}\n    {first.text}" if first.text else at),), 1)
            M, N, K = shape
            least = 4 * (M * K * ceil_div(N, TILE["BN"]) + K * N * ceil_div(M, TILE["BM"]))
            if shape == WHOLE and loads > least:
                said = f"{loads:,} bytes from global memory at {M} x {N} x {K}, where {least:,} do"
                return misses(Report(name, (), 1), Finding("too many loads", said))
    return Answer(name, (), len(SHAPES))


def triton_product() -> "JITFunction":
    """The product that page 18 counts: C = A @ B in Triton, a BM x BN tile of C a program. Needs Triton."""
    need("blocks")
    import triton
    import triton.language as tl

    @triton.jit
    def product(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr):
        row = tl.program_id(1) * BM + tl.arange(0, BM)[:, None]
        col = tl.program_id(0) * BN + tl.arange(0, BN)[None, :]
        acc = tl.zeros((BM, BN), tl.float32)
        for k0 in range(0, K, BK):
            k = k0 + tl.arange(0, BK)
            a = tl.load(A + row * K + k[None, :], mask=(row < M) & (k[None, :] < K), other=0.0)
            b = tl.load(B + k[:, None] * N + col, mask=(k[:, None] < K) & (col < N), other=0.0)
            acc = tl.dot(a, b, acc, PRECISION)
        tl.store(C + row * N + col, acc, mask=(row < M) & (col < N))

    return product
