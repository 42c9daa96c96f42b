"""Is a wrong kernel right where its arguments come in another order? Then that order is the cause: it was tried."""

import itertools
import re
from contextlib import suppress
from dataclasses import replace

from ..launch import Kernel, draw
from ..launch.numba_internals import plain_function
from ..sandbox import Finding, Job, in_child
from .other_sizes import other_sizes, takes_all_sizes
from .reference import right_within_bound
from .shapes import tile_and_block

# Row by row, a matrix is its transpose column by column, and the transpose of A @ B is that of B times that of A.
COLUMN_MAJOR = "NMKBAC"
SECONDS = 10  # of computing, for all orders under Oclgrind
# What is wrong with a kernel whichever of its arguments comes first.
IN_ANY_ORDER = "race", "divergent barrier", "no wait", "misaligned", "hang", "does not compile", "no answer", "zeros"


def may_be_the_order(findings: list[Finding]) -> bool:
    """Whether it is worth to try other orders of the arguments: something is wrong that they may be the cause of."""
    return bool(findings) and findings[0].kind not in IN_ANY_ORDER


def other_orders(own: str) -> list[str]:
    """All others in which numbers stand where numbers stood, and arrays where arrays stood."""
    pairs = itertools.product(itertools.permutations(own.removesuffix("ABC")), itertools.permutations("ABC"))
    return ["".join(sizes + arrays) for sizes, arrays in pairs][1:]


def another_order(k: Kernel, own: str, order: str) -> Finding:
    """What to say of a kernel that is right in that order and wrong in the course's own."""
    cuda = k.dialect == "CUDA"
    name = plain_function(k.function).__name__ if cuda else re.search(r"(\w+)\s*\(", k.source.split("__kernel")[-1])[1]
    lines = [n for n, line in enumerate(k.source.splitlines(), 1) if re.search(rf"\b{name}\s*\(", line)]
    kind, given = "argument order", f"right when it is given ({', '.join(order)})"
    text = f"{given}. This course gives it ({', '.join(own)}): change their order, or what it does with each"
    if order == COLUMN_MAJOR:
        kind = "column-major"
        text = (
            f"{given}, so it takes each matrix to lie column by column. In this course it lies row by row: "
            "A[row * K + k], B[k * N + col], C[row * N + col]"
        )
    return Finding(kind, text, tuple(lines[:1]))


def whole_tiles(k: Kernel) -> tuple[int, int, int]:
    """The smallest (M, N, K) of whole tiles, where no guard is needed, and of sizes of which no two are alike.

    So no more than one order is right there.
    """
    (rows, columns, depth), _ = tile_and_block(k)
    N = columns * (2 if 2 * columns != rows else 3)
    return rows, N, next(K for K in itertools.count(2 * depth, depth) if K not in (rows, N))


def opencl_order(k: Kernel) -> list[Finding]:
    """The order of its arguments in which an OpenCL kernel is right, as a finding: tried in a child, at small sizes."""
    small = other_sizes(k)[0] if takes_all_sizes(k) else k.parameters
    order = in_child(k, order_there, SECONDS, {}, parameters=small).value
    return [another_order(k, k.order, order)] if order else []


def order_there(job: Job, parameters: dict) -> str | None:
    """In the child: the first of the other orders in which the kernel is right; None for none."""
    k = replace(job, parameters=parameters).build()
    own, A_and_B = k.grid, draw(*whole_tiles(k))
    # Column by column, its rows are the columns of C, so that the blocks along x and y may change places, too.
    for order, grid in [(order, own) for order in other_orders(k.order)] + [(COLUMN_MAJOR, lambda M, N: own(N, M))]:
        k.order, k.grid = order, grid
        with suppress(Exception):  # such a launch may fail in any way
            if right_within_bound(k, *A_and_B):
                return order
    return None
