"""Page 01, exercise 2: a function that times launches, asked about a device whose times are known."""

import math
from collections.abc import Callable

import numpy as np

from ..judge.report import Report
from ..sandbox import Finding
from .questions import NOT_YET, Answer, in_digits, is_stub

FEWEST = 3  # launches of which a median says more than one of them does
COMPILES, RETURNS = 0.9, 1e-5  # seconds of the first launch, and those until a launch returns


class Device:
    """A device that is not there, with a clock of its own, in seconds.

    A launch returns before it has ended. The first one compiles; the others take times in no order.
    """

    def __init__(self):
        self.now = self.ends = 0.0
        self.took, self.warm = [], None
        self.hurried = 0  # the first launch that had not ended when the next one was handed over, counted from 1

    def submit(self):
        """Hand a launch over, and return before it has ended."""
        if not self.hurried and self.now < self.ends:
            self.hurried = len(self.took)
        self.took.append(0.01 + 1e-5 * (len(self.took) * 17 % 41) ** 2 if self.took else COMPILES)
        self.ends = max(self.now, self.ends) + self.took[-1]
        self.now += RETURNS

    def wait(self):
        """Return when all that was handed over has ended."""
        self.now = max(self.now, self.ends)

    def clock(self):
        """The time, in seconds."""
        self.warm = len(self.took) if self.warm is None else self.warm  # launches before it was first asked
        return self.now


def judge_timing(timing: Callable) -> Report:
    """Judge a learner's `timing(submit, wait, clock)`: it returns the median seconds of a launch. Returns a `Report`.

    It has to launch once before it times anything, to wait for each launch, and to time three launches or more.
    """
    name, device = getattr(timing, "__name__", "timing"), Device()
    try:
        given = timing(device.submit, device.wait, device.clock)
    except (Exception, SystemExit) as error:  # a learner's function may fail in any way
        return Report(name, (Finding("error", f"it raises {type(error).__name__}: {error}"),), 1)
    wrong = NOT_YET if given is None and is_stub(timing) else wrong_timing(given, device)
    return Report(name, (wrong,), 1) if wrong else Answer(name, (), 1)


def wrong_timing(given, device):
    """What is wrong with the seconds that came of timing that device: a Finding, or None."""
    try:
        seconds = math.nan if isinstance(given, str) else float(given)
    except (TypeError, ValueError, OverflowError):
        seconds = math.nan
    if math.isnan(seconds):
        what = f"{len(given)} values" if isinstance(given, (list, tuple, np.ndarray)) else f"{given!r:.60}"
        return Finding("error", f"it gives {what}; it should give a number of seconds")
    if not device.took:
        return Finding("wrong number", f"it gives {in_digits(given)} s, and has launched nothing")
    if first := device.hurried:
        said = f"launch {first} has not ended when launch {first + 1} is handed over"
        return Finding("no wait", f"{said}; wait for each, so that each has a time of its own")
    if 0 < seconds <= 2 * RETURNS:
        return Finding("no wait", "the clock is read before the launch has ended; wait first")
    everything, timed = device.took, device.took[device.warm or 0 :]
    if device.warm == 0 and same_time(seconds, np.median(everything)):
        return Finding("cold start", "the first launch compiles, and it is among those that are timed")
    if is_median(seconds, timed[device.warm == 0 :]):  # who times the first launch, too, may leave it out
        few = f"it gives the median of {len(timed)} of its {len(everything)} launches; take {FEWEST} or more"
        return Finding("too few", few) if len(timed) < FEWEST else None
    names = {"the mean": np.mean, "the least": min, "the greatest": max, "the sum": sum}
    what = [name for name, of in names.items() for some in (timed, everything) if same_time(seconds, of(some or [0]))]
    said = f"it gives {in_digits(given)} s{f', {what[0]}' if what else ''}; of its {len(everything)} launches"
    right = np.median(everything[1:] or everything)
    return Finding("wrong number", f"{said}, without the first, the median is {in_digits(right)} s")


def is_median(seconds, times):
    """Whether these seconds are the median of the times, or, of an even number, either of the two in the middle."""
    middle = sorted(times)[(len(times) - 1) // 2 : len(times) // 2 + 1]
    return any(same_time(seconds, one) for one in (*middle, sum(middle) / max(1, len(middle))))


def same_time(one, other):
    """Whether two numbers of seconds are the same but for rounding."""
    return math.isclose(one, other, rel_tol=1e-6)
