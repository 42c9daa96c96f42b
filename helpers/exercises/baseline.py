"""Page 01, exercise 2: a function that times launches, asked about a device whose times are known."""

import numbers
from collections.abc import Callable

import numpy as np

from ..judge.report import Report
from ..launch.given import takes
from ..sandbox import Finding
from .questions import NOT_YET, Answer, is_stub, told

FEWEST = 3  # launches of which a median says more than one of them does
COMPILES, RETURNS = 0.9, 1e-5  # seconds of the first launch, and those until a launch returns


class Device:
    """A device that is not there, with a clock of its own, in seconds.

    A launch returns before it has ended. The first one compiles; each later one takes less time than the one before,
    so that the median of all launches from one on tells which one that is.
    """

    def __init__(self):
        self.now = self.ends = 0.0
        self.took, self.hurried = [], False

    def submit(self):
        """Hand a launch over, and return before it has ended."""
        self.hurried |= self.now < self.ends
        self.took.append(0.01 + 0.01 / len(self.took) if self.took else COMPILES)
        self.ends = max(self.now, self.ends) + self.took[-1]
        self.now += RETURNS

    def wait(self):
        """Return when all that was handed over has ended."""
        self.now = max(self.now, self.ends)

    def clock(self):
        """The time, in seconds."""
        return self.now


@takes
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
    if not isinstance(given, numbers.Real):
        return Finding("error", f"it gives {given!r}; it should give a number of seconds")
    if device.hurried or 0 < given <= 2 * RETURNS:
        return Finding("no wait", "a launch returns before its kernel has ended, and nobody waits for that")
    if not device.took:
        return Finding("wrong number", f"it gives {told(given)} s, and has launched nothing")
    medians = [np.median(device.took[first:]) for first in range(len(device.took))]
    first = next((n for n, median in enumerate(medians) if np.isclose(given, median, rtol=1e-6)), None)
    if first is None:
        mean = np.isclose(given, [np.mean(device.took[n:]) for n in (0, 1)]).any()
        said = f"it gives {told(given)} s{', a mean' if mean else ''}; of its {len(device.took)} launches"
        return Finding("wrong number", f"{said}, without the first, the median is {told(medians[len(medians) > 1])} s")
    if first == 0:
        return Finding("cold start", "the first launch compiles, and it is among those that are timed")
    if (left := len(device.took) - first) < FEWEST:
        said = f"it gives the median of {left} of its {len(device.took)} launches"
        return Finding("too few", f"{said}; take {FEWEST} or more")
    return None
