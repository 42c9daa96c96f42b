"""The shapes (M, N, K) that a check tries, and the principle behind each: the one place for them.

A fault may begin where a size passes a bound, so the shapes pass every bound that a kernel may have in it:

- *A tile.* One element, whole tiles, one more than a tile, one less, wide and tall, K shorter than a tile, and K with
  more tiles than C has blocks: `shapes_for` and `long_shapes`. Oclgrind does these in seconds, so that all that can
  be watched is watched there.
- *Every remainder by the tile*, of M, N and K, in no step with each other: `remainders`.
- *More blocks a side than a block has threads there*, for both sides: a block's place that was made from the wrong
  number (`blockIdx * gridDim`) covers C as long as there are few blocks.
- *256 and 65,536 in each of M, N and K*, and 256 blocks: there a counter of 8 or 16 bits starts again.

Or it may stand behind a test of the sizes, such as `K % 32 == 0` or `M == N`:

- *The sizes that people use*, `USUAL`: the squares of benchmarks, whole multiples of a tile, many and few of them, one
  more and one less, powers of two, equal sides, thin products. tests/judge/test_shapes.py draws such tests, and holds
  that fewer than one in a hundred kernels that are wrong where one is true would pass.
- *More than 2^24 elements in A, and in B*: beyond, a float32 that holds a place skips some.
"""

import itertools
import math

import numpy as np

from .. import ladder
from ..launch import Contestant

UNKNOWN = (4, 4, 4), (4, 4)  # the tile and block of what has none: a function of the host
# The five squares, and beside them what a search took out of 40,000 shapes: again and again the one at which most of
# those drawn tests were true that were true at no shape before, for the time that it takes.
USUAL = [
    *((side, side, side) for side in (64, 128, 256, 512, 1024)),
    *((384, 768, 4), (640, 33, 48), (994, 640, 5), (33, 768, 96), (32, 1025, 33), (1000, 256, 14), (1024, 14, 65)),
    *((1025, 1004, 2), (1004, 1000, 17), (13, 2, 16), (768, 15, 96), (1, 256, 6), (129, 996, 32), (4, 1, 8)),
    *((255, 1003, 11), (512, 513, 129), (1006, 3, 3), (9, 96, 128), (32, 32, 32), (1007, 384, 48), (96, 996, 320)),
]
HUGE = [(64_600, 2, 260), (2, 64_600, 260)]  # more than 2^24 elements, in A and in B


def tile_and_block(k: Contestant) -> tuple[tuple, tuple]:
    """((rows, columns, depth) of its tile, (x, y) threads of its block)."""
    if not k.step:
        return UNKNOWN
    step = ladder.STEPS[k.step]
    return step.tile(k.parameters), step.block(k.parameters)


def shapes_for(k: Contestant) -> list[tuple[int, int, int]]:
    """Six shapes, made from the kernel's own tile, that no wrong guard, grid or tile count survives."""
    (rows, columns, depth), _ = tile_and_block(k)
    square = max(rows, columns) + 1
    return [
        (1, 1, 1),
        (rows, columns, 2 * depth),  # whole tiles
        (square, square, depth + 1),  # a transposed answer fits here
        (rows + 1, 2 * columns + 1, 3 * depth - 1),  # wide
        (2 * rows + 1, max(1, columns - 1), 2 * depth + 1),  # tall: more K-tiles than blocks across
        (max(1, rows - 1), columns + 1, max(1, depth - 1)),  # K shorter than a tile
    ]


def long_shapes(k: Contestant) -> list[tuple[int, int, int]]:
    """(1, 1, K) with more K-tiles than any count that was made from M or N, or typed, in place of K gives.

    And (M, 1, 1), for a count that is too large then. With small tiles, which are done quickly, K is 259,
    beyond a counter of 8 bits.
    """
    (rows, columns, depth), _ = tile_and_block(k)
    long = max(max(rows, columns) + depth + 1, min(259, 6400 // (rows * columns)))
    return [(1, 1, long), (rows + max(columns, depth) + 1, 1, 1)]


def remainders(k: Contestant, count: int = 32) -> list[tuple[int, int, int]]:
    """So many shapes of up to three tiles a side: every remainder by the tile, or by `count` where that is less.

    The three sizes go through their remainders in orders of their own, the same ones each time, and in every mixture
    of odd and even: a fault that needs an odd M and an even N meets them.
    """
    for seed in itertools.count():
        order, sizes = np.random.default_rng(seed), []
        for side in tile_and_block(k)[0]:
            step = min(side, count)
            rounds = [1 + order.permutation(step) for _ in range(-(-count // step))]
            sizes.append(np.concatenate(rounds)[:count] + step * order.integers(0, 2 * side // step + 1, count))
        shapes = [tuple(shape) for shape in np.transpose(sizes).tolist()]
        if len({tuple(n % 2 for n in shape) for shape in shapes}) == 8:
            return shapes


def many_blocks(k: Contestant) -> list[tuple[int, int, int]]:
    """Tall and wide, with more blocks a side than a block has threads along any."""
    (rows, columns, depth), block = tile_and_block(k)
    blocks = max(block) + 1
    return [(rows * blocks + 1, columns + 1, depth + 1), (rows + 1, columns * blocks + 1, depth + 1)]


def large_shapes(k: Contestant) -> list[tuple[int, int, int]]:
    """What only a device does in milliseconds. Where sizes follow from the shape no remainders: each is a new build."""
    some = [] if getattr(k, "by_shape", False) else remainders(k)
    tall = [(65_539, 2, 3)] if tile_and_block(k)[0][0] > 1 else []  # CUDA launches 65,535 blocks down at most
    return [*some, *many_blocks(k), (263, 271, 269), *tall, (3, 65_543, 2), (4, 6, 65_839), *usual_shapes(k)]


def usual_shapes(k: Contestant) -> list[tuple[int, int, int]]:
    """The sizes that people use, and huge matrices, for a learner's kernel: the course's own are tested there."""
    return [*USUAL, *HUGE] if k.own else []


def compiled_shapes(k: Contestant) -> list[tuple[int, int, int]]:
    """What the PTX machine does in a second or so: more than 256 blocks and K-tiles, each along one side only.

    The deep one has up to 4 x 6 sums, of one block: a long sum's bound is wide, and one wrong sum in thirty is within.
    """
    tile = tile_and_block(k)[0]
    rows, columns, depth = (257 * side + 1 for side in tile)
    deep = min(4, tile[0]), min(6, tile[1]), depth
    return [*remainders(k, 20), *many_blocks(k), (137, 139, 5), (rows, 3, 2), (2, columns, 3), deep]


def host_shapes() -> list[tuple[int, int, int]]:
    """For a function of the host, which may be slow, since it may be Python.

    The large ones come last, so that one of them gets the numbers that a kernel may look for: `drawn_for`.
    """
    usual = sorted((shape for shape in USUAL if math.prod(shape) <= 1 << 18), key=math.prod)
    return [(263, 3, 2), (2, 269, 3), (3, 2, 271), (256, 16, 4), (4, 256, 16), (16, 4, 256), (96, 96, 2), *usual]


def largest(shapes: list) -> tuple[int, int, int]:
    """The greatest M, N and K that were tried; () for no shapes."""
    return tuple(map(max, zip(*shapes, strict=True)))
