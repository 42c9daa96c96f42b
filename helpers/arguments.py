"""Sizes, numbers and lists that users give: each is taken, or refused with the value and the remedy."""

import math
import numbers
import operator
import reprlib
from collections.abc import Iterable, Mapping

import numpy as np

MOST = 2**31 - 1  # kernels count rows and columns in 32 bits


def told(value: object) -> str:
    """The value as an error names it: an array by its type and shape, and what is long by its ends."""
    if isinstance(value, np.ndarray):
        return f"<array of {value.dtype}, shape {value.shape}>"
    if isinstance(value, int) and abs(value) >= 10**40:
        return f"<a number of {int(abs(value).bit_length() * math.log10(2)) + 1} digits>"
    return reprlib.repr(value) if isinstance(value, str | list | tuple | dict | set) else repr(value)[:80]


def is_whole(value: object) -> bool:
    """Whether it is an integer, NumPy's too; True and False are answers."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def whole(name: str, value: object, least: int = 1, most: int = MOST) -> int:
    """The whole number of that name, as an int. Raises ValueError for what is none, and for one out of bounds."""
    if not is_whole(value) or not least <= value <= most:
        raise ValueError(f"{name}={told(value)} does not do; give a whole number from {least} to {most}.")
    return operator.index(value)


def sizes(size: int | Iterable[int]) -> tuple[int, int, int]:
    """(M, N, K) from an int, for all three, or from three ints. Raises ValueError for anything else, or below 1."""
    three = tuple(size) if np.iterable(size) else (size,) * 3
    if len(three) != 3 or not all(map(is_whole, three)):
        raise ValueError(f"{told(size)} is no size; give a whole number, or three: (M, N, K).")
    M, N, K = map(operator.index, three)
    if min(M, N, K) < 1:
        raise ValueError(f"a product of {M} x {K} times {K} x {N} has no elements; each size must be 1 or more.")
    if max(M, N, K) > MOST:
        raise ValueError(f"size {told(size)} is too large; each of M, N and K must be at most {MOST}.")
    return M, N, K


def some(name: str, values: object) -> list:
    """A list of them, at least one; a single name will do. Raises ValueError for none, and for what is no list."""
    values = [values] if isinstance(values, str) and values else values
    if isinstance(values, str | Mapping | np.ndarray) or not np.iterable(values) or not len(values := list(values)):
        raise ValueError(f"{name}={told(values)} does not do; give at least one, in a list.")
    return values
