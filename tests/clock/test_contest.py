"""Contests: who is timed when, at which size, and what comes of it. `measure` is a stand-in; nothing runs."""

import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import ladder, measure_ladder, progress
from helpers.clock import Timing, compare, contest, contests
from helpers.clock.contests import ladder_kernels, numpy_matmul, usual_size
from helpers.clock.timing import LONG_ENOUGH

spent = []  # seconds that each measurement was given


@pytest.fixture
def calls(monkeypatch):
    """What happened, in order: ("each", k) and ("measure", k, size). Each measurement takes a second more."""
    happened = []

    def timed(k, size, seconds=None, idle=True):
        spent.append(seconds)
        happened.append(("measure", str(k), size))
        M, N, K = size if isinstance(size, tuple) else (size,) * 3
        return Timing("Python", str(k), M, N, K, float(len(happened)), 0.0, "host", {})

    monkeypatch.setattr(contests, "measure", timed)
    return happened


def test_each_is_called_before_each_turn(calls):
    contest(["a", "b"], 8, rounds=2, each=lambda k: calls.append(("each", k)))
    turns = ["b", "a", "a", "b"]
    assert calls == [what for k in turns for what in (("each", k), ("measure", k, 8))]


def test_who_waits_for_a_comparison_sees_whose_turn_it_is(calls, monkeypatch, capsys):
    monkeypatch.setattr(progress, "PATIENCE", 0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    compare(max, min, 8, rounds=1)
    said = capsys.readouterr().err
    assert re.findall(r"timing in turns: \d+ s \| (\w+)", said) == ["min", "max"]


def test_a_comparison_is_of_that_size_and_so_many_rounds(calls):
    spent.clear()
    result = compare(max, min, (2, 3, 4), rounds=4)
    assert spent == 8 * [LONG_ENOUGH / 4]  # all rounds together are long enough
    assert calls == [("measure", str(k), (2, 3, 4)) for k in (min, max, max, min, min, max, max, min)]
    # Rounds of (a, b): (2, 1), (3, 4), (6, 5), (7, 8) seconds; sorted by ratio, the third is the median round.
    assert result.ratios == (1 / 2, 5 / 6, 8 / 7, 4 / 3) and result.ratio == pytest.approx((5 / 6 + 8 / 7) / 2)
    assert (result.first.seconds, result.second.seconds) == (7, 8)
    assert ": 0.99 times as fast (rounds: 0.50 to 1.33)" in repr(result)


def test_a_comparison_is_of_1024_a_side_and_of_as_many_rounds_as_an_order_needs(calls):
    compare(max, min)
    assert [size for *_, size in calls] == [1024] * 2 * contests.ROUNDS


def test_no_round_and_no_kernel_is_no_contest(calls):
    with pytest.raises(ValueError, match="rounds=0 does not do"):
        contest(["a"], 8, rounds=0)
    with pytest.raises(ValueError, match=r"^kernels=\[\] does not do"):
        contest([], 8)
    assert calls == []


def test_numpy_is_timed_and_then_each_rung_up_to_a_step_at_that_size(calls):
    timings = measure_ladder(upto="tiled", size=(8, 9, 10), dialects=["OpenCL"])
    rungs = ladder.steps("OpenCL")
    names = ["numpy_matmul", *(f"{rung} (OpenCL)" for rung in rungs[: rungs.index("tiled") + 1])]
    assert calls == [("measure", name, (8, 9, 10)) for name in names] and names[1:3] == [
        "naive (OpenCL)",
        "coalesced (OpenCL)",
    ]
    assert [t.step for t in timings] == names


def test_a_ladder_has_rungs_of_both_dialects_where_something_times_them(no_spirv, monkeypatch, capsys):
    asked = dict(steps=["naive"], size=8)
    assert [str(k) for k in ladder_kernels(**asked)] == ["numpy_matmul", "naive (OpenCL)"]
    assert capsys.readouterr().out.startswith("not timed, on the PTX machine: naive (CUDA). ")
    monkeypatch.undo()
    assert [str(k) for k in ladder_kernels(**asked)] == ["numpy_matmul", "naive (CUDA)", "naive (OpenCL)"]


def test_the_usual_size_is_larger_with_a_gpu(calls):
    cpu, gpu = (SimpleNamespace(device=SimpleNamespace(kind=kind)) for kind in ("CPU", "GPU"))
    host = SimpleNamespace(device=None)
    assert usual_size([host, cpu]) == 512 and usual_size([host, cpu, gpu]) == 2048
    kernels = ladder_kernels(dialects=["OpenCL"], steps=["naive"])
    measure_ladder(dialects=["OpenCL"], steps=["naive"])
    assert {size for _, _, size in calls} == {usual_size(kernels)}


def test_what_is_too_large_is_refused_before_anything_is_timed(calls):
    with pytest.raises(MemoryError):
        measure_ladder(steps=["naive"], size=1 << 20, dialects=["OpenCL"])
    assert calls == []


def test_numpys_product_is_numpys():
    A, B = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(12, dtype=np.float32).reshape(3, 4)
    C = numpy_matmul(A, B)
    assert C.dtype == np.float32 and C.tolist() == [[20, 23, 26, 29], [56, 68, 80, 92]]
