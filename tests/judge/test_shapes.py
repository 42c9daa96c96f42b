"""Which shapes a check tries, for a tile of 8 x 16 and 4 deep: those that the first lines of shapes.py promise."""

import itertools
import math

import pytest

from helpers import opencl_kernel
from helpers.judge.shapes import (
    compiled_shapes,
    host_shapes,
    large_shapes,
    largest,
    long_shapes,
    many_blocks,
    remainders,
    shapes_for,
    tile_and_block,
)
from helpers.launch import HostKernel


def tile_of(BM, BN, BK, step="register_2d", **more):
    return opencl_kernel(step, BM=BM, BN=BN, BK=BK, **(more or dict(TM=2, TN=2)))


TILED = tile_of(8, 16, 4)  # its block has 8 x 4 threads
LARGE = tile_of(64, 128, 8, TM=8, TN=8)
HOST = HostKernel(lambda A, B: A @ B)


def test_a_small_kernel_gets_every_relation_of_a_size_to_the_tile():
    assert dict(zip(("one", "whole tiles", "square", "wide", "tall", "shallow"), shapes_for(TILED), strict=True)) == {
        "one": (1, 1, 1),
        "whole tiles": (8, 16, 8),
        "square": (17, 17, 5),
        "wide": (9, 33, 11),
        "tall": (17, 15, 9),
        "shallow": (7, 17, 3),
    }


def test_a_tile_of_one_has_no_size_below_one():
    one = opencl_kernel("coalesced", BM=1, BN=1)  # and 8 deep
    assert shapes_for(one) == [(1, 1, 1), (1, 1, 16), (2, 2, 9), (2, 3, 23), (3, 1, 17), (1, 2, 7)]
    assert shapes_for(tile_of(8, 16, 1))[-1] == (7, 17, 1)


@pytest.mark.parametrize(
    "k, shapes",
    [
        (tile_of(4, 4, 4), [(1, 1, 259), (9, 1, 1)]),
        (tile_of(4, 8, 4), [(1, 1, 200), (13, 1, 1)]),
        (TILED, [(1, 1, 50), (25, 1, 1)]),
        (LARGE, [(1, 1, 137), (193, 1, 1)]),
        (tile_of(128, 64, 8, TM=8, TN=8), [(1, 1, 137), (193, 1, 1)]),
        (tile_of(8, 8, 16), [(1, 1, 100), (25, 1, 1)]),
    ],
)
def test_one_element_has_more_k_tiles_than_any_other_count(k, shapes):
    assert long_shapes(k) == shapes


@pytest.mark.parametrize("k, count", [(TILED, 32), (LARGE, 32), (LARGE, 20)])
def test_every_remainder_comes_in_one_to_three_tiles_and_the_same_each_time(k, count):
    tried, tile = remainders(k, count), tile_and_block(k)[0]
    assert tried == remainders(k, count) and len(tried) == count
    for axis, side in enumerate(tile):
        by, sizes = min(side, count), [shape[axis] for shape in tried]
        assert {n % by for n in sizes} == set(range(by))
        assert {(n - 1) // side for n in sizes} <= {0, 1, 2} and (min(sizes) <= side < max(sizes))
        assert {(n - 1) // by for n in sizes} == {0, 1, 2} or by < side
    assert {tuple(n % 2 for n in shape) for shape in tried} == set(itertools.product((0, 1), repeat=3))


def test_tall_and_wide_have_a_block_more_than_threads_and_a_row_or_column_more():
    assert many_blocks(TILED) == [(8 * 9 + 1, 17, 5), (9, 16 * 9 + 1, 5)]


def test_a_device_gets_one_long_side_at_a_time():
    assert large_shapes(TILED) == [
        *remainders(TILED),
        *many_blocks(TILED),
        (263, 271, 269),
        (65_539, 2, 3),
        (3, 65_543, 2),
        (4, 6, 65_839),
    ]
    assert (65_539, 2, 3) not in large_shapes(opencl_kernel("coalesced", BM=1, BN=8))  # a grid has 65,535 rows
    assert (65_539, 2, 3) in large_shapes(opencl_kernel("coalesced", BM=2, BN=8))


def test_sizes_that_follow_from_the_shape_are_not_built_for_each_remainder():
    k = opencl_kernel("packed")
    assert k.by_shape and len(large_shapes(k)) == 2 + 4
    assert len(large_shapes(HOST)) == 32 + 2 + 4  # a library, whose sizes nobody knows


def test_the_compiled_code_gets_257_tiles_along_one_side_at_a_time():
    assert compiled_shapes(TILED) == [
        *remainders(TILED, 20),
        *many_blocks(TILED),
        (137, 139, 5),
        (257 * 8 + 1, 3, 2),
        (2, 257 * 16 + 1, 3),
        (4, 6, 257 * 4 + 1),
    ]


def test_a_function_of_the_host_gets_sizes_that_no_tile_divides_one_beyond_256_at_a_time_and_usual_ones():
    assert {(64, 64, 64), (32, 32, 32), (256, 16, 4)} < {*host_shapes()}
    assert all(math.prod(shape) <= 64**3 for shape in host_shapes())  # it may be Python
    for axis, shape in enumerate(host_shapes()[:3]):
        assert shape[axis] > 256 and math.prod(shape) < 6 * 300
        assert all(n % d for n in shape for d in range(2, n)) and len(set(shape)) == 3, shape
    assert shapes_for(HOST) == shapes_for(opencl_kernel("tiled", TILE=4))


def test_the_largest_of_each_size_is_told():
    assert largest([(1, 9, 3), (2, 4, 8)]) == (2, 9, 8)
