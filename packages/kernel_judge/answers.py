"""Is a reader's function right on the cases in the exercise's cell? Which wishes does an answer meet?"""

import linecache
import math
import reprlib
from collections.abc import Callable
from dataclasses import dataclass, field

from .findings import Finding
from .report import Report

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
    unmet = [Finding("not met", "{wish}", values={"wish": wish}) for wish, met in wishes.items() if SIGNS[met] == "✗"]
    unmet += [Finding("not yet", "{wish}", values={"wish": wish}) for wish, met in wishes.items() if met is None]
    return Wishes("wishes", tuple(unmet), wishes=wishes)


def ask(function: Callable, cases: dict) -> Report:
    """Judge a function of numbers, case by case. Returns a `Report`, true when right.

    `cases`: {arguments: the right number, or True or False}, such as {(2, 3, 4): 24}; one argument needs no brackets.
    A number may differ from the right one by a millionth of it. The verdict tells the first case that is not right.
    """
    name = function.__name__
    for case, right in cases.items():
        arguments = case if isinstance(case, tuple) else (case,)
        asked = f"{name}({', '.join(map(shown, arguments))})"
        given, refused = called(function, arguments, asked)
        if refused is not None:
            return refused
        if not is_near(given, right):
            values = {"asked": asked, "given": shown(given), "right": shown(right)}
            return Answer(
                name, (Finding("wrong number", "{asked} gives {given}, and should give {right}", (), values),)
            )
    return Answer(name, ())


def called(function: Callable, arguments: tuple, asked: str) -> tuple[object, Answer | None]:
    """(What it returns, the verdict on it where it raises or returns nothing, else None). `asked`: as in a verdict."""
    try:
        given = function(*arguments)
    except (Exception, SystemExit) as error:  # a reader's function may fail in any way
        return None, Answer(function.__name__, (raised(error, asked),), source_around(function))
    return given, Answer(function.__name__, (NOT_YET,)) if given is None else None


def raised(error: BaseException, asked: str | tuple = ("it", {})) -> Finding:
    """What a reader's function raised, which was called where the error was caught, and its own line."""
    inside = error.__traceback__.tb_next  # None where it never began
    lines = (inside.tb_lineno,) if inside else ()
    values = {"asked": asked, "error": type(error).__name__, "text": str(error)}
    return Finding("error", "{asked} raises {error}: {text}", lines, values)


def source_around(function: Callable) -> str:
    """The whole cell in which a function stands, so that its lines have their numbers."""
    return "".join(linecache.getlines(function.__code__.co_filename))


def is_near(given: object, right: float) -> bool:
    """Whether that is a number, and the right one but for a millionth of it."""
    try:
        return math.isclose(given, right, rel_tol=WITHIN)
    except (TypeError, ValueError, OverflowError):
        return False


def shown(value: object) -> str:
    """A number in twelve digits at most; what is none as Python shows it, cut off."""
    return f"{value:.12g}" if isinstance(value, float) else reprlib.repr(value)
