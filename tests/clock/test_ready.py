"""Nothing is built while a clock runs: by a clock that stands still, but for what is built and what is launched."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import ladder, measure
from helpers.clock import timing, tuning
from helpers.devices import Device
from helpers.launch import Kernel, draw, kernel
from helpers.launch.kernel import Contestant, Work
from helpers.launch.operands import OnDevice
from helpers.many import streamed

BUILDING, LAUNCH = 1000.0, 1.0  # seconds that they take here
SIZES = (50, 60, 70)


class Clock:
    """Stands in for the module `time`."""

    def __init__(self):
        self.now, self.lock = 0.0, threading.Lock()

    def perf_counter(self):
        return self.now

    def sleep(self, seconds):
        with self.lock:  # what is streamed has two threads
            self.now += seconds


class Counted(Kernel):
    """Builds something for each new size, and leaves as much to the first launch of that size. Both are counted."""

    dialect = "OpenCL"

    def __init__(self, clock, name="a device"):
        device = Device("OpenCL", name, "CPU", "none", 1024, 1 << 15, None, None, 8)
        super().__init__("tiled", ladder.STEPS["tiled"].defaults_for(device), "", device, own=False)
        self.clock, self.built = clock, []

    def build(self, what):
        if what not in self.built:
            self.built.append(what)
            self.clock.sleep(BUILDING)

    def fitted(self, M, N, K):
        self.build((M, N, K))
        return self

    def place(self, X, over=None):
        return OnDevice(X.shape, X, None)

    def upload(self, A, B, fill=np.nan):
        size = A.shape[0], B.shape[1], A.shape[1]
        self.fitted(*size)
        return CountedWork(self, size)


class CountedWork(Work):
    def __init__(self, k, size):
        self.k, self.size = k, size

    def timed(self, launches):
        start = self.k.clock.now
        self.k.build(("at the first launch", *self.size))
        self.k.clock.sleep(launches * LAUNCH)
        return (self.k.clock.now - start) / launches

    def download(self):
        return np.zeros(self.size[:2], np.float32)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    for module in (timing, tuning, kernel):
        monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.fixture
def k(clock):
    return Counted(clock)


def test_ready_builds_for_a_size_once_and_launches_it_once(clock, k):
    assert k.ready(*SIZES) is k and k.built == [SIZES, ("at the first launch", *SIZES)]
    took = clock.now
    assert k.ready(*SIZES) is k and clock.now == took
    k(*draw(*SIZES))
    assert clock.now == took + LAUNCH


def test_whatever_is_a_contestant_can_be_made_ready():
    """One that says nothing of it is launched at that size, with operands of that size."""
    seen = []

    class Any(Contestant):
        def upload(self, A, B, fill=np.nan):
            seen.append((A.shape, B.shape, A.dtype, B.dtype))
            return SimpleNamespace(launch=lambda: seen.append("launch"))

    one = Any()
    assert one.ready(2, 3, 5) is one
    assert seen == [((2, 5), (5, 3), np.float32, np.float32), "launch"]


def test_measure_times_no_building(k):
    """Contests, scoreboards and searches time by it alone."""
    t = measure(k, SIZES)
    assert len(k.built) == 2 and t.seconds == LAUNCH and t.transfer_seconds == 0 and t.spread == 0


def test_what_is_streamed_is_ready_for_each_size_of_block(clock, k):
    passing, sizes = streamed(k, 1.5e6), (300, 310, 321)
    passing.ready(*sizes)
    passing.upload(*draw(*sizes))
    plan = passing.last.plan
    assert len(plan.blocks) == 8 and plan.steps > 8  # those at the ends are smaller
    assert len(k.built) == 2 * len(plan.blocks)
    took = clock.now
    passing(*draw(*sizes))
    assert clock.now == took + plan.steps * LAUNCH
    t = measure(streamed(Counted(clock), 1.5e6), sizes)
    assert (t.seconds, t.transfer_seconds) == (plan.steps * LAUNCH, 0)


def test_the_blocks_of_a_plan_are_all_that_it_multiplies(k):
    passing = streamed(k, 1.5e6)
    passing(*draw(300, 310, 321))
    assert {size for size in k.built if len(size) == 3} == passing.last.plan.blocks
