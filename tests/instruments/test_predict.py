"""The model of a GPU: against published ladders, against counts made by hand, and within what a GPU can do."""

import dataclasses
import itertools
import math
import re

import numpy as np
import pytest

from helpers import cuda_kernel, devices, ladder, opencl_kernel
from helpers.instruments import GPUS, against_published, gpu_here, predict, predicted_ladder
from helpers.instruments.counts import Counts, Work
from helpers.instruments.gpus import ARCHS
from helpers.instruments.prediction import LOSSES, REQUESTS, UNITS, fetched, predicted
from helpers.instruments.published import LADDERS, SIZES

A6000, T4 = GPUS["A6000"], GPUS["T4"]
needs_compiler = pytest.mark.skipif(
    not devices.nvidia_tool("ptxas"), reason="NVIDIA's compiler is not installed: python3 tools/install.py cuda13"
)


def off(rows, of="prediction"):
    """How far the predicted rates are from the measured ones, as a share of these."""
    return np.array([abs(getattr(row, of).gflops / row.published - 1) for row in rows])


def own_code(rows):
    """Rungs whose kernel was counted from its own code: SGEMM_CUDA's and ours."""
    return [row for row in rows if not re.search("other kernels|its own kernels", row.ladder.note)]


def out_of_order(rows):
    """(pairs of rungs of a ladder that are predicted in the other order, all pairs)."""
    pairs = [pair for ladder in LADDERS for pair in itertools.combinations([r for r in rows if r.ladder is ladder], 2)]
    wrong = [(a.published - b.published) * (a.prediction.gflops - b.prediction.gflops) < 0 for a, b in pairs]
    return sum(wrong), len(pairs)


def test_ladders_are_predicted_from_the_code_that_ran_there():
    rows = own_code(against_published().rows)
    assert len(rows) == 71
    assert np.median(off(rows)) < 0.08
    assert off(rows).max() < 0.3
    assert (off(rows) <= 0.1).mean() > 0.6
    assert out_of_order(rows) == (0, 201)


def test_so_are_they_at_the_clock_that_their_naive_rung_shows():
    rows = [row for row in own_code(against_published().rows) if row.step != "naive"]
    assert np.median(off(rows, "at_clock")) < 0.08
    assert off(rows, "at_clock").max() < 0.35


def test_ladders_that_had_no_part_in_the_one_number_of_the_model_are_predicted_as_well():
    """`LOSSES` was chosen by the ladders known before; the H200's, and those measured again, came after it."""
    rows = [row for row in against_published().rows if row.ladder.note in ("measured again", "our own kernels")]
    assert len(rows) == 21
    assert np.median(off(rows)) < 0.07 and off(rows).max() < 0.2


def test_where_the_model_is_further_off_is_known_and_told():
    far = {(row.ladder.gpu, row.step) for row in against_published().rows if abs(row.ratio - 1) > 1 / 3}
    assert far == {
        ("A100", "register_2d"),  # of other kernels
        ("A10", "coalesced"),
        ("A10", "register_2d"),
        ("A10", "prefetched"),
        ("T4", "coalesced"),
        ("T4", "register_2d"),
    }
    assert against_published().error < 0.08
    assert "2.08         2.08     655  loads and stores" in repr(against_published("T4"))
    with pytest.raises(ValueError, match="no published ladder of 'L4'"):
        against_published("L4")


@pytest.mark.parametrize("gpu", GPUS)
def test_no_prediction_beats_the_data_sheet_or_the_bytes_that_must_move(gpu):
    gpu = GPUS[gpu]
    for size in (1, 33, 500, 4096):
        for p in predicted_ladder(gpu, size):
            assert 0 < p.gflops * 1e9 <= gpu.flops_per_s
            assert p.seconds * gpu.bytes_per_s >= 12 * size**2
            assert p.bytes[0] <= p.bytes[1] <= p.bytes[2]
            assert p.limit in p.units
            assert set(p.units) <= set(UNITS)
            assert sum(p.requests.values()) == pytest.approx(p.units["loads and stores"])


def made_up(**changes):
    """A kernel of one warp that loads, multiplies and adds, a tile of 32 x 32 x 8 at a time."""
    tile = Work(256.0, 0.0, 512.0, {("shared", 1.0, 128.0): 64.0, ("global", 32.0, 128.0): 2.0})
    nothing = Work(0.0, 0.0, 0.0, {})
    return Counts(**dict(
        kernel="made up", arch="sm_86", threads=32, registers=32, shared_bytes=0, side=(32, 32, 8), trips={},
        once=nothing, tile=tile,
    ) | changes)  # fmt: skip


def test_each_unit_takes_the_cycles_that_a_count_by_hand_gives():
    gpu = dataclasses.replace(A6000, sms=1, clock=1e9, l2_bytes=100.0, l2_size=0)
    p = predicted(made_up(), gpu, False, 64, 32, 16)
    # Two blocks, one after the other on the only SM, of two tiles each.
    cycles = {unit: time * 1e9 / 4 for unit, time in p.units.items()}
    assert cycles["multiply-adds"] == pytest.approx(256 * 32 / 128)
    assert cycles["issue"] == pytest.approx(512 / 4)
    assert cycles["loads and stores"] == pytest.approx(64 * 2 + 2 * 32)
    assert {why: time * 1e9 / 4 for why, time in p.requests.items()} == pytest.approx(
        {"lanes": 128, "rounds": 0, "lines": 64, "bytes": 0}
    )
    assert p.units["second cache"] == pytest.approx((2 * 64 * 16 * 4 + 64 * 32 * 4) / 100e9)
    assert p.limit == "loads and stores"
    assert p.units["waiting"] == 0
    assert p.blocks == 2


def test_units_that_are_busy_at_once_lose_some_of_their_time():
    two = made_up(tile=Work(256.0, 0.0, 256.0, {}))  # 64 cycles of multiply-adds, and as many of issue
    p = predicted(two, dataclasses.replace(A6000, l2_bytes=1e9, bytes_per_s=1e18), False, 64, 32, 16)
    assert p.units["multiply-adds"] == p.units["issue"]
    assert p.seconds == pytest.approx(p.units["issue"] * 2 ** (1 / LOSSES))
    one = predicted(
        made_up(tile=Work(256.0, 0.0, 0.0, {})), dataclasses.replace(A6000, bytes_per_s=1e18), False, 64, 32, 16
    )
    assert one.units["losses"] < one.seconds / 1000


def test_a_t4_takes_two_cycles_for_a_round_and_a_line():
    requests = {("shared", 2.0, 512.0): 1.0, ("global", 4.0, 128.0): 1.0}
    p = predicted(made_up(tile=Work(1.0, 0, 1.0, requests)), T4, False, 32, 32, 8)
    assert {why: time * T4.clock for why, time in p.requests.items()} == pytest.approx(
        {"lanes": 0, "rounds": 4, "lines": 8, "bytes": 0}
    )


# A GPU on which only loads and stores, 192 cycles a tile, and round trips of 400 cycles take time.
LONE = dataclasses.replace(A6000, blocks=1, latency=400, bytes_per_s=1e18, l2_bytes=1e9)
FREE = Work(0.0, 0.0, 0.0, {("shared", 1.0, 128.0): 64.0, ("global", 32.0, 128.0): 2.0})
TILES = 4 * 100  # of the busiest SM


def waiting(trips, gpu=LONE):
    """The cycles that it waits for each tile."""
    p = predicted(made_up(tile=FREE, trips=trips), gpu, False, 32 * 84 * 4, 32, 800)
    return p.units["waiting"] * gpu.clock / TILES


def test_a_block_alone_waits_for_each_round_trip_in_full():
    assert waiting({0: 1}) == pytest.approx(400, rel=1e-4)
    assert waiting({0: 2.5}) == pytest.approx(1000, rel=1e-4)
    assert waiting({}) == 0


def test_blocks_that_wait_together_add_the_share_of_time_in_which_all_of_them_wait():
    share = 400 / (400 + 192)
    assert waiting({0: 1}, dataclasses.replace(LONE, blocks=2)) == pytest.approx(
        192 * (1 / (1 - share**2) - 1), rel=1e-4
    )


def test_what_is_computed_between_asking_and_needing_shortens_the_wait():
    assert waiting({1: 1}) == pytest.approx(400 - 192, rel=1e-4)
    assert waiting({2: 1}) == pytest.approx(400 - 2 * 192, rel=1e-3)
    assert waiting({3: 1}) == 0
    assert waiting({0: 1, 3: 1}) == pytest.approx(400, rel=1e-4)


def test_the_bytes_of_a_tile_take_their_time_to_come():
    assert waiting({0: 1}, dataclasses.replace(LONE, l2_bytes=64.0)) == pytest.approx(400 + 4 * 64 * 8 / 64, rel=0.01)


def test_what_the_second_cache_holds_comes_sooner():
    held = dataclasses.replace(LONE, l2_size=2**30, l2_latency=200)
    assert waiting({0: 1}, held) == pytest.approx(200, rel=1e-4)


def test_matrix_units_take_the_cycles_that_their_rate_gives():
    tile = Work(0.0, 0.0, 64.0, {}, {"tf32": 32 * 32 * 8.0, "float16": 512.0})
    gpu = dataclasses.replace(A6000, sms=1, clock=1e9, l2_bytes=1e9)
    p = predicted(made_up(tile=tile), gpu, False, 64, 32, 16)
    assert p.units["matrix units"] == pytest.approx(2 * 2 * (32 * 32 * 8 / 256 + 512 / 512) / 1e9)
    assert p.limit == "matrix units" and "products of small matrices" in repr(p)
    with pytest.raises(ValueError, match="no rate of T4's matrix units is known for tf32"):
        predicted(made_up(tile=tile), T4, False, 64, 32, 16)


def test_rates_of_matrix_units_are_those_of_the_data_sheets():
    said = {"T4": 65, "V100": 125, "A100": 312, "RTX 3070": 40.6, "RTX 3090": 71, "A6000": 154.8, "A10": 125}
    said |= {"L4": 121, "RTX 4080": 97.5, "RTX 4090": 165.2}
    tensor = {name: {of: 2 * many * gpu.sms * gpu.clock / 1e12 for of, many in gpu.matrix.items()}
              for name, gpu in GPUS.items()}  # fmt: skip
    assert {name: tensor[name]["float16"] for name in said} == pytest.approx(said, rel=0.01)
    said = {"A100": 156, "RTX 3090": 35.6, "A6000": 77.4, "A10": 62.5, "L4": 60, "RTX 4090": 82.6}
    assert {name: tensor[name]["tf32"] for name in said} == pytest.approx(said, rel=0.02)
    for name in ("H100", "H200"):  # at 1.83 GHz; a warp's own products reach 62.9 % of it
        gpu = GPUS[name]
        assert 2 * gpu.matrix["float16"] / 0.629 * gpu.sms * 1.83e9 == pytest.approx(989e12, rel=0.01)
    assert all(gpu.matrix.get("bfloat16", gpu.matrix["float16"]) == gpu.matrix["float16"] for gpu in GPUS.values())


def test_matrix_units_are_predicted_where_a_gpu_has_them():
    for gpu in ("A100", "RTX 3090", "RTX 4090", "H100"):
        for of in ladder.STEPS["matrix_units"].inputs:
            k = cuda_kernel("matrix_units", **ladder.STEPS["matrix_units"].defaults["GPU"] | {"INPUT": of})
            p = predict(k, gpu, 4096, 4096, 4096)
            most = 2 * GPUS[gpu].matrix[of] * GPUS[gpu].sms * GPUS[gpu].clock
            assert 0 < p.gflops * 1e9 <= 1.000001 * most and p.units["multiply-adds"] == 0
            assert p.units["matrix units"] >= 2 * 4096**3 / most
    with pytest.raises(ValueError, match=r"matrix_units needs compute capability 8\.0; T4 has 7\.5"):
        predict("matrix_units", "T4", 4096, 4096, 4096)


def test_memory_moves_what_a_wave_shares_and_each_number_once_where_the_second_cache_holds_it():
    side, grid = (32, 64, 8), (16, 8)  # 512 x 512
    few, most = 4 * 3 * 512 * 512, 4 * (128 * 96 * 512 + 512 * 512)
    assert fetched(side, grid, False, 16, 2**30, 512, 512, 512) == (few, few, most)
    # Two rows of eight blocks side by side: 64 rows of A and all 512 columns of B, eight times.
    shared = 4 * (8 * (64 + 512) * 512 + 512 * 512)
    assert fetched(side, grid, False, 16, 0, 512, 512, 512) == (few, shared, most)
    # A column of sixteen blocks: all 512 rows of A and 64 columns of B.
    assert fetched(side, grid, True, 16, 0, 512, 512, 512) == (few, 4 * (8 * (512 + 64) * 512 + 512 * 512), most)


def test_what_cannot_be_predicted_is_refused_by_name():
    with pytest.raises(ValueError, match="unknown GPU 'L5'"):
        predict("tiled", "L5", 8, 8, 8)
    with pytest.raises(ValueError, match="OpenCL"):
        predict(opencl_kernel("tiled"), "T4", 8, 8, 8)
    with pytest.raises(ValueError, match="not one block fits"):
        predicted(made_up(shared_bytes=200 * 1024), A6000, False, 8, 8, 8)
    with pytest.raises(ValueError, match="whole number from 1 to"):
        predict("tiled", "T4", 8, 0, 8)
    with pytest.raises(ValueError, match="each of its figures must be above 0"):
        predict("tiled", dataclasses.replace(T4, clock=0), 8, 8, 8)


def test_a_prediction_reads_as_a_sentence_and_a_line_a_unit():
    said = repr(predict("tiled", "A6000", 4096, 4096, 4096)).splitlines()
    assert said[0].endswith("predicted 3,001 GFLOP/s, 45.8 ms; its limit: loads and stores")
    assert said[1] == (
        "  65,536 blocks, 131 waves; A6000: 6 blocks at a time, 48 of 48 warps (100%), limited by registers and warps"
    )
    assert len(said) == 2 + len(UNITS) - 1  # nothing for matrix units
    assert "(100% lanes)" in said[2]


def test_a_gpu_of_ones_own_is_made_from_another_in_one_line():
    mine = dataclasses.replace(GPUS["RTX 4090"], name="mine", sms=24, clock=2.3e9)
    p = predict("coalesced", mine, 2048, 2048, 2048)
    assert p.gpu == "mine"
    assert p.gflops == pytest.approx(
        predict("coalesced", "RTX 4090", 2048, 2048, 2048).gflops * 24 / 128 * 2.3 / 2.52, rel=0.02
    )


def test_peaks_are_those_of_the_data_sheets():
    said = {"T4": 8.1, "V100": 15.7, "A100": 19.5, "RTX 3090": 35.6, "A6000": 38.7, "A10": 31.2, "L4": 30.3}
    said |= {"RTX 3070": 20.3, "RTX 4080": 48.7, "RTX 4090": 82.6, "H100": 67, "H200": 67}
    assert {name: gpu.flops_per_s / 1e12 for name, gpu in GPUS.items()} == pytest.approx(said, rel=0.01)


def test_sustained_rates_are_the_library_s_beside_the_ladders():
    for published in LADDERS:
        gpu = GPUS[published.gpu]
        assert (
            "PCIe" in published.note
            or not published.library
            or published.note == "measured again"
            or gpu.sustained * gpu.flops_per_s / 1e9 == pytest.approx(published.library, rel=0.03)
        )


def test_every_rung_is_counted_for_every_architecture_and_needs_no_compiler(monkeypatch):
    monkeypatch.setattr("helpers.instruments.counts.count", None)
    for name in ladder.steps("CUDA"):
        for gpu in GPUS:
            assert math.isfinite(predict(name, gpu, 64, 64, 64).seconds)
    assert {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90"} == set(ARCHS)


def test_requests_are_told_by_what_they_take_longest_for():
    naive, tiled = (predict(cuda_kernel(step, **SIZES[step]), "A6000", 4096, 4096, 4096) for step in ("naive", "tiled"))
    assert max(naive.requests, key=naive.requests.get) == "lines"
    assert max(tiled.requests, key=tiled.requests.get) == "lanes"
    assert set(naive.requests) == set(REQUESTS)


# What limits a rung is taken away, and nothing else; what others measured when they did the same stands beside it.


def on_a6000(k):
    return predict(k, "A6000", 4096, 4096, 4096)


def published(step):
    return dict(zip(SIZES, LADDERS[0].rates.values(), strict=True))[step]


def test_without_its_lines_naive_is_limited_by_lanes_and_faster_as_published():
    naive, coalesced = (on_a6000(cuda_kernel(step, **SIZES[step])) for step in ("naive", "coalesced"))
    assert max(naive.requests, key=naive.requests.get) == "lines"
    assert max(coalesced.requests, key=coalesced.requests.get) == "lanes"
    assert coalesced.gflops / naive.gflops == pytest.approx(published("coalesced") / published("naive"), rel=0.35)


def test_with_its_loads_joined_register_2d_asks_less_often_and_makes_fewer_round_trips():
    narrow, wide = (on_a6000(cuda_kernel(step, **SIZES[step])) for step in ("register_2d", "vectorized"))
    assert narrow.units["loads and stores"] > 1.3 * wide.units["loads and stores"]
    assert narrow.units["waiting"] > 2 * wide.units["waiting"]
    theirs = {row.step: row.prediction.gflops for row in against_published("A6000").rows[: len(SIZES)]}
    gain = published("vectorized") / published("register_2d")
    assert theirs["vectorized"] / theirs["register_2d"] == pytest.approx(gain, rel=0.1)


def test_with_more_blocks_an_sm_tiled_waits_less_and_gains_no_more_than_it_waited():
    one, six = (on_a6000(cuda_kernel("tiled", TILE=tile)) for tile in (32, 16))
    assert (one.occupancy.blocks, six.occupancy.blocks) == (1, 6)
    assert one.units["waiting"] > 0.1 * one.seconds > six.units["waiting"]
    assert one.seconds - six.seconds < one.units["waiting"]


def test_double_buffering_gains_no_more_than_the_waiting():
    """SGEMM_CUDA's did not help, either."""
    vectorized, prefetched = (on_a6000(cuda_kernel(step, **SIZES[step])) for step in ("vectorized", "prefetched"))
    assert 0.1 < vectorized.units["waiting"] / vectorized.seconds < 0.4
    assert prefetched.gflops / vectorized.gflops < vectorized.seconds / (
        vectorized.seconds - vectorized.units["waiting"]
    )
    assert prefetched.units["waiting"] == 0


def rounds(p):
    return p.requests["rounds"] / p.seconds


@needs_compiler
def test_bank_conflicts_cost_what_they_hold_up_and_nothing_where_something_else_is_the_limit():
    source = cuda_kernel("tiled").source
    turned = source.replace("Bs[ty, tx] =", "Bs[tx, ty] =").replace("Bs[k, tx]", "Bs[tx, k]")
    padded = turned.replace("Bs = cuda.shared.array((TILE, TILE)", "Bs = cuda.shared.array((TILE, LONG)")
    padded = padded.replace("    @cuda.jit", "    LONG = TILE + 1\n\n    @cuda.jit")
    conflicts, none = (on_a6000(cuda_kernel(text, like="tiled", TILE=32)) for text in (turned, padded))
    right = on_a6000(cuda_kernel("tiled", TILE=32))
    # Four loads that were joined take the rounds of quarters of a warp: threads 128 bytes apart take 8 a quarter.
    assert conflicts.gflops < right.gflops / 2.5
    assert rounds(conflicts) > 0.6
    assert none.gflops == pytest.approx(right.gflops, rel=0.15)
    assert rounds(none) < 0.05
    # SGEMM_CUDA's kernels without conflicts were no faster than the vectorized one with them.
    unpadded = cuda_kernel("vectorized").source.replace("BM + 4", "BM")
    vectorized = on_a6000(cuda_kernel(unpadded, like="vectorized", **SIZES["vectorized"]))
    assert vectorized.gflops == pytest.approx(
        on_a6000(cuda_kernel("vectorized", **SIZES["vectorized"])).gflops, rel=0.03
    )


@pytest.mark.parametrize(
    "name, units, known",
    [
        ("NVIDIA RTX A6000", 84, "A6000"),
        ("Tesla T4", 40, "T4"),
        ("NVIDIA A100-SXM4-80GB", 108, "A100"),
        ("NVIDIA GeForce RTX 4090", 128, "RTX 4090"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", 76, None),
        ("NVIDIA H100 80GB HBM3", 132, "H100"),
        ("NVIDIA H100 PCIe", 114, None),
        ("NVIDIA L40S", 142, None),
        ("NVIDIA A10G", 80, None),
        ("the simulator", 1, None),
    ],
)
def test_this_machine_s_gpu_is_known_by_its_name_and_its_multiprocessors(monkeypatch, name, units, known):
    device = dataclasses.replace(devices.cuda_device(), name=name, units=units, kind="GPU")
    monkeypatch.setattr(devices, "cuda_device", lambda: device)
    assert getattr(gpu_here(), "name", None) == known
