"""Page 11, exercise 2: a search among parameters, judged on made-up landscapes."""

import itertools
import random
from collections.abc import Callable

from kernel_judge import Finding, Report
from kernel_judge.answers import NOT_YET, Answer, raised, shown, source_around

SIZES, VALUES = "abcd", range(4)  # the names of the four parameters, and their values
PLACES = list(itertools.product(VALUES, repeat=len(SIZES)))
TRIES, SEARCHES, ENOUGH = 80, 30, 18  # points a run, of 256; runs on each landscape, and those that find the peak
MANY = "it may try {most} points, and tried {tried}"
NOT_BEST = "it returns {best}, and should return the best point that it tried, a dict out of `points`"
SMOOTH = "it finds the peak of a smooth hill in {found} of {runs} runs; does it look near the best so far?"
HIDDEN = "it begins on a low hill, and finds the high one in {found} of {runs} runs; does it look elsewhere, too?"


def judge_search(search: Callable) -> Report:
    """Judge a learner's search(points, rate, tries) on made-up landscapes. Returns a `Report`, true when right.

    It tries no more than it may, and finds most peaks: each run has a landscape of its own, so nobody can know them.
    """
    for weak, hidden in ((SMOOTH, False), (HIDDEN, True)):
        found = 0
        for _ in range(SEARCHES):
            land = Land(hidden)
            best, wrong = searched(search, land)
            if wrong:
                return Answer(search.__name__, (wrong,), source_around(search))
            found += best == land.peak
        if found < ENOUGH:
            return Answer(search.__name__, (Finding("weak search", weak, values={"found": found, "runs": SEARCHES}),))
    return Answer(search.__name__, ())


def searched(search, land):
    """One run of the search on a landscape: (the place that it returns, what is wrong with it, or None)."""
    rates = {}

    def rate(point):
        at = place(point)
        rates[at] = land.rate(at)
        return rates[at]

    try:
        best = search([dict(zip(SIZES, at, strict=True)) for at in PLACES], rate, TRIES)
        if best is None:
            return None, NOT_YET
        at = place(best) if isinstance(best, dict) else None
    except (Exception, SystemExit) as error:  # a learner's function may fail in any way
        return None, raised(error)
    if len(rates) > TRIES:
        return None, Finding("too many", MANY, values={"most": TRIES, "tried": len(rates)})
    if (rates.get(at) or 0) < max((rate or 0 for rate in rates.values()), default=1):
        return None, Finding("not the best", NOT_BEST, values={"best": shown(best)})
    return at, None


def place(point):
    """The point as a tuple, which stays as it is when the search changes its dict."""
    return tuple(point[size] for size in SIZES)


class Land:
    """Made-up rates: a peak of 100, lower with each step from it, and None on a tenth of the points.

    Where the peak is hidden, it is far from the first place that is tried, around which stands a low hill.
    """

    def __init__(self, hidden):
        self.hidden, self.first, self.peak = hidden, None, random.choice(PLACES)
        self.broken = {at for at in PLACES[1:] if random.random() < 0.1}  # the defaults, the first of them, always run

    def rate(self, at):
        """The rate there, or None."""
        if self.hidden and self.first is None:
            self.first = at
            self.peak = tuple(random.choice([*{*VALUES} - {value}]) for value in at)
        if at in self.broken - {self.first, self.peak}:
            return None
        if self.hidden and sum(x != y for x, y in zip(at, self.first, strict=True)) <= 2:
            return 20 * 0.9 ** steps(at, self.first)
        return 100 * 0.7 ** steps(at, self.peak)


def steps(p, q):
    """How many steps of one parameter by one lie between two places."""
    return sum(abs(x - y) for x, y in zip(p, q, strict=True))
