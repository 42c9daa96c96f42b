"""Page 01, exercise 2: a function that times launches, asked about a device whose times are known."""

from collections.abc import Callable

import numpy as np

from kernel_judge import Finding, Report

from .answers import NOT_YET, Answer, is_near, raised, shown, source_around

FEWEST = 3  # launches of which a median says more than one of them does
COMPILES, RETURNS = 0.9, 1e-5  # seconds of the first launch, and those until a launch returns
HURRIED = (
    "launch {first} has not ended when launch {next} is handed over; wait for each, so that each has a time of its own"
)
FEW = "it gives the median of {timed} of its {launches} launches; take {fewest} or more"
NO_MEDIAN = "it gives {given}; of its {launches} launches, without the first, the median is {median} s"


class Device:
    """A device that is not there, with a clock of its own, in seconds.

    A launch returns before it has ended. The first one compiles; the others take times in no order.
    """

    def __init__(self):
        self.now = self.ends = 0.0
        self.took, self.warm = [], None  # warm: launches before the clock was first read
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
        if self.warm is None:
            self.warm = len(self.took)
        return self.now


def judge_timing(timing: Callable) -> Report:
    """Judge a learner's `timing(submit, wait, clock)`: it returns the median seconds of a launch. Returns a `Report`.

    It has to launch once before it times anything, to wait for each launch, and to time three launches or more.
    """
    device = Device()
    try:
        given = timing(device.submit, device.wait, device.clock)
    except (Exception, SystemExit) as error:  # a learner's function may fail in any way
        wrong = raised(error)
    else:
        wrong = NOT_YET if given is None else wrong_timing(given, device)
    return Answer(timing.__name__, (wrong,) if wrong else (), source_around(timing))


def wrong_timing(given: object, device: Device) -> Finding | None:
    """What is wrong with the seconds that came of timing that device; None if they are right."""
    took, values = device.took, {"given": shown(given)}
    if not took:
        return Finding("wrong number", "it gives {given}, and has launched nothing", values=values)
    if first := device.hurried:
        return Finding("no wait", HURRIED, values={"first": first, "next": first + 1})
    if is_near(given, RETURNS):
        return Finding("no wait", "the clock is read before the launch has ended; wait first")
    if device.warm == 0 and is_near(given, np.median(took)):
        return Finding("cold start", "the first launch compiles, and it is among those that are timed")
    timed = took[max(1, device.warm or 0) :]  # who times the first launch, too, may leave it out
    middle = sorted(timed)[(len(timed) - 1) // 2 : len(timed) // 2 + 1]  # of an even number, two
    if any(is_near(given, one) for one in (*middle, np.median(timed or took))):
        values = {"timed": len(timed), "launches": len(took), "fewest": FEWEST}
        return Finding("too few", FEW, values=values) if len(timed) < FEWEST else None
    values |= {"launches": len(took), "median": shown(np.median(timed or took))}
    return Finding("wrong number", NO_MEDIAN, values=values)
