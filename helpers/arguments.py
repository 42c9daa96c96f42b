"""Sizes, numbers, names and lists that users give: each is taken, or refused with the value and the remedy."""

import difflib
import numbers
import operator
import re
import reprlib
from collections.abc import Iterable, Mapping

MOST = 2**31 - 1  # kernels count rows and columns in 32 bits


def told(value: object) -> str:
    """The value as an error names it: an array by its type and shape, and what is long by its ends."""
    return f"<array of {value.dtype}, shape {value.shape}>" if hasattr(value, "dtype") else reprlib.repr(value)


def integer(name: str, value: object, least: int = 1, most: int = MOST) -> int:
    """The integer of that name, as an int. Raises ValueError for what is none, and for one out of bounds."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{name}={told(value)} does not do; give an integer from {least} to {most}.")
    return operator.index(value)


def sizes(size: int | Iterable[int]) -> tuple[int, int, int]:
    """(M, N, K) from an int, for all three, or from three ints. Raises ValueError for anything else, or below 1."""
    three = tuple(size) if isinstance(size, Iterable) else (size,) * 3
    if len(three) != 3:
        raise ValueError(f"{told(size)} is no size; give an integer, or three: (M, N, K).")
    M, N, K = map(integer, "MNK", three)
    return M, N, K


def some(name: str, values: object) -> list:
    """A list of them, at least one; a single name will do. Raises ValueError for none, and for what is no list."""
    values = [values] if isinstance(values, str) and values else values
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable) or not (values := list(values)):
        raise ValueError(f"{name}={told(values)} does not do; give at least one, in a list.")
    return values


def named(word: object, names: Iterable[str], what: str) -> str:
    """The one of `names` that the word means, in any case, with or without spaces, hyphens and underscores.

    `what`: what one of the names is called in an error. Raises ValueError, with the nearest name and all others, for
    what is none of them.
    """

    def plain(text):
        return re.sub(r"[\W_]", "", text.casefold())

    known = {plain(name): name for name in names}
    if isinstance(word, str) and plain(word) in known:
        return known[plain(word)]
    near = "".join(f" Do you mean {known[one]}?" for one in difflib.get_close_matches(plain(str(word)), known, 1))
    raise ValueError(f"unknown {what} {reprlib.repr(word)}.{near} The {what}s are: {', '.join(known.values())}.")
