"""Two blocks that store one element are named, with the place where blocks begin if that is wrong."""

from itertools import product

import pytest

from helpers import cuda_kernel, opencl_kernel
from helpers.judge.stores import overlap, overlap_on_device
from helpers.sandbox import Finding, Job

TILED = opencl_kernel("tiled", TILE=2)


def stored(places, across=True):
    """The stores of blocks that each have 2 x 2 elements, from {(block's x, y): its first row and column}."""
    return [((row + i, column + j), block) for block, (row, column) in places.items() for i, j in product((0, 1), (0, 1))]


def message(k, stores):
    findings = overlap(k, stores)
    assert [finding.kind for finding in findings] == ["blocks overlap"]
    return findings[0].message


def grid(begins, x=range(3), y=range(3)):
    return stored({(i, j): begins(i, j) for i, j in product(x, y)})


def test_blocks_that_meet_nowhere_are_no_finding():
    assert overlap(TILED, grid(lambda x, y: (2 * y, 2 * x))) == overlap(TILED, []) == []


def test_one_block_may_store_an_element_twice():
    assert overlap(TILED, [((0, 0), (0, 0))] * 2 + grid(lambda x, y: (2 * y, 2 * x))) == []


def test_the_last_block_of_a_side_may_be_shifted_back():
    assert overlap(TILED, grid(lambda x, y: (min(2 * y, 3), min(2 * x, 3)))) == []
    assert overlap(TILED, grid(lambda x, y: (2 * y, x), range(2), range(1))) == []


@pytest.mark.parametrize(
    "begins, said",
    [
        (lambda x, y: (2 * y, x), "blocks (0, 0) and (1, 0) both store C[0, 1]; the blocks begin at the columns 0, 1, 2, "),
        (lambda x, y: (y, 2 * x), "blocks (0, 0) and (0, 1) both store C[1, 0]; the blocks begin at the rows 0, 1, 2, "),
        (lambda x, y: (y, x), "blocks (0, 0) and (0, 1) both store C[0, 1]; the blocks begin at the rows 0, 1, 2, "),
    ],
)
def test_overlapping_blocks_are_named_with_where_they_begin(begins, said):
    if begins(1, 1) == (1, 1):
        said = said.replace("(0, 1) both", "(1, 0) both")
    assert message(TILED, grid(begins)) == said + "and should at block number times 2"
