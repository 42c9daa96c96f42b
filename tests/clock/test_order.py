"""An order is said only where equal kernels get none: by made-up weather.

The weather is that of a machine which others use, as it was seen: the speed wanders, some launches take several times
as long, and now and then everything is slow for a while. Nothing here waits, or is timed.
"""

import math
import random

import numpy as np
import pytest

from helpers import compare
from helpers.clock import Comparison, Timing, contests, timing
from helpers.clock.contests import MARGIN, ROUNDS
from helpers.devices import Device
from helpers.launch import Contestant
from helpers.launch.kernel import Work

TRIALS = 100


class Weather:
    """A clock, and how many times as long as on a quiet machine a launch takes at that moment.

    wander   how far the speed is off, as a share, at a usual moment; it takes about a second to change
    spikes   the share of launches that something interrupts
    """

    def __init__(self, wander, spikes, seed):
        self.now, self.random, self.wander, self.spikes = 0.0, random.Random(seed), wander, spikes
        self.off, self.slow_until = 0.0, 0.0

    def perf_counter(self):
        return self.now

    def sleep(self, seconds):
        keeps = math.exp(-seconds / 0.5)
        self.off = keeps * self.off + math.sqrt(1 - keeps**2) * self.random.gauss(0, self.wander)
        self.now += seconds

    def launch(self, seconds):
        took = seconds * math.exp(self.off) * math.exp(self.random.gauss(0, 0.03))
        if self.random.random() < self.spikes:
            took *= self.random.choice([1.5, 3, 20])
        if self.random.random() < self.spikes / 50:
            self.slow_until = self.now + self.random.uniform(0.1, 2)
        if self.now < self.slow_until:
            took *= 2
        self.sleep(took)
        return took


class Steady(Contestant, Work):
    """Takes as long at each launch, but for the weather."""

    dialect, name = "OpenCL", "steady"

    def __init__(self, weather, seconds=0.004):
        self.weather, self.seconds = weather, seconds
        self.device = Device("OpenCL", "a device", "CPU", "none", 64, 1 << 15, None)

    def upload(self, A, B, fill=np.nan):
        return self

    def timed(self, launches):
        return sum(self.weather.launch(self.seconds) for _ in range(launches)) / launches

    def download(self):
        return None


def trials(monkeypatch, wander, spikes, times=1.0):
    """Comparisons of a kernel with one that takes so many times as long."""
    for seed in range(TRIALS):
        weather = Weather(wander, spikes, seed)
        monkeypatch.setattr(timing, "time", weather)
        yield compare(Steady(weather), Steady(weather, 0.004 * times), 4)


WEATHERS = {"quiet": (0.01, 0.01), "shared": (0.1, 0.1), "crowded": (0.4, 0.4)}


@pytest.mark.parametrize("weather", WEATHERS)
def test_equal_kernels_get_no_verdict(monkeypatch, weather):
    found = list(trials(monkeypatch, *WEATHERS[weather]))
    assert {one.verdict for one in found} == {"undecided"}
    # By the median alone, many of them would get one.
    assert weather != "crowded" or sum(not 0.95 < one.ratio < 1.05 for one in found) > TRIALS / 6


@pytest.mark.parametrize("weather, times", [("quiet", 1.15), ("shared", 2.0)])
def test_a_kernel_that_is_faster_is_said_to_be_ahead_and_the_other_behind(monkeypatch, weather, times):
    for factor, word in ((times, "ahead"), (1 / times, "behind")):
        verdicts = [one.verdict for one in trials(monkeypatch, *WEATHERS[weather], factor)]
        assert verdicts.count(word) > 0.8 * TRIALS and set(verdicts) <= {word, "undecided"}


@pytest.mark.parametrize(
    "ratios, verdict",
    [
        ([1.06] * 9, "ahead"),
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
    assert (ROUNDS, MARGIN) == (9, 1.05)


@pytest.mark.parametrize("devices, idles", [("aa", [True, False]), ("ab", [True, True]), ("--", [True, True])])
def test_the_process_idles_between_turns_unless_all_run_on_one_device(monkeypatch, devices, idles):
    seen = []
    kernels = [Steady(None) for _ in devices]
    for k, name in zip(kernels, devices, strict=True):
        k.device = None if name == "-" else name
    monkeypatch.setattr(contests, "measure", lambda k, size, seconds, idle: seen.append(idle))
    contests.contest(kernels, 8, rounds=2)
    assert seen == idles + 2 * idles[1:]
