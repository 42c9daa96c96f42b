"""What `measure` does, in order, by a clock that moves only when a stand-in moves it: no test waits."""

import itertools

import numpy as np
import pytest

from helpers import measure, opencl_kernel
from helpers.clock import Timing, timing
from helpers.devices import Device
from helpers.launch import Contestant, HostKernel, kernel
from helpers.launch.kernel import Work

UPLOAD, DOWNLOAD = 3.0, 2.0  # seconds that they take here


class Clock:
    """Stands in for the module `time`: it moves when something sleeps, or calls `pass_by`."""

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
        self.device = kind and Device("OpenCL", f"a {kind}", kind, "none", 64, 1 << 15, None)
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
    # First whatever must be built is built.
    # Idle, then A (2, 5) and B (5, 3); the first launch, of 50 s, is not counted; 0.4 + 0.1 + 0.2 is long enough.
    assert k.seen == [
        ("refuse", 2, 3, 5),
        ("ready", 2, 3, 5),
        ("upload", (2, 5), (5, 3), 1),
        *[("timed", 1)] * 4,
        ("download",),
    ]
    assert t.seconds == pytest.approx(0.2)
    assert t.spread == pytest.approx((0.3 - 0.15) / 0.2)  # the quartiles of 0.1, 0.2, 0.4
    assert t.transfer_seconds == pytest.approx(UPLOAD + DOWNLOAD) and t.build_seconds == 7.0
    assert (t.dialect, t.step, t.device, t.parameters) == ("OpenCL", "a stand-in", "a CPU", {"TILE": 4})
    assert (t.M, t.N, t.K) == (2, 3, 5) and t.gflops == pytest.approx(2 * 2 * 3 * 5 / 0.2 / 1e9)


@pytest.mark.parametrize("kind", ["CPU", None])
def test_on_a_cpu_launches_go_on_until_half_a_second_is_over(clock, kind):
    k = StandIn(clock, kind, 1 / 1024)
    t = measure(k, 8)
    assert launches(k) == [1] * (1 + 512)
    k.seen.clear()
    measure(k, 8, seconds=1 / 4)
    assert launches(k) == [1] * (1 + 256)  # as many seconds as are asked for
    assert t.transfer_seconds == pytest.approx(UPLOAD + DOWNLOAD if kind else 0)  # the host's copies are no transfer


def test_there_are_three_repeats_however_long_one_takes(clock):
    k = StandIn(clock, "CPU", 60.0)
    assert measure(k, 8).seconds == 60.0 and launches(k) == [1] * (1 + 3)
    k = StandIn(clock, "GPU", 60.0)
    assert measure(k, 8).seconds == 60.0 and launches(k) == [1] * (1 + 3)


def test_a_gpu_is_warmed_up_for_a_time_and_timed_in_batches(clock):
    slow, fast = 1 / 32, 1 / 1024  # at first its own clock is low
    k = StandIn(clock, "GPU", *[slow] * 5, fast)
    t = measure(k, 8)
    # One launch, then batches of about 0.05 s, until 0.2 s have passed. What it took at first is not counted.
    # Then eleven batches are half a second: 1/1024 s goes 51 times into 0.05 s.
    assert launches(k) == [1, 2, 2, 2, 51] + [51] * 11 and 5 * slow + 2 * fast < 0.2 < 5 * slow + 53 * fast
    assert t.seconds == pytest.approx(fast) and t.spread == pytest.approx(0) and clock.slept == [0.3]
    assert [what[0] for what in k.seen] == ["refuse", "ready", "upload", *["timed"] * len(launches(k)), "download"]


@pytest.mark.parametrize("seconds, launches", [(60, 1), (0.04, 1), (0.01, 5), (1e-4, 500), (0, 1000)])
def test_a_batch_is_a_twentieth_of_a_second_and_a_thousand_launches_at_most(seconds, launches):
    assert timing.batch(seconds) == launches


def test_what_is_simulated_is_not_launched(clock):
    k = StandIn(clock, "PTX machine", 1.0)
    with pytest.raises(ValueError, match=r"^not timed, on the PTX machine: a stand-in\. .* takes SPIR-V\.$"):
        measure(k, (2, 3, 5))
    assert k.seen == [] and clock.slept == []


def test_a_function_of_the_host_gets_all_of_a_and_b_and_moves_nothing(clock):
    calls, seconds = [], iter([60.0, 30.0, 1.0, 3.0, 2.0])  # a function may compile in its first call

    def multiply(A, B):
        calls.append((A.shape, B.shape, A.dtype, B.dtype))
        clock.pass_by(next(seconds))
        return A @ B

    t = measure(multiply, (4, 6, 9))
    assert calls == [((4, 9), (9, 6), np.float32, np.float32)] * 5
    assert (t.seconds, t.transfer_seconds, t.dialect, t.step, t.device) == (2.0, 0.0, "Python", "multiply", "host")


def test_the_host_is_timed_by_the_wall_a_call(clock):
    work = HostKernel(lambda A, B: clock.pass_by(2.0) or A @ B).upload(*(np.ones((3, 3), np.float32),) * 2)
    assert work.timed(5) == 2.0 and work.launch() == 2.0 and (work.download() == 3).all()


def test_the_operands_are_random_float32_of_1024_a_side_by_default(clock):
    k, got = StandIn(clock, "CPU", 1.0), []
    k.upload = lambda A, B: got.extend((A, B)) or StandInWork(k)
    measure(k)
    for X in got:
        assert (
            X.dtype == np.float32 and X.shape == (1024, 1024) and 0.5 < X.std() < 0.65
        )  # evenly from -1 to 1; some hardware is faster with zeros


def test_a_rung_that_is_faster_than_the_probe_raises_the_peak_and_what_others_wrote_does_not(clock, monkeypatch):
    monkeypatch.setattr(timing, "MOST", {})
    k = StandIn(clock, "CPU", 1e-3)
    measure(k, 8)
    measure(lambda A, B: clock.pass_by(1e-3) or A @ B, 8)
    assert timing.MOST == {}
    k.own = True
    monkeypatch.setattr(timing, "Kernel", StandIn)
    measure(k, 8)
    assert timing.MOST == {}
    k.own = False
    for seconds in (1e-3, 2e-3, 5e-4):
        k.seconds = itertools.repeat(seconds)
        measure(k, 8)
    assert {("a CPU", "flop"): pytest.approx(2 * 8**3 / 5e-4)} == timing.MOST
    assert timing.most_seen("a CPU", "flop", 1.0) > 1e6 and timing.most_seen("a CPU", "byte") == 0


def test_a_kernel_that_is_here_is_timed():
    t = measure(opencl_kernel("naive"), (8, 16, 24), 0.01)
    assert t.seconds > 0 and t.spread >= 0 and t.build_seconds > 0 and t.transfer_seconds > 0


def test_a_timing_is_told_with_its_rate_and_its_spread():
    t = Timing("OpenCL", "tiled", 100, 200, 300, 0.004, 0.1, "a device", {})
    assert repr(t) == "tiled (OpenCL), 100 x 200 x 300: 4 ms (± 5 %), 3 GFLOP/s"
    busy = Timing("OpenCL", "tiled", 100, 200, 300, 0.004, 2.1, "a device", {})
    assert "4 ms (a busy machine), 3" in repr(busy)  # 105 % would mean nothing


@pytest.mark.parametrize("seconds, words", [(2.5, "2.5 s"), (0.00123, "1.23 ms"), (4e-6, "4 µs"), (5e-7, "0.5 µs")])
def test_seconds_are_spelled_with_a_unit(seconds, words):
    assert timing.spell_seconds(seconds) == words
