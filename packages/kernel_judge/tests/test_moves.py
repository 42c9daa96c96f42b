"""The three moves, and what is decided between them, on products that are made here."""

import numpy as np
import pytest

from kernel_judge import Finding, Kind, Seen, Wrong, examine, judge, moves
from kernel_judge.moves import in_full, multiply, watch
from kernel_judge.product import Product
from kernel_judge.reference import drawn
from kernel_judge.shapes import for_a_function, telling, watched

SMALL = watched((4, 4, 4))
RACE = Finding(Kind.RACE, "two_touch", (3,), {"where": "C"})
HANG, CUT, REFUSED, SLOW = (Finding(kind, "x") for kind in (Kind.HANG, Kind.K_CUT, Kind.NOT_COMPILED, Kind.TOO_SLOW))
NOTE = Finding("", "not_looked_for", values={"what": "races"})


class Made(Product):
    """A product that answers so; whatever else is given stands in place of a method. `launches`: (sizes, shape)."""

    name, source, sizes, tile_known = "mine", "", "TILE=4", True

    def __init__(self, answer=np.matmul, launches=None, **others):
        self.answer, self.launches = answer, [] if launches is None else launches
        vars(self).update(others)

    def multiply(self, A, B, fill=np.nan):
        self.launches.append((self.sizes, (len(A), B.shape[1], len(B))))
        return self.answer(A, B)

    @property
    def shapes(self):
        return [shape for _, shape in self.launches]


def raising(error):
    def answer(A, B):
        raise error

    return answer


def off_at(*shapes):
    """One too much at those shapes."""
    return lambda A, B: A @ B + ((len(A), B.shape[1], len(B)) in shapes)


def unlike(launches, answer=np.matmul):
    return [Made(answer, launches, tile=(n, n, n), sizes=f"TILE={n}") for n in (3, 6)]


# ------------------------------------------------------------------------------------ what is tried, and in which order


def test_small_shapes_come_before_those_that_people_use(monkeypatch):
    monkeypatch.setattr(moves, "MULTIPLIED", ((5, 70, 9), (80, 2, 3)))
    k, turns = Made(), []
    monkeypatch.setattr(moves, "drawn", lambda shape, inputs, turn: turns.append(turn) or drawn(shape, inputs, turn))
    report = judge(k)
    assert report and k.shapes == [*SMALL, (5, 70, 9), (80, 2, 3)] and report.largest == (80, 70, 259)
    assert turns == [*range(10)]


def test_a_function_gets_what_a_loop_in_python_does_and_who_asks_for_shapes_gets_these_alone():
    k, asked = Made(tile_known=False), Made(watched=lambda move: Seen([], [(2, 7, 1)], (NOTE,)))
    assert judge(k) and k.shapes == for_a_function()
    report = judge(asked, [(2, 3, 4)])
    assert asked.shapes == [(2, 3, 4)] and report.largest == (2, 7, 4) and report.notes == (NOTE,)


@pytest.mark.parametrize(
    "affordable, expected",
    [
        (8, [("TILE=4", SMALL), ("TILE=3", telling((3, 3, 3))), ("TILE=6", telling((6, 6, 6)))]),
        (2, [("TILE=3", watched((3, 3, 3))), ("TILE=6", telling((6, 6, 6))), ("TILE=4", SMALL[:2])]),
        (0, [("TILE=3", watched((3, 3, 3))), ("TILE=6", telling((6, 6, 6)))]),
    ],
)
def test_what_is_too_large_to_be_watched_whole_is_watched_at_other_sizes_first(affordable, expected):
    launches = []
    k = Made(np.matmul, launches, affordable=lambda shapes, seconds=1: shapes[:affordable])
    k.unlike = lambda: unlike(launches)
    assert watch(k) == Seen([], SMALL[:affordable])
    assert launches == [(sizes, shape) for sizes, shapes in expected for shape in shapes]


def test_one_shape_at_least_is_watched_and_those_that_are_asked_for_at_its_own_sizes_alone():
    few = Made(affordable=lambda shapes, seconds=1: [])
    assert watch(few).shapes == few.shapes == [(1, 1, 1)]
    k = Made(unlike=lambda: pytest.fail("asked for other sizes"))
    assert watch(k, [(2, 3, 4)]).shapes == k.shapes == [(2, 3, 4)]


def test_what_is_found_at_other_sizes_has_them_and_what_these_refuse_is_nothing():
    k = Made()
    k.unlike = lambda: unlike(k.launches, raising(Wrong(RACE)))
    assert watch(k) == Seen([RACE], SMALL, at="TILE=3")
    k.unlike = lambda: unlike(k.launches, raising(Wrong(REFUSED)))
    assert watch(k) == Seen([], SMALL)
    assert watch(Made(raising(Wrong(REFUSED)))).findings == [REFUSED]


def test_lists_are_tried_until_one_shows_something():
    k = Made(off_at((2, 2, 2)), possible=lambda shapes: [one for one in shapes if one != (9, 9, 9)])
    found = multiply(k, [[(1, 1, 1), (9, 9, 9)], [(3, 2, 1), (2, 2, 2)], [(4, 4, 4)]])
    assert found.shapes == [(1, 1, 1), (3, 2, 1), (2, 2, 2)] and found.findings[0].kind == Kind.WRONG_START
    assert (4, 4, 4) not in k.shapes


# ----------------------------------------------------------------------------------------------- what comes of a launch


def test_four_wrong_launches_are_enough_and_the_cause_hears_of_the_right_ones(monkeypatch):
    heard = []
    monkeypatch.setattr(moves, "cause", lambda product, wrong, right: heard.append((len(wrong), right)) or CUT)
    shapes = [(n, 2, 3) for n in range(1, 9)]
    k = Made(off_at(*shapes[1:]))
    assert examine(k, shapes) == Seen([CUT], shapes)
    assert heard == [(4, shapes[:1])] and k.shapes == shapes[:5]


def test_an_exception_is_a_finding_unless_something_wrong_was_seen_before():
    def answer(A, B):
        return A @ B + 1 if len(A) == 1 else 1 // 0

    [found] = examine(Made(answer), [(2, 2, 2)]).findings
    assert found.kind == Kind.ERROR and found.message.startswith("ZeroDivisionError: ")
    assert examine(Made(answer), [(1, 2, 2), (2, 2, 2)]).findings[0].kind == Kind.WRONG_START


def test_what_takes_too_long_is_right_at_the_shapes_that_it_did():
    def answer(A, B):
        return A @ B if len(A) == 1 else raising(Wrong(SLOW))(A, B)

    assert examine(Made(answer), [(1, 1, 1), (2, 2, 2)]) == Seen([], [(1, 1, 1)])
    assert examine(Made(answer), [(2, 2, 2)]) == Seen([SLOW], [(2, 2, 2)])
    k = Made(answer)
    assert multiply(k, [[(1, 1, 1), (2, 2, 2)], [(3, 3, 3)]]) == Seen([], [(1, 1, 1)]) and (3, 3, 3) not in k.shapes


@pytest.mark.parametrize("patience, tried", [(-1, [(2, 2, 2), (1, 1, 1)]), (60, [(2, 2, 2), (1, 1, 1), (3, 3, 3)])])
def test_where_a_part_takes_long_the_square_is_left_out(monkeypatch, patience, tried):
    for name, value in (("PART", (2, 2, 2)), ("PATIENCE", patience), ("MULTIPLIED", [(3, 3, 3)])):
        monkeypatch.setattr(moves, name, value)
    k = Made()
    examine(k, [(2, 2, 2), (1, 1, 1), (3, 3, 3)])
    assert k.shapes == tried


# --------------------------------------------------------------------------------------------------------- what is said


@pytest.mark.parametrize(
    "seen, own, expected",
    [
        (Seen([RACE, HANG], SMALL), [], [RACE, HANG]),
        (Seen([RACE], SMALL[:1]), [CUT], [RACE]),
        (Seen([HANG], SMALL[:1], at="TILE=3"), [CUT], "with TILE=3, x"),
        (Seen([CUT], SMALL[:1], at="TILE=3"), [HANG], [HANG]),
        (Seen([CUT], SMALL[:1]), [], [CUT]),
        (
            Seen([CUT], SMALL[:1], at="TILE=3"),
            [],
            "right with TILE=4, and wrong with TILE=3, where the finding is: K is",
        ),
        (
            Seen([HANG, CUT], SMALL, at="TILE=3"),
            [],
            "right with TILE=4, and wrong with TILE=3, where the finding is: h",
        ),
    ],
)
def test_what_was_seen_is_told_with_the_sizes_at_which_it_was(seen, own, expected):
    k = Made(natively=lambda move: Seen(own))
    found = in_full(k, seen)
    assert found == expected or (len(found) == 1 and found[0].message.startswith(expected)), found
    assert judge(Made(natively=k.natively, watched=lambda move: seen)).findings == tuple(found)
    assert judge(Made(watched=lambda move: seen), SMALL).findings == tuple(seen.findings)


def test_of_what_does_not_compile_nothing_else_is_said():
    report = judge(Made(watched=lambda move: Seen([], [], (NOTE,)), natively=lambda move: Seen([REFUSED])))
    assert report.findings == (REFUSED,) and report.notes == ()
    other = Finding("", "on_the_PTX_machine")
    noted = Made(watched=lambda move: Seen([], [], (NOTE,)), natively=lambda move: Seen([CUT], [], (other,)))
    assert judge(noted).notes == (NOTE, other)
