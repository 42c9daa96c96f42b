"""Page 01, exercise 3: a function that times launches, asked about a device whose times are known."""

from collections.abc import Callable

import numpy as np

from kernel_judge import Report
from kernel_judge.answers import is_near, judge_wishes

FEWEST = 3  # launches of which a median says more than one of them does
COMPILES, RETURNS = 0.9, 1e-5  # seconds of the first launch, and those until a launch returns
WAITS = "It waits for each launch before it goes on."
REPEATS = "It times three launches or more, beside the first, which compiles."
MEDIAN = "It returns their median, without the first, in seconds."


class Device:
    """A device that is not there, with a clock of its own, in seconds.

    A launch returns before it has ended. The first one compiles; the others take times in no order.
    """

    def __init__(self):
        self.now = self.ends = 0.0
        self.took, self.warm, self.hurried = [], None, False  # warm: launches before the clock was first read

    def submit(self):
        """Hand a launch over, and return before it has ended."""
        self.hurried |= self.now < self.ends
        self.took.append(0.01 + 1e-5 * (len(self.took) * 17 % 41) ** 2 if self.took else COMPILES)
        self.ends = max(self.now, self.ends) + self.took[-1]
        self.now += RETURNS

    def wait(self):
        """Return when all that was handed over has ended."""
        self.now = max(self.now, self.ends)

    def clock(self):
        """The time, in seconds."""
        self.hurried |= self.now < self.ends
        self.warm = len(self.took) if self.warm is None else self.warm
        return self.now


def judge_timing(timing: Callable) -> Report:
    """Judge a learner's `timing(submit, wait, clock)`, the median seconds of a launch, by three wishes: a `Report`."""
    device = Device()
    given = timing(device.submit, device.wait, device.clock)
    timed = sorted(device.took[max(1, device.warm or 0) :])  # who times the first launch, too, may leave it out
    middle = [np.median(timed or [0])]
    if device.warm:  # of an even number, either of two will do; else it would be that of all, the first included
        middle += timed[(len(timed) - 1) // 2 : len(timed) // 2 + 1]
    met = {WAITS: not device.hurried, REPEATS: len(timed) >= FEWEST, MEDIAN: any(is_near(given, one) for one in middle)}
    return judge_wishes({wish: None if given is None else met[wish] for wish in met})
