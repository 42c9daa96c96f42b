"""The exercise whose answer is a search: one that only climbs or only guesses is caught; who does both is right."""

import math
import random
import re

import pytest

from helpers.exercises import autotuning, judge_search
from helpers.exercises.autotuning import PLACES, SEARCHES, TRIES, HiddenHill, SmoothHill, differing


def neighbours(best, left):
    return [p for p in left if best and sum(p[name] != best[name] for name in p) == 1]


def by_turns(points, rate, tries):
    """By turns any point and a neighbour of the best so far."""
    best, highest, left = None, 0, list(points)
    for turn in range(tries):
        near = neighbours(best, left) if turn % 2 else []
        point = random.choice(near or left)
        left.remove(point)
        here = rate(point)
        if here and here > highest:
            best, highest = point, here
    return best


def one_dict(points, rate, tries):
    """By turns, all in one dict that it changes, and returned in another order."""
    best, highest, point, left = None, 0, {}, list(points)
    for turn in range(tries):
        near = neighbours(best, left) if turn % 2 else []
        chosen = random.choice(near or left)
        left.remove(chosen)
        point.update(chosen)
        here = rate(point) or 0
        if here > highest:
            best, highest = dict(point), here
    return dict(reversed(best.items()))


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


def annealing(points, rate, tries):
    """Goes down, too, and less and less as it cools."""
    left = list(points)
    point = best = left.pop(0)
    here = highest = rate(point) or 0
    for turn in range(1, tries):
        chosen = random.choice(neighbours(point, left) or left)
        left.remove(chosen)
        there = rate(chosen) or 0
        if there > here or random.random() < math.exp((there - here) / (20 * (1 - turn / tries))):
            point, here = chosen, there
        if here > highest:
            best, highest = point, here
    return best


@pytest.mark.parametrize("search", [by_turns, one_dict, restarts, annealing])
def test_a_search_that_looks_near_and_elsewhere_is_right(search):
    report = judge_search(search)  # of up to 60 runs; a hundred verdicts on each agreed
    assert report, report


def guess(points, rate, tries):
    return max(random.sample(points, tries), key=lambda p: rate(p) or 0)


def in_order(points, rate, tries):
    return max(points[:tries], key=lambda p: rate(p) or 0)


def one_point(points, rate, tries):
    """What might be the peak, for all to read."""
    best = dict(a=3, b=1, c=2, d=2)
    rate(best)
    return best


def wandering(points, rate, tries):
    """Goes to any neighbour, whether it is higher or not."""
    left = list(points)
    point = best = left.pop(0)
    highest = rate(point) or 0
    for _ in range(tries - 1):
        point = random.choice(neighbours(point, left) or left)
        left.remove(point)
        here = rate(point) or 0
        if here > highest:
            best, highest = point, here
    return best


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


def climb_from_anywhere(points, rate, tries):
    return climb(points, rate, tries, random.choice(points))


def climb_after_the_defaults(points, rate, tries):
    """It rates the defaults for comparison, and climbs from anywhere else."""
    rates = {0: rate(points[0])}

    def noted(p):
        rates[1] = max(rates.get(1, 0), here := rate(p) or 0)
        return here

    top = climb(points[1:], noted, tries - 1, random.choice(points[1:]))
    return top if rates[1] > rates[0] else points[0]


def one_parameter_after_the_other(points, rate, tries):
    """From the middle, the best value of each parameter in turn."""
    point = dict(a=2, b=1, c=2, d=1)
    rates = {tuple(point.values()): rate(point) or 0}
    for name in point:
        for value in range(4):
            p = {**point, name: value}
            if tuple(p.values()) not in rates:
                rates[tuple(p.values())] = rate(p) or 0
        point = max(({**point, name: value} for value in range(4)), key=lambda p: rates[tuple(p.values())])
    return point


NEAR, AWAY = (
    f"weak search: it finds the peak of a smooth hill in \\d+ of {SEARCHES} runs",
    f"weak search: it begins on a low hill, and finds the high one in 0 of {SEARCHES}",
)


@pytest.mark.parametrize(
    "search, says",
    [
        (guess, NEAR),
        (in_order, NEAR),
        (wandering, NEAR),
        (one_point, NEAR),
        (climb, AWAY),
        (climb_from_anywhere, AWAY),
        (climb_after_the_defaults, AWAY),
        (one_parameter_after_the_other, f"{AWAY}|{NEAR}"),
    ],
)
def test_a_search_that_does_not_look_near_or_not_elsewhere_is_caught(search, says, monkeypatch):
    monkeypatch.setattr(autotuning, "ENOUGH", 26)  # one guess in a thousand is as good as 18 of 30
    report = judge_search(search)
    assert not report and re.search(says, repr(report)), report


def outside(points, rate, tries):
    """It rates a point that is none of the course's."""
    return max(({**points[1], "a": far} for far in range(7)), key=lambda p: rate(p) or 0)


def forgets_return(points, rate, tries):
    by_turns(points, rate, tries)


@pytest.mark.parametrize(
    "search, says",
    [
        (lambda points, rate, tries: None, "not yet. It returns nothing so far."),
        (forgets_return, "error: it returns nothing"),
        (outside, "is none of the points"),
        (lambda points, rate, tries: rate(by_turns(points, rate, tries - 1)), "twice: it tries a point a second time"),
        (lambda points, rate, tries: rate(points[0]), "error: it returns what is no point: "),
        (
            lambda points, rate, tries: by_turns(points, rate, tries + 1),
            f"too many: it may try {TRIES} points, and tried {TRIES + 1}",
        ),
        (lambda points, rate, tries: [rate(points[0]), rate(points[0])] and points[0], "twice: it tries a point"),
        (lambda points, rate, tries: [rate(p) for p in points[:9]] and points[9], "not the best: it returns {"),
        (
            lambda points, rate, tries: min(points[:tries], key=lambda p: rate(p) or 0),
            "not the best point that it tried",
        ),
        (
            lambda points, rate, tries: max(points[:tries], key=rate),
            "error: it raises TypeError",
        ),  # None where nothing runs
        (lambda points, rate, tries: exit(3), "error: it raises SystemExit"),
    ],
)
def test_what_is_wrong_with_a_search_is_said(search, says):
    report = judge_search(search)
    assert not report and says in repr(report), report


def test_the_defaults_always_run():
    kinds = (SmoothHill, HiddenHill)
    assert all(kind(random.Random(seed)).rate(PLACES[0]) for kind in kinds for seed in range(100))


def test_a_hill_is_smooth_and_its_peak_the_only_highest_point():
    land = SmoothHill(random.Random(1))
    rates = {at: land.rate(at) for at in PLACES}
    assert rates[land.peak] == 100 and sorted(filter(None, rates.values()))[-2] < 100
    assert 5 < list(rates.values()).count(None) < 60


def test_the_first_two_places_far_from_each_other_are_low_tops_and_the_peak_is_far_from_both():
    for seed in range(20):
        order = random.Random(seed).sample(PLACES, len(PLACES))
        land = HiddenHill(random.Random(seed))
        rates = {at: land.rate(at) for at in order}
        first = order[0]
        second = next(at for at in order if differing(at, first) > 2)
        assert rates[first] == rates[second] == 20 and rates[land.peak] == max(filter(None, rates.values())) == 100
        assert differing(land.peak, first) == differing(land.peak, second) == len("abcd")
        assert rates == {at: land.rate(at) for at in PLACES}  # the same when asked again
        for at in PLACES:
            for top in (first, second):
                assert rates[at] is None or at in (first, second) or differing(at, top) > 2 or rates[at] < 20
