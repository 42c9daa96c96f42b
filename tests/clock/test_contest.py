"""Contests: who is timed when, at which size, and who is said to be ahead. No test here waits, or depends on speed."""

from types import SimpleNamespace

import pytest

from helpers import compare, ladder, measure_ladder
from helpers.clock import Comparison, Timing, contest, timing
from helpers.clock.timing import LONG_ENOUGH, ROUNDS, ladder_kernels, usual_size
from helpers.launch import Contestant


@pytest.fixture
def calls(monkeypatch):
    """The arguments of each measurement, in order. Each takes a second more than the last."""
    happened = []

    def timed(k, size, seconds, idle):
        happened.append((str(k), size, seconds, idle))
        M, N, K = size if isinstance(size, tuple) else (size,) * 3
        return Timing("Python", str(k), M, N, K, float(len(happened)), 0.0, "host", {})

    monkeypatch.setattr(timing, "measure", timed)
    return happened


def test_a_comparison_is_of_that_size_and_so_many_rounds(calls):
    result = compare(max, min, (2, 3, 4), rounds=4)
    names = ["min", "max", "max", "min", "min", "max", "max", "min"]
    assert calls == [(name, (2, 3, 4), LONG_ENOUGH / 4, True) for name in names]  # all rounds together: long enough
    # Rounds of (a, b): (2, 1), (3, 4), (6, 5), (7, 8) seconds; sorted by ratio, the third is the median round.
    assert result.ratios == (1 / 2, 5 / 6, 8 / 7, 4 / 3) and result.ratio == pytest.approx((5 / 6 + 8 / 7) / 2)
    assert (result.first.seconds, result.second.seconds) == (7, 8)
    assert repr(result).endswith("GFLOP/s, min 6e-09: 0.99 times as fast (rounds: 0.50 to 1.33)")
    assert compare(max, max, 8, 1).verdict == "undecided"
    calls.clear()
    compare(max, min)
    assert [size for _, size, *_ in calls] == [1024] * 2 * ROUNDS


@pytest.mark.parametrize("devices, idles", [("aa", [True, False]), ("ab", [True, True]), ("--", [True, True])])
def test_the_process_idles_between_turns_unless_all_run_on_one_device(calls, devices, idles):
    kernels = [Contestant() for _ in devices]
    for k, name in zip(kernels, devices, strict=True):
        k.name, k.device = name, None if name == "-" else name
    contest(kernels, 8, rounds=2)
    assert [idle for *_, idle in calls] == idles + 2 * idles[1:]


def test_numpy_is_timed_and_each_rung_up_to_a_step_at_that_size(calls):
    timings = measure_ladder(upto="tiled", size=(8, 9, 10), dialects=["OpenCL"])
    rungs = ladder.rungs()[: ladder.rungs().index("tiled") + 1]
    names = ["numpy_matmul", *(f"{rung} (OpenCL)" for rung in rungs)]
    assert [t.step for t in timings] == names and sorted(name for name, *_ in calls) == sorted(names)
    assert {size for _, size, *_ in calls} == {(8, 9, 10)}
    calls.clear()
    assert len(measure_ladder(dialects=["OpenCL"])) > 6
    assert {size for _, size, *_ in calls} == {usual_size(ladder_kernels(["OpenCL"]))}


def test_a_ladder_has_rungs_of_both_dialects_where_something_times_them(no_spirv, monkeypatch, capsys):
    assert [str(k) for k in ladder_kernels(None, ["naive"])] == ["numpy_matmul", "naive (OpenCL)"]
    assert capsys.readouterr().out.startswith("not timed, on the PTX machine: naive (CUDA). ")
    monkeypatch.undo()
    assert [str(k) for k in ladder_kernels(None, "naive")] == ["numpy_matmul", "naive (CUDA)", "naive (OpenCL)"]
    assert {k.step for k in ladder_kernels("CUDA")[1:]} <= {*ladder.steps("CUDA")}


def test_the_usual_size_is_larger_with_a_gpu():
    cpu, gpu = (SimpleNamespace(device=SimpleNamespace(kind=kind)) for kind in ("CPU", "GPU"))
    host = SimpleNamespace(device=None)
    assert usual_size([host, cpu]) == 512 and usual_size([host, cpu, gpu]) == 2048


@pytest.mark.parametrize(
    "ratios, verdict",
    [
        ([1.06] * 8 + [30.0], "ahead"),
        ([0.94] * 9, "behind"),
        ([1.06] * 8 + [1.04], "undecided"),
        ([0.94] * 8 + [0.96], "undecided"),
        ([2.0] * 8, "undecided"),  # too few rounds
    ],
)
def test_an_order_is_five_per_cent_in_each_of_nine_rounds(ratios, verdict):
    t = Timing("OpenCL", "tiled", 8, 8, 8, 1.0, 0.0, "a device", {})
    assert Comparison(t, t, tuple(ratios)).verdict == verdict
