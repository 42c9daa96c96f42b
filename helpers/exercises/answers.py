"""Many pages: is the reader's function right on the cases in the exercise's cell? Which wishes does an answer meet?"""

import linecache
import math
import reprlib
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np

from kernel_judge import Finding, Report

WITHIN = 1e-6  # of the right number: how far an answer may be from it
SIGNS = {True: "✓", False: "✗", None: "…"}
NOT_YET = Finding("not yet", "It returns nothing so far.")


class Answer(Report):
    """The verdict on a function, whose right answers have no bound."""

    def head(self) -> tuple[str, str, dict]:
        """As `Report.head`."""
        return ("✓ ", "{subject} is right.", {"subject": self.subject}) if self else super().head()


@dataclass(frozen=True, repr=False)
class Wishes(Report):
    """The verdict on wishes: `wishes` as `judge_wishes` has them, and a line for each."""

    wishes: dict = field(default_factory=dict)

    def lines(self) -> list[tuple[str, str, str, dict]]:
        """As `Report.lines`."""
        return [(f"{SIGNS[met]} ", "", "{wish}", {"wish": wish}) for wish, met in self.wishes.items()]


def judge_wishes(wishes: dict[str, bool | None]) -> Report:
    """Say which wishes are met. Returns a `Report`, true when all are.

    `wishes`: {what is wished: whether it is met, or None where there is no answer yet}.
    """
    for wish, met in wishes.items():
        if np.size(met) != 1:
            raise ValueError(f"{wish}: the answer has {np.size(met)} numbers; give one True or False, as .all() does.")
    unmet = [Finding("not met", "{wish}", values={"wish": wish}) for wish, met in wishes.items() if SIGNS[met] == "✗"]
    unmet += [Finding("not yet", "{wish}", values={"wish": wish}) for wish, met in wishes.items() if met is None]
    return Wishes("wishes", tuple(unmet), wishes=wishes)


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
    key = "{asked} gives {given}, and should give {right}"
    values = {"asked": asked, "given": shown(given), "right": shown(right)}
    return Finding("wrong number", f"{key}, to six digits" if isinstance(right, float) else key, values=values)


def raised(error: BaseException, asked: str | tuple = ("it", {})) -> Finding:
    """What a reader's function raised, which was called where the error was caught, and its own line."""
    inside = error.__traceback__.tb_next  # None where it never began
    lines = (inside.tb_lineno,) if inside else ()
    values = {"asked": asked, "error": type(error).__name__, "text": str(error)}
    return Finding("error", "{asked} raises {error}: {text}", lines, values)


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
