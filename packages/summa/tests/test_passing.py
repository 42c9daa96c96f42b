"""A plan for a product in blocks: the fewest bytes over the bus of all plans that fit."""

import itertools

import pytest

from summa.passing import Plan, plan

GUARD = 64 * 1024  # floats behind each buffer
OBLONG = (32, 16, 8)  # rows, columns and depth of a tile


@pytest.mark.parametrize("size", [(96, 128, 80), (64, 192, 48), (192, 64, 48)])
def test_the_plan_is_the_best_of_all_that_fit(size):
    """Against every plan there is: all widths and depths in whole tiles, either operand staying."""
    budget = 4 * (5 * GUARD + 6000)
    ways = [range(side, end + 1, side) for side, end in zip(OBLONG, size, strict=True)]
    every = [Plan(size, block, stays, GUARD) for stays in "AB" for block in itertools.product(*ways)]
    fit = [p.bytes_over_the_bus for p in every if p.bytes_on_device <= budget]
    assert 0 < len(fit) < len(every)
    assert plan(size, OBLONG, budget, GUARD).bytes_over_the_bus == min(fit)


@pytest.mark.parametrize("tile", [OBLONG, (16, 32, 8)])
def test_the_least_budget_is_of_whichever_operand_stays(tile):
    least = min(Plan((300, 300, 300), tile, stays, GUARD).bytes_on_device for stays in "AB")
    with pytest.raises(ValueError, match=r"a budget of [\d,]+ bytes holds no tile of \d+ x \d+ x 8 .* give more\.$"):
        plan((300, 300, 300), tile, least - 1, GUARD)
    assert plan((300, 300, 300), tile, least, GUARD).bytes_on_device == least


def test_a_plan_shows_the_pieces_of_k_if_there_are_some():
    whole, cut = (Plan((10, 20, 30), block, stays, GUARD) for block, stays in (((5, 10, 30), "A"), ((5, 10, 8), "B")))
    on_device = 4 * (150 + 2 * 300 + 2 * 50 + 5 * GUARD)
    assert str(whole) == (
        f"A stays, in blocks of 5 x 30 (A) and 30 x 10 (B): {on_device:,} bytes on the device, 6,800 over the bus"
    )
    assert str(cut).startswith("B stays, in blocks of 5 x 8 (A) and 8 x 10 (B), K in 4 pieces: ")


@pytest.mark.parametrize("tile", [OBLONG, (1, 1, 1)])
@pytest.mark.parametrize("size", [(65, 300, 1029), (300, 500, 2100)])
def test_every_plan_keeps_within_its_budget_where_a_tile_is_cut_off_at_the_end(size, tile):
    for budget in range(1_400_000, 8_100_000, 199_999):
        p = plan(size, tile, budget, GUARD)
        assert p.bytes_on_device <= budget and min(p.block) > 0
