"""Many pages: is the reader's function right on the cases in the exercise's cell? Which wishes does an answer meet?"""

import linecache
import math
import reprlib
from collections.abc import Callable
from decimal import Decimal

import numpy as np

from ..judge import Report
from ..sandbox import Finding

WITHIN = 1e-6  # of the right number: how far an answer may be from it
NOT_YET = Finding("not yet", "It returns nothing so far.")


class Answer(Report):
    """The verdict on a function, whose right answers count no shapes."""

    def __repr__(self):
        return f"✓ {self.subject} is right." if self else super().__repr__()


class Wishes(Report):
    """The verdict on wishes, with a remark on each."""

    def __repr__(self):
        return "\n".join(self.remarks)


def judge_wishes(wishes: dict[str, bool | None]) -> Report:
    """Say which wishes are met. Returns a `Report`, true when all are.

    `wishes`: {what is wished: whether it is met, or None where there is no answer yet}.
    """
    signs = {True: "✓", False: "✗", None: "…"}
    remarks = tuple(f"{signs[met]} {wish}" for wish, met in wishes.items())
    unmet = [Finding("not met", wish) for wish, met in wishes.items() if signs[met] == "✗"]
    unmet += [Finding("not yet", wish) for wish, met in wishes.items() if met is None]
    return Wishes("wishes", tuple(unmet), len(wishes), remarks=remarks)


def ask(function: Callable, cases: dict) -> Report:
    """Judge a function of numbers, case by case. Returns a `Report`, true when right.

    `cases`: {arguments: the right number, or True or False}, such as {(2, 3, 4): 24}; one argument needs no brackets.
    A number may differ from the right one by a millionth of it. The verdict tells the first case that is not right.
    Raises TypeError for cases that are no such table, or none.
    """
    if not isinstance(cases, dict) or not cases:
        raise TypeError(f"cases={cases!r:.60} is no table of cases; give some, such as {{(2, 3, 4): 24}}.")
    for case, right in cases.items():
        wrong = wrong_number(function, case if isinstance(case, tuple) else (case,), right)
        if wrong:
            return Answer(named(function), (wrong,), source_around(function))
    return Answer(named(function), ())


def wrong_number(function: Callable, case: tuple, right: float) -> Finding | None:
    """What is wrong with what the function gives for these arguments; None if it gives the right number."""
    asked = f"{named(function)}({', '.join(map(shown, case))})"
    try:
        given = function(*case)
    except (Exception, SystemExit) as error:  # a reader's function may fail in any way
        return raised(error, asked)
    if given is None:
        return NOT_YET
    if is_near(given, right):
        return None
    said = f"{asked} gives {shown(given)}, and should give {shown(right)}"
    return Finding("wrong number", f"{said}, to six digits" if isinstance(right, float) else said)


def raised(error: BaseException, asked: str = "it") -> Finding:
    """What a reader's function raised, which was called where the error was caught, and its own line."""
    inside = error.__traceback__.tb_next  # None where it never began
    lines = (inside.tb_lineno,) if inside else ()
    return Finding("error", f"{asked} raises {type(error).__name__}: {error}", lines)


def source_around(function: Callable) -> str:
    """The whole cell in which a function stands, so that its lines have their numbers; "" where nothing has it."""
    code = getattr(function, "__code__", None)
    return "".join(linecache.getlines(code.co_filename)) if code else ""


def named(function: Callable) -> str:
    """A function's name."""
    return getattr(function, "__name__", type(function).__name__)


def is_near(given: object, right: float) -> bool:
    """Whether that is a number, and the right one but for a millionth of it."""
    try:
        return math.isclose(given, right, rel_tol=WITHIN)
    except (TypeError, ValueError, OverflowError):
        return False


def shown(value: object) -> str:
    """A number in twelve digits at most; what is none as Python shows it, cut off."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{Decimal(value):.12g}"  # however large it is
    return reprlib.repr(value)
