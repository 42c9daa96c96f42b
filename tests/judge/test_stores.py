"""Two blocks that store one element are named, with the place where blocks begin if that is wrong."""

from itertools import product

import pytest

from helpers import opencl_kernel
from helpers.instruments import noted
from helpers.instruments.noted import noted_launch
from helpers.judge import stores
from helpers.judge.stores import can_be_noted, overlap, overlap_noted
from helpers.launch import KernelError

TILED, NAIVE = opencl_kernel("tiled", TILE=2), opencl_kernel("naive", BM=2, BN=3)


def stored(places):
    """The stores of blocks that each have 2 x 2 elements, from {(block's x, y): its first row and column}."""
    return [
        ((row + i, column + j), block) for block, (row, column) in places.items() for i, j in product((0, 1), (0, 1))
    ]


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


THREE, SIX, ONE = range(3), range(6), range(1)


@pytest.mark.parametrize(
    "k, begins, x, y, other, element, places, size",
    [
        (TILED, lambda x, y: (2 * y, x), THREE, THREE, "1, 0", "0, 1", "columns 0, 1, 2", 2),
        (TILED, lambda x, y: (y, 2 * x), THREE, THREE, "0, 1", "1, 0", "rows 0, 1, 2", 2),
        (TILED, lambda x, y: (y, x), THREE, THREE, "1, 0", "0, 1", "rows 0, 1, 2", 2),
        # Each side has an end of its own, and four places are told at most.
        (TILED, lambda x, y: (2 * y, x), SIX, ONE, "1, 0", "0, 1", "columns 0, 1, 2, 3", 2),
        (TILED, lambda x, y: (y, 2 * x), ONE, SIX, "0, 1", "1, 0", "rows 0, 1, 2, 3", 2),
        # In the naive step x counts rows.
        (NAIVE, lambda x, y: (x, 3 * y), THREE, THREE, "1, 0", "1, 0", "rows 0, 1, 2", 2),
        (NAIVE, lambda x, y: (2 * x, y), THREE, THREE, "0, 1", "0, 1", "columns 0, 1, 2", 3),
    ],
)
def test_overlapping_blocks_are_named_with_where_they_begin(k, begins, x, y, other, element, places, size):
    assert message(k, grid(begins, x, y)) == (
        f"blocks (0, 0) and ({other}) both store C[{element}]; the blocks begin at the {places}, and should at block "
        f"number times {size}"
    )


def test_blocks_that_come_in_another_order_are_not_blamed_for_that():
    said = message(TILED, grid(lambda x, y: (2 * (2 - y), 2 - x)))
    assert said.startswith("blocks (0, 2) and (1, 2) both store C[0, 2]; the blocks begin at the columns 0, 1, 2, and")


def test_blocks_that_begin_where_they_should_and_store_too_much_have_no_formula_named():
    stores = [*grid(lambda x, y: (2 * y, 2 * x)), ((0, 2), (0, 0))]
    assert message(TILED, stores) == "blocks (0, 0) and (1, 0) both store C[0, 2]"


def test_every_block_that_stores_all_is_told_and_one_that_stores_all_is_not():
    places = list(product(range(3), range(3)))
    everything = [(element, block) for element in places for block in places]
    assert message(TILED, everything) == "blocks (0, 0) and (0, 1) both store C[0, 0]; every block stores all of C"
    assert "every" not in message(TILED, [*((element, (0, 0)) for element in places), *((p, p) for p in places)])
    assert "every" not in message(TILED, [*everything, ((3, 0), (0, 0))])


SHIFTED = opencl_kernel("tiled").source.replace("get_group_id(0) * TILE", "get_group_id(0) * (TILE - 1)")


def shifted(TILE):
    return opencl_kernel(SHIFTED, like="tiled", TILE=TILE)


def test_on_a_device_three_blocks_a_side_are_looked_at(monkeypatch):
    asked = []
    monkeypatch.setattr(
        noted, "noted_launch", lambda k, A, B, **how: asked.append((A.shape, B.shape)) or noted_launch(k, A, B, **how)
    )
    [finding] = overlap_noted(shifted(3))
    assert asked == [((7, 2), (2, 7))]
    assert finding.message == (
        "blocks (0, 0) and (1, 0) both store C[0, 2]; the blocks begin at the columns 0, 2, 4, and should at block "
        "number times 3"
    )
    assert overlap_noted(opencl_kernel("tiled", TILE=3)) == []


def test_a_tile_of_more_accesses_than_are_noted_and_a_source_that_takes_no_notes_are_left_out(monkeypatch):
    monkeypatch.setattr(stores, "MOST", 9)
    assert can_be_noted(shifted(3)) and not can_be_noted(shifted(4))

    def refuses(*_, **how):
        raise KernelError("no notes")

    monkeypatch.setattr(noted, "noted_launch", refuses)
    assert overlap_noted(shifted(3)) == []
