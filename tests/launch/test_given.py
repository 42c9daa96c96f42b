"""What a function takes and what it refuses, by its annotations."""

import types
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from helpers.clock import Timing
from helpers.launch import Contestant, Kernel
from helpers.launch.given import (
    MOST,
    Count,
    Folder,
    Natural,
    Ranks,
    Rounds,
    Seconds,
    Size,
    Unfit,
    Workers,
    fitting,
    index,
    number,
    sizes,
    some,
    taken,
    takes,
    told,
    whole,
    words,
)

TIMING = Timing("OpenCL", "tiled", 8, 8, 8, 1e-3, 0.1, "a device", {"TILE": 4})


def refusal(call, *arguments, error=ValueError):
    with pytest.raises(error) as caught:
        call(*arguments)
    assert type(caught.value) is error
    return str(caught.value)


@pytest.mark.parametrize(
    "value, text",
    [
        (np.zeros((2, 3), np.float32), "<array of float32, shape (2, 3)>"),
        (10**40 - 1, "9" * 40),
        (10**40, "<a number of 41 digits>"),
        (-(10**400), "<a number of 401 digits>"),
        ("a" * 99, "'aaaaaaaaaaaa...aaaaaaaaaaaaa'"),
        ([1] * 99, "[1, 1, 1, 1, 1, 1, ...]"),
        (types.SimpleNamespace(a="b" * 99), "namespace(a='" + "b" * 67),
        (True, "True"),
    ],
)
def test_an_error_names_a_value_by_what_is_short(value, text):
    assert told(value) == text


def test_only_whole_numbers_and_no_answers_are_whole_numbers():
    for value in (3, np.int64(3), np.uint8(3), np.array(3)):
        assert index(value) == 3 and type(index(value)) is int
    for value in (True, np.True_, 3.0, "3", None, np.array([3])):
        with pytest.raises(Unfit):
            index(value)


def test_a_whole_number_has_a_least_and_a_most():
    assert whole("p", 2, 2, 4) == 2 and whole("p", 4, 2, 4) == 4
    for value in (1, 5, 2.5, None):
        assert refusal(whole, "p", value, 2, 4) == f"p={value} does not do; give a whole number from 2 to 4."


def test_a_number_is_above_zero_and_seconds_end_with_a_day():
    assert number("flops", 1e300) == 1e300 and taken("t", 0.5, Seconds) == 0.5 and taken("t", 86400, Seconds) == 86400
    for value in (0, -1.0, float("nan"), float("inf"), True, "1", 1j):
        assert refusal(number, "flops", value).startswith(
            f"flops={value!r} does not do; give a number above 0, up to 1e+300."
        )
    assert refusal(taken, "seconds", 86401, Seconds) == "seconds=86401 does not do; give a number above 0, up to 86400."


def test_a_size_is_one_number_or_three():
    assert sizes(7) == (7, 7, 7) and sizes([1, 2, 3]) == sizes(iter((1, 2, 3))) == (1, 2, 3)
    assert sizes(MOST) == (MOST,) * 3
    for value in (1.5, (1, 2), (1, 2, 3, 4), "123", (1, 2, None), True):
        assert refusal(sizes, value) == f"{value!r} is no size; give a whole number, or three: (M, N, K)."
    for value in ((0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 1, -5)):
        M, N, K = value
        said = f"a product of {M} x {K} times {K} x {N} has no elements; each size must be 1 or more."
        assert refusal(sizes, value) == said
    for value in ((MOST + 1, 1, 1), (1, MOST + 1, 1), (1, 1, MOST + 1)):
        assert refusal(sizes, value) == f"size {value} is too large; each of M, N and K must be at most {MOST}."


@takes
def asked(ranks: Ranks, *M: Count, seconds: Seconds | None = None, note=None, **other: int):
    """For the tests."""
    return ranks, M, seconds, note, other


def test_a_function_gets_what_it_asks_for():
    assert asked(np.int64(3), np.int8(4), 5, seconds=2, note="any", extra="as it is") == (
        *(3, (4, 5), 2, "any"),
        {"extra": "as it is"},
    )
    ranks, M, *_ = asked(np.int64(3), np.int8(4))
    assert type(ranks) is type(M[0]) is int and asked.__doc__ == "For the tests."
    assert asked(1, seconds=None)[2] is None
    assert refusal(asked, 0) == "ranks=0 does not do; give a whole number from 1 to 1048576."
    assert refusal(asked, 1, 2, 0) == "M=0 does not do; give a whole number from 1 to 2147483647."
    with pytest.raises(ValueError, match="seconds=0 does not do"):
        asked(1, seconds=0)
    with pytest.raises(TypeError, match=r"asked\(\) missing 1 required positional argument: 'ranks'"):
        asked()


def test_a_default_is_taken_as_it_is():
    @takes
    def function(name: str = None, ranks: Ranks = 0):  # noqa: RUF013
        return name, ranks

    assert function() == function(None, 0) == (None, 0)


def test_sizes_are_looked_at_and_kept_as_they_were_given():
    assert taken("size", [1, 2, 3], Size) == [1, 2, 3] and taken("size", None, Size | None) is None
    for value, kind in ((0, Size), (None, Size), ((1, 2), Size | None)):
        refusal(taken, "size", value, kind)


def test_a_path_may_be_text_that_is_not_empty():
    assert taken("to", "here", Folder) == "here" and taken("to", Path("here"), Folder) == Path("here")
    said = "to='' names none; give a path, such as '.' for the folder where you are."
    assert refusal(taken, "to", "", Folder) == said
    assert taken("text", "", str) == ""
    said = "to=3 does not do; give a path, as text or text, in quotes."
    assert refusal(taken, "to", 3, Folder, error=TypeError) == said


def test_numbers_are_bound_by_their_kinds():
    assert taken("any", -MOST, int) == -MOST and taken("any", MOST, int) == MOST and taken("any", 1000, Rounds) == 1000
    for kind, value, least, most in (
        (Rounds, 1001, 1, 1000),
        (Workers, 0, 1, 1024),
        (Natural, -1, 0, MOST),
        (Count, 0, 1, MOST),
    ):
        said = f"a={value} does not do; give a whole number from {least} to {most}."
        assert refusal(taken, "a", value, kind) == said
    assert refusal(taken, "any", MOST + 1, int) == f"any={MOST + 1} does not do; give a whole number."
    assert taken("M", np.int64(5), Count) == 5 and taken("KX", 0, int) == 0
    assert taken("x", 2, float) == 2 and taken("x", None, float | None) is None
    for kind in (float, float | None):
        refusal(taken, "x", "2", kind)


FITS = [
    (3, int | str, 3),
    ("a", int | str, "a"),
    (None, int | None, None),
    ((1, 2), list[int], [1, 2]),
    (range(2), list, [0, 1]),
    ([1, 2], tuple[int, int], (1, 2)),
    ([1, "a"], tuple[int, str], (1, "a")),
    ([1, 2, 3], tuple, (1, 2, 3)),
    ({"a": np.int8(1)}, dict[str, int], {"a": 1}),
    ({"a": "b"}, dict, {"a": "b"}),
    (print, Callable, print),
    (print, Contestant | Callable, print),
    (2, float, 2),
    (Path("a"), Path, Path("a")),
    (TIMING, Timing, TIMING),
    ([TIMING], list[Timing], [TIMING]),
]
FITS_NOT = [
    (1.5, int | str),
    ("ab", list),
    ({"a": 1}, list),
    (np.ones(2), list),
    (np.ones(2), tuple),
    (3, list),
    ([1.5], list[int]),
    ([1, 2, 3], tuple[int, int]),
    ([1, "a"], tuple[int, int]),
    ({"a": 1.5}, dict[str, int]),
    ([("a", 1)], dict[str, int]),
    ([], dict),
    (3, Callable),
    (3, Contestant),
    (True, float),
    ("2", float),
    (True, int),
    ("a", Path),
    (3, Timing),
]


@pytest.mark.parametrize("value, kind, found", FITS, ids=str)
def test_a_value_of_that_kind_fits(value, kind, found):
    assert fitting(value, kind) == found and type(fitting(value, kind)) is type(found)


@pytest.mark.parametrize("value, kind", FITS_NOT, ids=str)
def test_a_value_of_another_kind_does_not(value, kind):
    with pytest.raises(Unfit):
        fitting(value, kind)


@pytest.mark.parametrize(
    "kind, text",
    [
        (int, "a whole number"),
        (int | str | None, "a whole number or text, in quotes"),
        (list[str], "a list, in which each is text, in quotes"),
        (tuple[int, int], "2 values in brackets, each a whole number"),
        (dict[str, float], "a dict, in which each value is a number"),
        (list, "a list"),
        (Callable, "a function"),
        (Callable[[], None], "a function"),
        (Timing, "a Timing, which measure(...) returns"),
        (Unfit, "a Unfit"),
    ],
)
def test_what_to_give_is_said_in_words(kind, text):
    assert words(kind) == text


def test_what_is_none_of_its_kind_is_a_type_error_with_what_to_give():
    assert (
        refusal(taken, "t", 3, Timing, error=TypeError) == "t=3 does not do; give a Timing, which measure(...) returns."
    )
    said = "k=3 is no built kernel; build it first, with cuda_kernel(...) or opencl_kernel(...)."
    assert refusal(taken, "k", 3, Kernel, error=TypeError) == said


def test_some_are_one_or_more_and_a_name_is_one():
    assert some("steps", "tiled") == ["tiled"] and some("steps", iter("ab")) == ["a", "b"]
    for value in ("", [], {"a": 1}, np.ones(3), None, 3):
        assert refusal(some, "steps", value) == f"steps={told(value)} does not do; give at least one, in a list."
