"""What the model says of our kernels, beside what an H200's clock and counters said of them: counters.toml."""

import numpy as np
import pytest

from gpu_model import UNITS
from gpu_model.published import OURS as COUNTERS
from gpu_model.published import as_it_ran, theirs
from helpers.instruments import GPUS, limits_tested, nsight_screen
from helpers.ladder import spell

GPU = GPUS[COUNTERS["gpu"]]
ROWS = {"-".join([row["step"], *map(str, row["parameters"].values())]): row for row in COUNTERS["kernel"]}
COUNTS = {name: theirs()[f"{row['step']} with {spell(row['parameters'])}", GPU.arch] for name, row in ROWS.items()}
PREDICTED = {name: as_it_ran(row) for name, row in ROWS.items()}


def test_registers_shared_memory_and_blocks_are_those_of_the_gpu():
    assert len(ROWS) == len(COUNTERS["kernel"]) == 21 and GPU.name in COUNTERS["device"]
    for name, row in ROWS.items():
        counts, blocks = COUNTS[name], PREDICTED[name].occupancy.blocks
        found = counts.registers, counts.shared_bytes, blocks
        assert found == (row["registers"], row["shared_bytes"], row["blocks"]), name


def test_times_are_predicted_as_near_to_the_gpus_as_they_were():
    """Who changes the model on purpose puts its new numbers here; the first two tell whether it has become better."""
    ratios = np.array([ROWS[name]["ms"] / 1e3 / p.seconds for name, p in PREDICTED.items()])
    near = np.median(np.abs(ratios - 1)), np.abs(ratios - 1).max()
    assert near == pytest.approx((0.0631, 0.2622), abs=1e-4)
    totals = {unit: 1e3 * sum(p.units.get(unit, 0) for p in PREDICTED.values()) for unit in UNITS}
    assert totals == pytest.approx(
        {
            "multiply-adds": 39.9153,
            "memory": 6.395,
            "L2 cache": 31.0112,
            "loads and stores": 395.5556,
            "losses": 27.7875,
            "waiting": 82.2032,
            "issue": 119.6018,
            "integers": 89.9176,
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
        "latency-bound": (18, 21),
        "bank conflicts taken away": (5, 6),
        "other sizes of our kernels": (18, 21),
    }
    lines = repr(found).splitlines()
    assert len(lines) == len(asked) + sum(not one.agrees for one in found.tests)
    assert "      ✗ H200, vectorized 128 128 16 8 8: measured 64% busy, predicted 57%" in lines


def test_the_screen_has_nsight_computes_word_beside_ours_for_all_that_was_counted(capsys):
    nsight_screen("register_2d 128 128 16 8 8")
    said = capsys.readouterr().out.splitlines()
    assert "  Issue Slots Busy            issue                 57%    60%" in said
    assert "  Device Memory               memory               0.42   0.40" in said
    assert "  Stall Long Scoreboard       L2 cache or memory       1.80" in said
    for row in ROWS.values():
        assert all(row[of].keys() <= COUNTERS["nsight"][of].keys() for of in ("busy", "stalls"))
