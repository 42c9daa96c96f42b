"""What we count of our kernels, beside what a GPU's own counters said of them: counters.toml has those of an H200."""

import numpy as np
import pytest

from gpu_model import UNITS
from gpu_model.published import OURS as COUNTERS
from gpu_model.published import as_it_ran, theirs
from helpers.instruments import GPUS, limits_tested
from helpers.ladder import ceil_div, spell

SIZE, GPU = COUNTERS["size"], GPUS[COUNTERS["gpu"]]
ROWS = {"-".join([row["step"], *map(str, row["parameters"].values())]): row for row in COUNTERS["kernel"]}
COUNTS = {name: theirs()[f"{row['step']} with {spell(row['parameters'])}", GPU.arch] for name, row in ROWS.items()}
WITH_STORES = "matrix_units-128-128-16-64-32-bfloat16"
PREDICTED = {name: as_it_ran(row) for name, row in ROWS.items()}


def whole(counts, of):
    """A count of the whole grid. `of`: a function of `Work`."""
    rows, columns, depth = counts.side
    blocks = ceil_div(SIZE, rows) * ceil_div(SIZE, columns)
    return blocks * (of(counts.once) + ceil_div(SIZE, depth) * of(counts.tile))


def requests(memory, rounds=False):
    return lambda work: sum(
        many * (pieces if rounds else 1) for (at, pieces, _), many in work.requests.items() if at == memory
    )


def outside(low, high, ours, measured):
    """The kernels of which ours is off by another share of the measured number. Both: functions of a name or a row."""
    found = set()
    for name, row in ROWS.items():
        count, there = ours(name), measured(row)
        if not low <= (count / there - 1 if there else count) <= high:
            found.add(name)
    return found


def test_what_is_counted_of_a_kernel_is_what_the_gpu_counted():
    assert len(ROWS) == len(COUNTERS["kernel"]) == 21 and GPU.name in COUNTERS["device"]
    for name, row in ROWS.items():
        counts, blocks = COUNTS[name], PREDICTED[name].occupancy.blocks
        found = counts.registers, counts.shared_bytes, blocks
        assert found == (row["registers"], row["shared_bytes"], row["blocks"]), name


@pytest.mark.parametrize(
    "low, high, of, measured, apart",
    [
        # Where lanes of a warp part ways at a guard, it passes the place where they meet twice; we count it once.
        (-0.007, 1e-3, lambda work: work.instructions, lambda row: row["instructions"], {"register_1d-64-64-8-16"}),
        # Of prefetched, a tile more than it asks for.
        (-1e-4, 0.004, requests("global"), lambda row: row["requests"]["global"], set()),
        (-1e-4, 1e-4, requests("shared"), lambda row: row["requests"]["shared"], set()),
        # The GPU counts rounds in which a store waits for what else comes to the banks; they are not in the addresses.
        (-0.01, 0, requests("shared", True), lambda row: sum(row["rounds"].values()), {WITH_STORES}),
    ],
)
def test_instructions_and_requests_are_those_of_the_gpu(low, high, of, measured, apart):
    assert outside(low, high, lambda name: whole(COUNTS[name], of), measured) == apart


def test_bytes_are_those_of_the_gpu_but_where_a_cache_has_another_say():
    """The first cache cannot keep what naive's warps share, and keeps what small blocks side by side share. Blocks that
    never wait for memory drift apart; a second cache that is too small then brings B for each row of blocks."""
    second = outside(0, 0.1, lambda name: PREDICTED[name].bytes[2], lambda row: row["l2_bytes"])
    assert second == {"naive-32-8", "tiled-8"}
    apart = outside(-0.05, 0, lambda name: PREDICTED[name].bytes[1], lambda row: row["memory_bytes"])
    assert apart == {
        *("naive-32-8", "tiled-8", "tiled-16", "tiled-32", "register_1d-64-64-8-16", "register_2d-64-64-16-4-4"),
        *("vectorized-64-64-16-4-4", "prefetched-128-128-8-8-8-64-32", "prefetched-128-128-16-8-8-64-32"),
        "prefetched-64-64-16-8-4-32-32",
    }


def test_times_are_predicted_as_near_to_the_gpus_as_they_were():
    """Who changes the model on purpose puts its new numbers here; the first two tell whether it has become better."""
    ratios = np.array([ROWS[name]["ms"] / 1e3 / p.seconds for name, p in PREDICTED.items()])
    near = np.median(np.abs(ratios - 1)), np.abs(ratios - 1).max()
    assert near == pytest.approx((0.0557, 0.2703), abs=1e-4)
    totals = {unit: 1e3 * sum(p.units.get(unit, 0) for p in PREDICTED.values()) for unit in UNITS}
    assert totals == pytest.approx(
        {
            "multiply-adds": 39.9153,
            "memory": 6.395,
            "second cache": 38.79,
            "loads and stores": 395.5556,
            "losses": 16.6141,
            "waiting": 85.8938,
            "issue": 119.6018,
            "whole numbers": 89.9176,
            "matrix units": 0.6315,
        },
        abs=1e-3,
    )


def test_the_model_agrees_so_often_and_each_miss_is_told():
    found = limits_tested()
    asked = {}
    for one in found.tests:
        asked.setdefault(one.question.partition(":")[0], []).append(one.agrees)
    assert {question: (sum(said), len(said)) for question, said in asked.items()} == {
        "limits by a GPU's counters, our kernels": (18, 21),
        "limits by others' counters": (3, 3),
        "starts of instructions, by others' counters": (5, 6),
        "bank conflicts taken away": (9, 10),
        "other sizes of our kernels": (18, 21),
    }
    lines = repr(found).splitlines()
    assert len(lines) == len(asked) + sum(not one.agrees for one in found.tests)
    assert "      ✗ A6000, prefetched: measured 66%, predicted 77%" in lines
