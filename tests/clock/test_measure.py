"""What `measure` does, in order, by a clock that moves only when a stand-in moves it: no test waits."""

import itertools
from functools import partial

import numpy as np
import pytest

from helpers import measure, opencl_kernel
from helpers.clock import Timing, timing
from helpers.devices import Device
from helpers.launch import Contestant, kernel
from helpers.launch.kernel import Work
from helpers.many import streamed

UPLOAD, DOWNLOAD = 3.0, 2.0  # seconds that they take here


class Clock:
    """Stands in for the module `time`: it moves when something sleeps, or passes."""

    def __init__(self):
        self.now, self.slept = 100.0, []

    def perf_counter(self):
        return self.now

    def pass_by(self, seconds):
        self.now += seconds

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.pass_by(seconds)


class StandIn(Contestant):
    """Notes in `seen` what it is asked for. Each launch takes the next of the seconds, the last of them for ever."""

    dialect, name, build_seconds = "OpenCL", "a stand-in", 7.0
    parameters = {"TILE": 4}  # noqa: RUF012

    def __init__(self, clock, kind, *seconds):
        self.device = kind and Device("OpenCL", f"a {kind}", kind, "none", 64, 1 << 15)
        self.clock, self.seen = clock, []
        self.seconds = itertools.chain(seconds[:-1], itertools.repeat(seconds[-1]))

    def refuse(self, M, N, K):
        self.seen.append(("refuse", M, N, K))

    def ready(self, M, N, K):
        self.seen.append(("ready", M, N, K))
        return self

    def upload(self, A, B, fill=np.nan):
        self.seen.append(("upload", A.shape, B.shape, len(self.clock.slept)))
        self.clock.pass_by(UPLOAD)
        return StandInWork(self)


class StandInWork(Work):
    def __init__(self, k):
        self.k = k

    def timed(self, launches):
        took = sum(next(self.k.seconds) for _ in range(launches))
        self.k.seen.append(("timed", launches))
        self.k.clock.pass_by(took)
        return took / launches

    def download(self):
        self.k.seen.append(("download",))
        self.k.clock.pass_by(DOWNLOAD)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    for module in (timing, kernel):
        monkeypatch.setattr(module, "time", clock)
    return clock


def launches(k):
    """How many launches each call of `timed` had."""
    return [what[1] for what in k.seen if what[0] == "timed"]


def test_on_a_cpu_it_idles_warms_up_once_and_takes_the_median_of_single_launches(clock):
    k = StandIn(clock, "CPU", 50.0, 0.4, 0.1, 0.2, 90.0)
    t = measure(k, (2, 3, 5))
    assert clock.slept == [0.3]
    # First whatever must be built is built. Idle, then A (2, 5) and B (5, 3); the first launch, of 50 s, is not
    # counted; 0.4 + 0.1 + 0.2 is long enough.
    upload = ("upload", (2, 5), (5, 3), 1)
    assert k.seen == [("refuse", 2, 3, 5), ("ready", 2, 3, 5), upload, *[("timed", 1)] * 4, ("download",)]
    assert t.seconds == pytest.approx(0.2)
    assert t.spread == pytest.approx((0.3 - 0.15) / 0.2)  # the quartiles of 0.1, 0.2, 0.4
    assert t.transfer_seconds == pytest.approx(UPLOAD + DOWNLOAD) and t.build_seconds == 7.0
    assert (t.dialect, t.step, t.device, t.parameters) == ("OpenCL", "a stand-in", "a CPU", {"TILE": 4})
    assert (t.M, t.N, t.K) == (2, 3, 5) and t.gflops == pytest.approx(2 * 2 * 3 * 5 / 0.2 / 1e9)


def test_on_a_cpu_launches_go_on_until_half_a_second_is_over_and_there_are_three_at_least(clock):
    k = StandIn(clock, None, 1 / 1024)
    assert measure(k, 8).transfer_seconds == 0 and launches(k) == [1] * (1 + 512)  # the host's copies are no transfer
    k.seen.clear()
    measure(k, 8, seconds=1 / 4)
    assert launches(k) == [1] * (1 + 256)  # as many seconds as are asked for
    k = StandIn(clock, "CPU", 60.0)
    assert measure(k, 8).seconds == 60.0 and launches(k) == [1] * (1 + 3)


def test_a_gpu_is_warmed_up_for_a_time_and_timed_in_batches(clock):
    slow, fast = 1 / 32, 1 / 1024  # at first its own clock is low
    k = StandIn(clock, "GPU", *[slow] * 5, fast)
    t = measure(k, 8)
    # One launch, then batches of about 0.05 s, until 0.2 s have passed. What it took at first is not counted.
    # Then eleven batches are half a second: 1/1024 s goes 51 times into 0.05 s.
    assert launches(k) == [1, 2, 2, 2, 51] + [51] * 11 and 5 * slow + 2 * fast < 0.2 < 5 * slow + 53 * fast
    assert t.seconds == pytest.approx(fast) and t.spread == pytest.approx(0) and clock.slept == [0.3]
    k = StandIn(clock, "GPU", 1e-6)
    measure(k, 8, 1e-6)
    assert max(launches(k)) == 1000  # as many as a driver lets wait


def test_a_function_of_the_host_gets_random_float32_of_1024_a_side(clock):
    calls, seconds = [], iter([60.0, 30.0, 1.0, 3.0, 2.0])  # a function may compile in its first call

    def multiply(A, B):
        calls.append((A, B))
        clock.pass_by(next(seconds))
        return A

    assert measure(multiply).seconds == 2.0 and len(calls) == 5
    for X in calls[-1]:  # evenly from -1 to 1; some hardware is faster with zeros
        assert X.dtype == np.float32 and X.shape == (1024, 1024) and 0.5 < X.std() < 0.65


def test_nothing_is_built_while_the_clock_runs(clock):
    k = StandIn(clock, "CPU", 1.0)
    k.ready = partial(Contestant.ready, k)  # which launches once at each size
    measure(k, (50, 60, 70))
    measure(k, (50, 60, 70))
    assert [what[3] for what in k.seen if what[0] == "upload"] == [0, 1, 2]  # how often it had idled


def test_what_is_here_is_timed():
    for k in (opencl_kernel("naive"), streamed(opencl_kernel("naive"), 2e6)):
        t = measure(k, (8, 16, 24), 0.01)
        assert t.seconds > 0 and t.spread >= 0 and t.build_seconds >= 0 and t.transfer_seconds > 0
    t = measure(np.matmul, 8, 0.01)
    assert (t.dialect, t.step, t.device, t.transfer_seconds) == ("Python", "matmul", "host", 0.0)


@pytest.mark.parametrize(
    "seconds, spread, words",
    [
        (0.004, 0.1, "4 ms (± 5 %), 3 GFLOP/s"),
        (2.5, 0.0, "2.5 s (± 0 %), 0.0048 GFLOP/s"),
        (5e-7, 0.0, "0.5 µs (± 0 %), 2.4e+04 GFLOP/s"),
    ],
)
def test_a_timing_shows_its_rate_and_its_spread(seconds, spread, words):
    t = Timing("OpenCL", "tiled", 100, 200, 300, seconds, spread, "a device", {})
    assert repr(t) == f"tiled (OpenCL), 100 x 200 x 300: {words}"
