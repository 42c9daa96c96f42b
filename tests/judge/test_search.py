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


def known(points, rate, tries):
    """What was the peak of both landscapes, for all to read."""
    best = dict(a=3, b=1, c=4, d=2)
    rate(best)
    return best


def outside(points, rate, tries):
    """It rates a point that is none of the course's."""
    return max(({**points[1], "a": far} for far in range(7)), key=lambda p: rate(p) or 0)


def one_dict(points, rate, tries):
    """It tries different points, all in one dict."""
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


def test_a_search_that_climbs_and_looks_elsewhere_is_right():
    before = random.getstate()
    assert judge_search(both) and random.getstate() == before


def test_a_dict_that_is_used_again_is_another_point():
    assert judge_search(one_dict), judge_search(one_dict)


@pytest.mark.parametrize(
    "search, says",
    [
        (lambda points, rate, tries: None, "not yet"),
        (guess, "smooth hill in 2 of 15 runs"),
        (known, "smooth hill in 0 of 15 runs"),
        (outside, "is none of the points"),
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
