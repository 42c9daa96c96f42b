"""The exercises that are judged by a function of their own."""

import random

import pytest

from helpers.judge import judge_search


def neighbours(best, left):
    return [p for p in left if best and sum(p[name] != best[name] for name in p) == 1]


def both(points, rate, tries):
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


def guess(points, rate, tries):
    return max(random.sample(points, tries), key=lambda p: rate(p) or 0)


def climb(points, rate, tries):
    best, highest, left = points[0], rate(points[0]), points[1:]
    while tries > 1 and (near := neighbours(best, left)):
        tries, point = tries - 1, random.choice(near)
        left.remove(point)
        here = rate(point) or 0
        if here > highest:
            best, highest = point, here
    return best


def test_a_search_that_climbs_and_looks_elsewhere_is_right():
    before = random.getstate()
    assert judge_search(both) and random.getstate() == before


@pytest.mark.parametrize(
    "search, says",
    [
        (lambda points, rate, tries: None, "not yet"),
        (guess, "smooth hill in 1 of 15 runs"),
        (climb, "lower of two hills, and finds the higher one in 0 of 15"),
        (lambda points, rate, tries: both(points, rate, tries + 1), "may try 60 points, and tried 61"),
        (lambda points, rate, tries: [rate(points[0]), rate(points[0])] and points[0], "a second time"),
        (lambda points, rate, tries: both(points, rate, tries) and points[0], "not the best point that it tried"),
        (lambda points, rate, tries: max(points[:tries], key=rate), "raises TypeError"),  # None where nothing runs
    ],
)
def test_what_is_wrong_with_a_search_is_said(search, says):
    report = judge_search(search)
    assert not report and says in repr(report)
