"""The shapes (M, N, K) of a check, and why they are these: the one place for them."""

import math
from collections.abc import Callable

from .product import Shape

# What is multiplied at native speed, whatever the kernel: a fault may stand behind a test of the sizes, such as
# `K % 32 == 0` or `M == N`, or begin where one of them passes a bound.
MULTIPLIED = (
    # ragged: no side is a multiple of any tile's
    *((137, 139, 131), (263, 271, 269), (33, 129, 1000)),
    # one row, one column, a long sum; 65,536 in each side, where a counter of 16 bits starts again
    *((1, 1025, 33), (1000, 1, 96), (4, 6, 65_839), (65_539, 2, 3), (3, 65_543, 2)),
    # squares, and each power of two that people use in each side, with the other two kept short
    *((16, 16, 16), (32, 32, 32), (64, 64, 64), (128, 128, 128)),
    *((256, 16, 32), (512, 64, 16), (2048, 32, 64), (4096, 128, 32)),
    *((64, 256, 16), (16, 512, 128), (32, 2048, 16), (96, 4096, 48)),
    *((16, 32, 256), (128, 16, 512), (48, 96, 2048), (32, 64, 4096)),
    # more than 2**24 elements: beyond, a float32 that holds a place in C skips some
    (4100, 4100, 1),
    # a square that people time, and before it a part, which tells how long the whole takes
    *((64, 1024, 1024), (1024, 1024, 1024)),
)
PART, PATIENCE = (64, 1024, 1024), 0.2  # seconds for it, beyond which the square is left out
MOST_OF_A_FUNCTION = 1 << 18  # products: a function of the host may be a loop in Python


def watched(tile: tuple) -> list[Shape]:
    """Eight small shapes that no wrong guard, grid or number of K-tiles survives, the telling ones first."""
    rows, columns, depth = tile
    square = max(rows, columns) + 1
    long = max(max(rows, columns) + depth + 1, min(259, 6400 // (rows * columns)))  # beyond a counter of 8 bits
    return [
        (rows + 1, 2 * columns + 1, 3 * depth - 1),  # wide
        (2 * rows + 1, max(1, columns - 1), 2 * depth + 1),  # tall: more K-tiles than blocks across
        (1, 1, 1),
        (rows, columns, 2 * depth),  # whole tiles
        (square, square, depth + 1),  # a transposed answer fits here
        (rows + 1, columns + 1, 1),  # K shorter than a tile: a block that is no last one reads past the end
        (1, 1, long),  # more K-tiles than a count that was made from M or N gives
        (rows + max(columns, depth) + 1, 1, 1),  # and fewer
    ]


def telling(tile: tuple) -> list[Shape]:
    """Two that are enough where other sizes have had all eight: three blocks along each side, and two K-tiles."""
    rows, columns, depth = tile
    return [(rows + 1, 2 * columns + 1, depth + 1), (2 * rows + 1, columns + 1, depth + 1)]


def affordable(shapes: list[Shape], cost: Callable[[Shape], float], most: float) -> list[Shape]:
    """As many of the shapes, in their order, as cost no more than that together: the cheapest."""
    chosen, spent = set(), 0
    for shape in sorted(shapes, key=cost):
        spent += cost(shape)
        if spent > most:
            break
        chosen.add(shape)
    return [shape for shape in shapes if shape in chosen]


def for_a_function() -> list[Shape]:
    """Those of all of them that a loop in Python does in a second or so; it has no tile, and gets one of 4 x 4 x 4."""
    return [*watched((4, 4, 4)), *(one for one in MULTIPLIED if math.prod(one) <= MOST_OF_A_FUNCTION)]


def largest(shapes: list[Shape]) -> tuple[int, ...]:
    """The greatest M, N and K; () for no shapes."""
    return tuple(map(max, zip(*shapes, strict=True)))
