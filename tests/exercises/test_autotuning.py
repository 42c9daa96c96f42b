"""The exercise whose answer is a search: one that only climbs or only guesses is caught; who does both is right."""

import random
import re

import pytest

from helpers.exercises import autotuning
from helpers.exercises.autotuning import PLACES, SEARCHES, TRIES, Land, judge_search


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


def restarts(points, rate, tries):
    """Climbs until nothing near is higher, then begins anywhere."""
    left, found = list(points), []
    while len(found) < tries:
        point = random.choice(left)
        left.remove(point)
        here = rate(point) or 0
        found.append((here, point))
        while len(found) < tries and (near := neighbours(point, left)):
            chosen = random.choice(near)
            left.remove(chosen)
            found.append((rate(chosen) or 0, chosen))
            if found[-1][0] > here:
                here, point = found[-1]
    return max(found, key=lambda pair: pair[0])[1]


@pytest.mark.parametrize("search", [by_turns, restarts])
def test_a_search_that_looks_near_and_elsewhere_is_right(search):
    report = judge_search(search)  # of up to 60 runs; a hundred verdicts on each agreed
    assert report, report


def guess(points, rate, tries):
    return max(random.sample(points, tries), key=lambda p: rate(p) or 0)


def climb(points, rate, tries, start=None):
    """It climbs from one start, until nothing near is left."""
    point = start or points[0]
    left, here = [p for p in points if p != point], rate(point) or 0
    while tries > 1 and (near := neighbours(point, left)):
        tries, chosen = tries - 1, random.choice(near)
        left.remove(chosen)
        there = rate(chosen) or 0
        if there > here:
            point, here = chosen, there
    return point


NEAR, AWAY = (
    f"weak search: it finds the peak of a smooth hill in \\d+ of {SEARCHES} runs",
    f"weak search: it begins on a low hill, and finds the high one in 0 of {SEARCHES}",
)


@pytest.mark.parametrize(
    "search, says",
    [
        (guess, NEAR),
        (lambda points, rate, tries: max(points[:tries], key=lambda p: rate(p) or 0), NEAR),
        (climb, AWAY),
        (lambda points, rate, tries: climb(points, rate, tries, random.choice(points)), AWAY),
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
        (
            lambda points, rate, tries: rate(points[1] | {"a": 7}),
            "'a': 7, 'b': 0, 'c': 0, 'd': 1} is none of the points",
        ),
        (lambda points, rate, tries: rate(points[0]), "not the best: it returns "),
        (lambda points, rate, tries: by_turns(points, rate, tries + 1), f"too many: it may try {TRIES} points, and "),
        (lambda points, rate, tries: [rate(points[0]), rate(points[0])] and points[0], "twice: it tries a point"),
        (lambda points, rate, tries: [rate(p) for p in points[:9]] and points[9], "not the best: it returns {"),
        (lambda points, rate, tries: max(points[:tries], key=rate), "error: it raises TypeError"),  # None: cannot run
    ],
)
def test_what_is_wrong_with_a_search_is_said(search, says):
    report = judge_search(search)
    assert not report and says in repr(report), report


def test_the_first_place_is_on_a_low_hill_and_the_peak_is_far_from_it():
    for seed in range(20):
        order = random.Random(seed).sample(PLACES, len(PLACES))
        land = Land(hidden=True)
        rates = {at: land.rate(at) for at in order}
        assert rates[order[0]] == 20 and rates[land.peak] == max(filter(None, rates.values())) == 100
        assert all(a != c for a, c in zip(order[0], land.peak, strict=True))
