"""Page 11, exercise 2: a search among parameters, judged on made-up landscapes."""

import itertools
import random
from collections.abc import Callable

from ..judge.report import Report
from ..sandbox import Finding
from .questions import NOT_YET, Answer, is_stub

SIZES, VALUES = "abcd", range(4)  # the names of the four parameters, and their values
PLACES = list(itertools.product(VALUES, repeat=len(SIZES)))
TRIES = 80  # points that a run may try, of 256
SEARCHES, ENOUGH = 30, 18  # runs on each landscape at most, and how many of them have to find the peak


def judge_search(search: Callable) -> Report:
    """Judge a learner's search(points, rate, tries) on made-up landscapes. Returns a `Report`, true when right.

    It shall return the best of the points that it tried, try none twice and `tries` at most, and find the peak of each
    landscape in most of the runs. Each run has a landscape of its own, so nobody can know the peak.
    """
    name, dice, runs = getattr(search, "__name__", "search"), random.Random(), 0
    for kind in (SmoothHill, HiddenHill):
        found = 0
        for _ in range(SEARCHES):
            land, runs = kind(dice), runs + 1
            best, wrong = searched(search, land)
            if wrong:
                return Report(name, (wrong,), runs)
            found += place(best) == land.peak
            if found == ENOUGH:
                break
        else:
            return Report(name, (Finding("weak search", kind.weak.format(found, SEARCHES)),), runs)
    return Answer(name, (), runs)


def searched(search, land):
    """One run of the search on a landscape: (what it returns, what is wrong with it as a `Finding`, or None)."""
    tried = []

    def rate(p):
        at = place(p)
        tried.append((at, land.rate(at)))
        return tried[-1][1]

    try:
        best = search([dict(zip(SIZES, at, strict=True)) for at in PLACES], rate, TRIES)
    except (Exception, SystemExit) as error:  # a learner's function may fail in any way
        return None, Finding("error", f"it raises {type(error).__name__}: {error}")
    if best is None:
        return None, NOT_YET if is_stub(search) else Finding("error", "it returns nothing")
    return best, wrong_search(best, tried)


def place(p):
    """The point as a tuple, which stays as it is when the search changes its dict. Raises ValueError for none."""
    if not isinstance(p, dict) or set(p) != set(SIZES) or not all(p[size] in VALUES for size in SIZES):
        raise ValueError(f"{p!r} is none of the points.")
    return tuple(p[size] for size in SIZES)


def wrong_search(best, tried):
    """What is wrong with a search that returned `best`: a Finding, or None. `tried`: [(place, rate or None)]."""
    rates = {at: rate or 0 for at, rate in tried}
    if len(tried) > TRIES:
        return Finding("too many", f"it may try {TRIES} points, and tried {len(tried)}")
    if len(rates) < len(tried):
        return Finding("twice", "it tries a point a second time")
    try:
        at = place(best)
    except ValueError as error:
        return Finding("error", f"it returns what is no point: {error}")
    if at not in rates or rates[at] != max(rates.values()):
        return Finding("not the best", f"it returns {best!r}, which is not the best point that it tried")
    return None


class SmoothHill:
    """Made-up rates: 100 at a peak, lower with each step from it, and None on a tenth of the points."""

    weak = "it finds the peak of a smooth hill in {} of {} runs; does it look near the best so far?"

    def __init__(self, dice):
        self.peak, self.broken = dice.choice(PLACES), broken(dice)

    def rate(self, at):
        """The rate there, or None."""
        return None if at in self.broken and at != self.peak else 100 * 0.7 ** steps(at, self.peak)


class HiddenHill:
    """Made-up rates: two low hills and a high one, which is where the search has not begun.

    The first point that a search tries is the top of a low hill: the points that differ from it in two parameters at
    most. The first point outside is the top of a second one. Only then the peak is drawn, with other values than both
    tops, and every point outside of both hills leads up to it. So a search that only climbs never finds it.
    """

    weak = "it begins on a low hill, and finds the high one in {} of {} runs; does it look elsewhere, too?"

    def __init__(self, dice):
        self.dice, self.tops, self.peak, self.broken = dice, [], None, broken(dice)

    def rate(self, at):
        """The rate there, or None."""
        near = [top for top in self.tops if differing(at, top) <= 2]
        if not near and len(self.tops) < 2:
            near = [at]
            self.tops.append(at)
            if len(self.tops) == 2:
                self.peak = tuple(
                    self.dice.choice(sorted(set(VALUES) - {*taken})) for taken in zip(*self.tops, strict=True)
                )
        if at in self.broken and at not in (*self.tops, self.peak):
            return None
        return 20 * 0.9 ** steps(at, near[0]) if near else 100 * 0.7 ** steps(at, self.peak)


def broken(dice):
    """A tenth of the points, which cannot run. The defaults, the first of them, always can."""
    return {at for at in PLACES[1:] if dice.random() < 0.1}


def steps(p, q):
    """How many steps of one parameter by one lie between two places."""
    return sum(abs(x - y) for x, y in zip(p, q, strict=True))


def differing(p, q):
    """How many parameters of two places differ."""
    return sum(x != y for x, y in zip(p, q, strict=True))
