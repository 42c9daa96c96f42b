"""The exercise whose answer is a search: one that only climbs or only guesses is caught; who does both is right."""

import random
import re

import pytest

from helpers.exercises import autotuning
from helpers.exercises.autotuning import PLACES, SEARCHES, TRIES, Land, judge_search, steps


def neighbours(best, left):
    return [p for p in left if best and sum(p[name] != best[name] for name in p) == 1]


def by_turns(points, rate, tries):
    """By turns any point and a neighbour of the best so far, all in one dict that it changes."""
    best, highest, point, left = None, 0, {}, list(points)
    for turn in range(tries):
        near = neighbours(best, left) if turn % 2 else []
        chosen = random.choice(near or left)
        left.remove(chosen)
        point.update(chosen)
        here = rate(point) or 0
        if here > highest:
            best, highest = dict(point), here
    return best


def test_a_search_that_looks_near_and_elsewhere_is_right():
    report = judge_search(by_turns)  # of up to 60 runs; a hundred verdicts agreed
    assert report, report


def guess(points, rate, tries):
    return max(random.sample(points, tries), key=lambda p: rate(p) or 0)


def climb(points, rate, tries):
    """It climbs from one start, until nothing near is left."""
    point = random.choice(points)
    left, here = [p for p in points if p != point], rate(point) or 0
    while tries > 1 and (near := neighbours(point, left)):
        tries, chosen = tries - 1, random.choice(near)
        left.remove(chosen)
        point, here = max((point, here), (chosen, rate(chosen) or 0), key=lambda tried: tried[1])
    return point


@pytest.mark.parametrize(
    "search, says",
    [
        (guess, f"weak search: it finds the peak of a smooth hill in \\d+ of {SEARCHES} runs"),
        (climb, f"weak search: it begins on a low hill, and finds the high one in 0 of {SEARCHES}"),
    ],
)
def test_a_search_that_does_not_look_near_or_not_elsewhere_is_caught(search, says, monkeypatch):
    monkeypatch.setattr(autotuning, "ENOUGH", 26)  # one guess in a thousand is as good as 18 of 30
    report = judge_search(search)
    assert not report and re.search(says, repr(report)), report


@pytest.mark.parametrize(
    "search, says",
    [
        (lambda points, rate, tries: None, "not yet. It returns nothing so far."),
        (lambda points, rate, tries: rate({"a": 7}), "error: it raises KeyError"),
        (lambda points, rate, tries: (points[0], rate(points[0])), "not the best: it returns ({'a': 0, 'b': 0, "),
        (lambda points, rate, tries: rate(points[0]) and points[1], "not the best: it returns {'a': 0, 'b': 0, "),
        (lambda points, rate, tries: by_turns(points, rate, tries + 1), f"too many: it may try {TRIES} points, and "),
        (lambda points, rate, tries: max(points[:tries], key=rate), "error: it raises TypeError"),  # None: cannot run
    ],
)
def test_what_is_wrong_with_a_search_is_said(search, says):
    report = judge_search(search)
    assert not report and says in repr(report), report


def test_the_first_place_is_on_a_low_hill_and_the_peak_is_far_from_it():
    order = random.sample(PLACES, len(PLACES))
    land = Land(hidden=True)
    rates = {at: land.rate(at) for at in order}
    assert rates[order[0]] == 20 and rates[land.peak] == max(filter(None, rates.values())) == 100
    assert all(a != c for a, c in zip(order[0], land.peak, strict=True))
    near = [at for at in PLACES if sum(x != y for x, y in zip(at, order[0], strict=True)) <= 2]
    assert all(rates[at] in (None, 20 * 0.9 ** steps(at, order[0])) for at in near)
    assert 0 < sum(rate is None for rate in rates.values()) < 0.3 * len(PLACES)
