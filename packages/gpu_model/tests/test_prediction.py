"""Each unit of the model against counts made by hand, and what cannot be predicted."""

import dataclasses

import pytest

from gpu_model import GPUS, Counts, Work, predict
from gpu_model.block_order import column_by_column, row_by_row, tiles_read
from gpu_model.prediction import LOSSES, fetched

A6000, T4 = GPUS["A6000"], GPUS["T4"]


def made_up(**changes):
    """A kernel of one warp that loads, multiplies and adds, a tile of 32 x 32 x 8 at a time."""
    tile = Work(256.0, 64.0, 512.0, {("shared", 1.0, 128.0): 64.0, ("global", 32.0, 128.0): 2.0})
    kernel = dict(kernel="made up", threads=32, registers=32, shared_bytes=0, side=(32, 32, 8), tile=tile)
    return Counts(**kernel | changes)


def test_each_unit_takes_the_cycles_that_a_count_by_hand_gives():
    gpu = dataclasses.replace(A6000, sms=1, clock=1e9, l2_bytes=100.0, l2_size=0)
    p = predict(made_up(), gpu, 64, 32, 16)
    # Two blocks, one after the other on the only SM, of two tiles each.
    cycles = {unit: time * 1e9 / 4 for unit, time in p.units.items()}
    assert cycles["multiply-adds"] == pytest.approx(256 * 32 / 128)
    assert cycles["issue"] == pytest.approx(512 / 4)
    assert cycles["integers"] == pytest.approx(64 * 32 / 64)
    assert (
        predict(made_up(), dataclasses.replace(gpu, integer_lanes=128), 64, 32, 16).units["integers"]
        == p.units["integers"] / 2
    )
    assert cycles["loads and stores"] == pytest.approx(64 * 2 + 2 * 32)
    assert {why: time * 1e9 / 4 for why, time in p.requests.items()} == pytest.approx(
        {"lanes": 128, "wavefronts": 0, "lines": 64, "bytes": 0}
    )
    assert p.units["L2 cache"] == pytest.approx((2 * 64 * 16 * 4 + 64 * 32 * 4) / 100e9)
    assert p.limit == "loads and stores"
    assert p.units["waiting"] == 0
    assert p.blocks == 2


def test_units_that_are_busy_at_once_lose_some_of_their_time():
    two = made_up(tile=Work(256.0, 0.0, 256.0, {}))  # 64 cycles of multiply-adds, and as many of issue
    p = predict(two, dataclasses.replace(A6000, l2_bytes=1e9, bytes_per_s=1e18), 64, 32, 16)
    assert p.units["multiply-adds"] == p.units["issue"]
    assert p.seconds == pytest.approx(p.units["issue"] * 2 ** (1 / LOSSES))
    one = predict(made_up(tile=Work(256.0, 0.0, 0.0, {})), dataclasses.replace(A6000, bytes_per_s=1e18), 64, 32, 16)
    assert one.units["losses"] < one.seconds / 1000


# A GPU on which only loads and stores, 192 cycles a tile, and round trips of 400 cycles take time.
LONE = dataclasses.replace(A6000, blocks=1, latency=400, bytes_per_s=1e18, l2_bytes=1e9)
FREE = Work(0.0, 0.0, 0.0, {("shared", 1.0, 128.0): 64.0, ("global", 32.0, 128.0): 2.0})
TILES = 4 * 100  # of the busiest SM


def waiting(trips, gpu=LONE):
    """The cycles that it waits for each tile."""
    p = predict(made_up(tile=FREE, trips=trips), gpu, 32 * 84 * 4, 32, 800)
    return p.units["waiting"] * gpu.clock / TILES


def test_a_block_alone_waits_for_each_round_trip_but_for_what_it_computes_meanwhile():
    assert waiting({0: 1}) == pytest.approx(400, rel=1e-4)
    assert waiting({0: 2.5}) == pytest.approx(1000, rel=1e-4)
    assert waiting({}) == 0
    assert waiting({1: 1}) == pytest.approx(400 - 192, rel=1e-4)
    assert waiting({2: 1}) == pytest.approx(400 - 2 * 192, rel=1e-3)
    assert waiting({3: 1}) == 0
    assert waiting({0: 1, 3: 1}) == pytest.approx(400, rel=1e-4)


def test_blocks_that_wait_together_add_the_share_of_time_in_which_all_of_them_wait():
    share = 400 / (400 + 192)
    assert waiting({0: 1}, dataclasses.replace(LONE, blocks=2)) == pytest.approx(
        192 * (1 / (1 - share**2) - 1), rel=1e-4
    )


def test_the_bytes_of_a_tile_take_their_time_and_what_the_second_cache_holds_comes_sooner():
    assert waiting({0: 1}, dataclasses.replace(LONE, l2_bytes=64.0)) == pytest.approx(400 + 4 * 64 * 8 / 64, rel=0.01)
    held = dataclasses.replace(LONE, l2_size=2**30, l2_latency=200)
    assert waiting({0: 1}, held) == pytest.approx(200, rel=1e-4)


def test_matrix_units_take_the_cycles_that_their_rate_gives():
    tile = Work(0.0, 0.0, 64.0, {}, {"tf32": 32 * 32 * 8.0, "float16": 512.0})
    gpu = dataclasses.replace(A6000, sms=1, clock=1e9, l2_bytes=1e9)
    p = predict(made_up(tile=tile, once=Work(matrix={"tf32": 256.0})), gpu, 64, 32, 16)
    assert p.units["matrix units"] == pytest.approx(2 * (2 * (32 * 32 * 8 / 256 + 512 / 512) + 256 / 256) / 1e9)
    assert p.limit == "matrix units" and "products of small matrices" in repr(p)
    with pytest.raises(ValueError, match="no rate of T4's matrix units is known for tf32"):
        predict(made_up(once=Work(matrix={"tf32": 256.0})), T4, 64, 32, 16)


def test_memory_moves_what_a_wave_shares_and_each_number_once_where_the_second_cache_holds_it():
    counts, grid = made_up(side=(32, 64, 8)), (16, 8)  # 512 x 512
    few, most = 4 * 3 * 512 * 512, 4 * (128 * 96 * 512 + 512 * 512)
    assert fetched(counts, grid, row_by_row, 16, True, 512, 512, 512) == (few, few, most)
    # Two rows of eight blocks side by side: 64 rows of A and all 512 columns of B, eight times.
    shared = 4 * (8 * (64 + 512) * 512 + 512 * 512)
    assert fetched(counts, grid, row_by_row, 16, False, 512, 512, 512) == (few, shared, most)
    # A column of sixteen blocks: all 512 rows of A and 64 columns of B.
    assert fetched(counts, grid, column_by_column, 16, False, 512, 512, 512) == (
        few,
        4 * (8 * (512 + 64) * 512 + 512 * 512),
        most,
    )


def test_an_order_of_blocks_is_counted_by_the_rows_and_columns_of_tiles_that_its_first_blocks_read():
    def in_pairs(number, down, across):
        return number // 2 % down, number // (2 * down) * 2 + number % 2

    assert tiles_read(row_by_row, 16, 8, 12) == (2, 8) and tiles_read(column_by_column, 16, 8, 12) == (12, 1)
    assert tiles_read(in_pairs, 16, 8, 12) == (6, 2) and tiles_read(row_by_row, 1, 3, 12) == (1, 3)
    counts = made_up(side=(32, 64, 8))
    shared = 4 * (8 * (256 + 128) * 512 + 512 * 512)  # 16 blocks: eight rows of tiles, two columns
    assert fetched(counts, (16, 8), in_pairs, 16, False, 512, 512, 512)[1] == shared


def test_numbers_of_two_bytes_move_half_of_the_bytes_of_a_and_b_and_fit_where_others_do_not():
    halves = made_up(side=(32, 64, 8), item=2)
    few, shared, most = fetched(halves, (16, 8), row_by_row, 16, False, 512, 512, 512)
    of_c = 4 * 512 * 512
    assert (few - of_c, shared - of_c, most - of_c) == (2 * 2 * 512 * 512, 2 * 8 * 576 * 512, 2 * 128 * 96 * 512)
    gpu = dataclasses.replace(A6000, l2_size=2 * 2 * 512 * 512)
    once = predict(halves, gpu, 512, 512, 512).bytes
    assert once[0] == once[1] < predict(made_up(side=(32, 64, 8)), gpu, 512, 512, 512).bytes[1]


@pytest.mark.parametrize(
    "kernel, product, said",
    [
        ({"shared_bytes": 200 * 1024}, {}, "made up: not one block fits on A6000; it takes"),
        ({"threads": 0}, {}, "threads=0 does not do; give an integer from 1"),
        ({"shared_bytes": -1}, {}, "shared_bytes=-1 does not do; give an integer from 0"),
        ({}, {"K": True}, "K=True does not do"),
    ],
)
def test_what_cannot_be_predicted_is_refused_with_its_value(kernel, product, said):
    with pytest.raises(ValueError, match=said):
        predict(made_up(**kernel), **{"gpu": A6000, "M": 8, "N": 8, "K": 8} | product)


def test_counts_that_are_none_are_refused_where_they_are_typed():
    with pytest.raises(ValueError, match=r"side=\(32, 32\) does not do; give three"):
        made_up(side=(32, 32))
    with pytest.raises(ValueError, match=r"side=\(32, 0, 8\) does not do"):
        made_up(side=(32, 0, 8))
    for key in (("local", 1, 128), ("global", 128), "global"):
        with pytest.raises(ValueError, match=r"requests: .* is no .memory, pieces, bytes.*'shared', 'global'"):
            Work(requests={key: 1})
