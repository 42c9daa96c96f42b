"""One thing wrong with a kernel: its kind, the key of the sentence that says it, and the values in that sentence.

The sentences are in `en.toml` and `zh_CN.toml`, by key.
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum

from . import words


class Kind(StrEnum):
    """What kinds of things a check finds. Exercises have kinds of their own, which are texts."""

    NOT_YET = "not yet"
    NO_ANSWER = "no answer"
    NOTHING_STORED = "nothing stored"
    ZEROS = "zeros"
    ERROR = "error"
    NOT_COMPILED = "does not compile"
    TOO_SLOW = "too slow"
    CRASH = "crash"
    HANG = "hang"
    RACE = "race"
    DIVERGENT = "divergent barrier"
    OUT_OF_BOUNDS = "out of bounds"
    MISALIGNED = "misaligned"
    UNSET = "uninitialised"
    NO_WAIT = "no wait"
    INPUT_CHANGED = "writes to an input"
    ADDS = "adds to C"
    UNWRITTEN = "unwritten"
    SWAPPED = "x and y swapped"
    NOT_A_NUMBER = "not a number"
    K_CUT = "K is cut"
    TRANSPOSED = "transposed"
    WRONG_ROW = "wrong row"
    WRONG_COLUMN = "wrong column"
    WRONG_PLACE = "wrong place"
    WRONG_INDEX = "wrong index"
    WRONG_START = "wrong start"
    PART_ZERO = "part is zero"
    EDGE = "edge"
    FROM_A_BOUND = "wrong from a bound on"
    ROUNDING = "rounding"
    WRONG_NUMBERS = "wrong numbers"
    OTHER_SIZES = "wrong at other sizes"
    COMPILER = "miscompiled"
    UNKNOWN = "reported by Oclgrind"

    @property
    def nothing(self) -> bool:
        """Whether nothing came of the kernel: a stub that nobody has filled in looks so."""
        return self in (Kind.NO_ANSWER, Kind.NOTHING_STORED, Kind.ZEROS)

    @property
    def by_numbers(self) -> bool:
        """Whether C showed it, and nothing that was seen on the way."""
        return self in BY_NUMBERS


BY_NUMBERS = {Kind.NO_ANSWER, Kind.NOTHING_STORED, Kind.ZEROS, Kind.ADDS, Kind.UNWRITTEN, Kind.SWAPPED, Kind.K_CUT}
BY_NUMBERS |= {Kind.TRANSPOSED, Kind.WRONG_ROW, Kind.WRONG_COLUMN, Kind.WRONG_PLACE, Kind.EDGE}
BY_NUMBERS |= {Kind.WRONG_INDEX, Kind.WRONG_START, Kind.PART_ZERO, Kind.FROM_A_BOUND, Kind.ROUNDING}
BY_NUMBERS |= {Kind.WRONG_NUMBERS, Kind.NOT_A_NUMBER}


@dataclass(frozen=True)
class Drawn:
    """What a notebook draws of a finding: an array, and some of its elements.

    captions  a `Finding` for each line below the picture
    array     the array's name; `shape`: its sides
    elements  the numbers of the marked elements, row by row; what lies outside of the array has numbers, too
    """

    captions: tuple
    array: str
    shape: tuple
    elements: tuple


@dataclass(frozen=True)
class Finding:
    """One thing wrong with a kernel.

    kind    a `Kind`, or an exercise's own word
    key     of its sentence, or that sentence in English, with {places}
    lines   1-based lines of the kernel's source that it is about, a tuple
    values  {name: value} of what stands in the places; a value may be a sentence, see `words.spelled`
    drawn   what a notebook draws of it; None for nothing
    """

    kind: str
    key: str
    lines: tuple = ()
    values: dict = field(default_factory=dict)
    drawn: Drawn | None = None

    @property
    def message(self) -> str:
        """The sentence in English."""
        return words.spelled(words.ENGLISH, self.key, self.values)

    def __str__(self):
        return f"{self.kind}: {self.message}"

    def at(self, *lines: int) -> "Finding":
        """The same, about those lines."""
        return replace(self, lines=lines)
