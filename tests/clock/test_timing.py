"""Timings say what was measured, and nothing where a time would be a lie. (No test here depends on speed.)"""

import importlib.util
import os
import sys

import numpy as np
import pytest

from helpers import cuda_kernel, devices, ladder, measure, measure_ladder, opencl_kernel
from helpers.clock import compare, contests, timing
from helpers.clock.timing import REPEATS, Timing, spell_seconds
from helpers.launch import HostKernel, KernelError


def test_the_rate_is_2mnk_over_the_median():
    t = Timing("OpenCL", "tiled", 100, 200, 300, 0.004, 0.1, "a device", {})
    assert t.gflops == pytest.approx(2 * 100 * 200 * 300 / 0.004 / 1e9)
    assert not t.untimed and t.row()["gflops"] == t.gflops
    assert repr(t) == "tiled (OpenCL), 100 x 200 x 300: 4 ms (± 5 %), 3 GFLOP/s"
    busy = Timing("OpenCL", "tiled", 100, 200, 300, 0.004, 2.1, "a device", {})
    assert repr(busy) == "tiled (OpenCL), 100 x 200 x 300: 4 ms (a busy machine), 3 GFLOP/s"  # 105 % would mean nothing


def test_measure_takes_a_size_or_a_shape():
    for size, shape in ((32, (32, 32, 32)), ((8, 16, 24), (8, 16, 24))):
        t = measure(opencl_kernel("naive"), size)
        assert shape == (t.M, t.N, t.K)
        assert t.seconds > 0 and t.spread >= 0 and t.build_seconds > 0 and t.transfer_seconds > 0


def test_simulated_kernels_have_no_rate():
    k = cuda_kernel("tiled")
    t = measure(k, 1024)
    if k.device.kind != "PTX machine":
        pytest.skip("CUDA runs on a GPU here, not on the PTX machine")
    assert t.untimed and t.seconds is None and t.gflops is None
    assert repr(t) == "tiled (CUDA), 1024 x 1024 x 1024: no GPU here, so no time and no rate"


def test_the_first_call_is_not_counted():
    calls = []
    t = measure(lambda A, B: calls.append(0) or A @ B, 4)
    assert len(calls) > REPEATS and t.dialect == "Python"


def test_unchecked_kernels_are_not_timed():
    for build in (cuda_kernel, opencl_kernel):
        with pytest.raises(KernelError, match="has not passed a check"):
            measure(build(build("naive").source, like="naive", BM=4, BN=4), 8)


def test_the_ladder_is_numpy_then_each_rung():
    timings = measure_ladder(upto="tiled", size=16, dialects=["OpenCL"])
    rungs = ladder.steps("OpenCL")
    rungs = rungs[: rungs.index("tiled") + 1]
    assert [t.step for t in timings] == ["numpy_matmul", *rungs] and rungs[:2] == ("naive", "coalesced")


@pytest.mark.parametrize("seconds, words", [(2.5, "2.5 s"), (0.00123, "1.23 ms"), (4e-6, "4 µs"), (5e-7, "0.5 µs")])
def test_seconds_are_spelled_with_a_unit(seconds, words):
    assert spell_seconds(seconds) == words


def test_the_machines_limits_are_finite():
    from helpers import machine_limits

    limits = machine_limits()
    assert np.isfinite([limits.flops_per_s, limits.bytes_per_s]).all() and limits.ridge > 0


def test_a_comparison_takes_turns_and_reports_the_median_ratio(monkeypatch):
    order, seconds = [], iter([2.0, 1.0, 1.0, 4.0, 9.0, 3.0])

    def timed(k, size, *_):
        order.append(k)
        return Timing("Python", str(k), 8, 8, 8, next(seconds), 0.0, "host", {})

    monkeypatch.setattr(contests, "measure", timed)
    mine, yours = HostKernel(np.matmul), HostKernel(np.dot)
    result = compare(mine, yours, 8, rounds=3)
    assert order == [yours, mine, mine, yours, yours, mine]
    assert result.ratios == (2.0, 3.0, 4.0) and result.ratio == 3.0 and result.first.seconds == 3.0
    assert "3.00 times (2.00 to 4.00)" in repr(result)


def test_what_is_simulated_cannot_be_compared():
    if not devices.compiling():
        pytest.skip("CUDA runs on a GPU here")
    with pytest.raises(
        ValueError, match=r"^a CUDA kernel has no speed to compare without a GPU; compare OpenCL kernels\.$"
    ):
        compare(cuda_kernel("naive"), np.matmul, 8)


@pytest.mark.parametrize("clock, least", [("brief", 0.01), (None, 0.5)])
def test_only_the_processes_of_tests_have_a_brief_clock(clock, least, monkeypatch):
    """What a learner starts is timed in full; HELPERS_CLOCK is set by conftest.py alone."""
    assert timing.LONG_ENOUGH == 0.5 and os.environ["HELPERS_CLOCK"] == "brief"
    monkeypatch.setenv("HELPERS_CLOCK", clock or "")
    about = importlib.util.spec_from_file_location("helpers.clock.timing_again", timing.__file__)
    again = importlib.util.module_from_spec(about)  # as a process that begins would load it
    monkeypatch.setitem(sys.modules, about.name, again)
    about.loader.exec_module(again)
    assert least == again.LONG_ENOUGH
