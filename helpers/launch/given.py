"""What users give: taken where it is what a function asks for, refused with the value and the remedy where it is not.

`@takes` above a function that pages, commands and guides call is all that it needs: what an argument must be is its
annotation, a type or one of the kinds below. Objects of a wrong kind are a TypeError, numbers and texts that will not
do a ValueError, both before anything has run.
"""

import contextlib
import functools
import inspect
import math
import numbers
import os
import reprlib
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from cuda_without_gpu.errors import KernelError

MOST = 2**31 - 1  # kernels count rows and columns in 32 bits
DAY = 24 * 3600  # seconds
MOST_ROUNDS = 1000
MADE_BY = {  # what makes an object of that class
    "Kernel": "cuda_kernel(...) or opencl_kernel(...)",
    "Device": "devices.opencl_device(...)",
    "Timing": "measure(...)",
    "Scoreboard": "scoreboard(...)",
    "Limits": "machine_limits()",
    "CompilerReport": "compiler_report(...)",
    "CompiledRun": "run_ptx(...)",
    "Run": "on_ranks(...)",
    "Network": "this_machine()",
}
PLAIN = {
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    str: "text, in quotes",
    Path: "a path, as text",
    list: "a list",
    tuple: "a list or a tuple",
    dict: "a dict",
    np.ndarray: "a NumPy array",
    types.ModuleType: "a module",
}


class Unfit(Exception):
    """A value is not of the kind that is asked for."""


def told(value: object) -> str:
    """The value as an error names it: an array by its type and shape, and what is long by its ends."""
    if isinstance(value, np.ndarray):
        return f"<array of {value.dtype}, shape {value.shape}>"
    if isinstance(value, int) and abs(value) >= 10**40:
        return f"<a number of {int(abs(value).bit_length() * math.log10(2)) + 1} digits>"
    return reprlib.repr(value) if isinstance(value, str | list | tuple | dict | set) else repr(value)[:80]


def index(value: object) -> int:
    """The int that the value is, NumPy's too. Raises Unfit for others, and for True and False, which are answers."""
    if isinstance(value, bool | np.bool_) or not hasattr(value, "__index__") or np.ndim(value):
        raise Unfit
    return value.__index__()


def whole(name: str, value: object, least: int = -MOST, most: int = MOST) -> int:
    """The whole number of that name, as an int. Raises ValueError for what is none, and for one out of bounds."""
    try:
        n = index(value)
    except Unfit:
        n = None
    if n is None or not least <= n <= most:
        bounds = f" from {least} to {most}" if least > -MOST else ""
        raise ValueError(f"{name}={told(value)} does not do; give a whole number{bounds}.")
    return n


def number(name: str, value: object, most: float = 1e300) -> float:
    """The number of that name, above 0, as it is. Raises ValueError for what is none, and for more than the most."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 < value <= most:
        raise ValueError(f"{name}={told(value)} does not do; give a number above 0, up to {most:g}.")
    return value


def sizes(size: int | Iterable[int]) -> tuple[int, int, int]:
    """(M, N, K) from an int, for all three, or from three ints. Raises ValueError for anything else, or below 1."""
    try:
        M, N, K = map(index, size if np.iterable(size) else (size,) * 3)
    except (Unfit, ValueError):
        raise ValueError(f"{told(size)} is no size; give a whole number, or three: (M, N, K).") from None
    if min(M, N, K) < 1:
        raise ValueError(f"a product of {M} x {K} times {K} x {N} has no elements; each size must be 1 or more.")
    if max(M, N, K) > MOST:
        raise ValueError(f"size {told(size)} is too large; each of M, N and K must be at most {MOST}.")
    return M, N, K


def a_path(name: str, value: object) -> object:
    """The value, if it is a path or text that is not empty. Raises TypeError or ValueError for others."""
    if isinstance(value, str) and not value:
        raise ValueError(f"{name}='' names none; give a path, such as '.' for the folder where you are.")
    if not isinstance(value, str | Path):
        raise TypeError(f"{name}={told(value)} does not do; give {words(Path | str)}.")
    return value


# What a type does not say of an argument: the bounds of a number, or what takes (name, value).
Count = typing.Annotated[int, 1, MOST]
Natural = typing.Annotated[int, 0, MOST]
Ranks = typing.Annotated[int, 1, 2**20]
Rounds = typing.Annotated[int, 1, MOST_ROUNDS]
Workers = typing.Annotated[int, 1, 1024]
Seconds = typing.Annotated[float, DAY]
Size = typing.Annotated[int | tuple, lambda name, value: sizes(value) and value]  # looked at, and left as it is
Folder = typing.Annotated[str | Path, a_path]

F = typing.TypeVar("F", bound=Callable)


def takes(function: F) -> F:
    """Let a function refuse, before it runs, arguments that its annotations do not allow.

    Whole numbers reach it as Python's own, and a default as it is. Whether a function can be a contestant, and an array
    an operand, `contestant` and `validate` say.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def checked(*args, **named):
        try:
            given = signature.bind(*args, **named)
        except TypeError:  # too many or too few, in Python's own words
            return function(*args, **named)
        for name, value in given.arguments.items():
            parameter = signature.parameters[name]
            if parameter.kind is parameter.VAR_POSITIONAL:
                given.arguments[name] = tuple(taken(name, one, parameter.annotation) for one in value)
            elif parameter.kind is not parameter.VAR_KEYWORD and value is not parameter.default:
                given.arguments[name] = taken(name, value, parameter.annotation)
        return function(*given.args, **given.kwargs)

    return typing.cast(F, checked)


def taken(name: str, value: object, kind: object) -> object:
    """The argument, as its function gets it. Raises TypeError or ValueError for what it cannot be."""
    kinds = [kind] if origin_of(kind) is not types.UnionType else typing.get_args(kind)
    if kind is inspect.Parameter.empty or (value is None and type(None) in kinds):
        return value
    if not kinds[1:] or kinds[1:] == (type(None),):
        rule = getattr(kinds[0], "__metadata__", ())
        if take := {int: whole, float: number}.get(getattr(kinds[0], "__origin__", kinds[0])):
            return take(name, value, *rule)
        if rule:
            return rule[0](name, value)
    with contextlib.suppress(Unfit):
        return fitting(value, kind)
    if getattr(kind, "__name__", "") == "Kernel":
        raise TypeError(f"{name}={told(value)} is no built kernel; build it first, with {MADE_BY['Kernel']}.")
    raise TypeError(f"{name}={told(value)} does not do; give {words(kind)}.")


def origin_of(kind):
    """What the kind is without its [...]. A sequence is given as a list, a mapping as a dict."""
    origin = typing.get_origin(kind) or kind
    return {Sequence: list, Mapping: dict, typing.Union: types.UnionType}.get(origin, origin)


def fitting(value, kind):
    """The value, if it is of that kind; the items of a list, too. Raises Unfit."""
    origin, inner = origin_of(kind), typing.get_args(kind)
    if origin is types.UnionType:
        for one in inner:
            with contextlib.suppress(Unfit):
                return fitting(value, one)
        raise Unfit
    if origin in (list, tuple):
        if isinstance(value, str | Mapping | np.ndarray) or not np.iterable(value):
            raise Unfit
        value = list(value)
        kinds = inner * len(value) if origin is list else inner
        if inner and len(kinds) != len(value):
            raise Unfit
        return origin(map(fitting, value, kinds) if inner else value)
    if origin is dict and isinstance(value, Mapping) and inner:
        return {key: fitting(one, inner[1]) for key, one in value.items()}
    if kind is int:
        return index(value)
    asked = {float: numbers.Real, Path: os.PathLike}.get(origin, origin)
    if not isinstance(value, asked) or (kind is float and isinstance(value, bool)):
        raise Unfit
    return value


def words(kind) -> str:
    """What to give, in words, such as "a Timing, which measure(...) returns"."""
    origin, inner = origin_of(kind), typing.get_args(kind)
    if origin is types.UnionType:
        return " or ".join(dict.fromkeys(words(one) for one in inner if one is not type(None)))
    if inner and origin is list:
        return f"a list, in which each is {words(inner[0])}"
    if inner and origin is tuple:
        return f"{len(inner)} values in brackets, each {words(inner[0])}"
    if inner and origin is dict:
        return f"a dict, in which each value is {words(inner[1])}"
    if origin is Callable:
        return "a function"
    made = MADE_BY.get(origin.__name__)
    return PLAIN.get(origin) or f"a {origin.__name__}" + f", which {made} returns" * bool(made)


@contextlib.contextmanager
def no_exit(what: str) -> Iterator[None]:
    """Within it, somebody's code that ends Python, as sys.exit() does, raises KernelError instead."""
    try:
        yield
    except SystemExit as error:
        raise KernelError(f"{what} ends Python with sys.exit({error.code!r}); leave that out.") from None


def some(name: str, values: object) -> list:
    """A list of them, at least one; a single name will do. Raises ValueError for none, and for what is no list."""
    values = [values] if isinstance(values, str) and values else values
    if isinstance(values, str | Mapping | np.ndarray) or not np.iterable(values) or not len(values := list(values)):
        raise ValueError(f"{name}={told(values)} does not do; give at least one, in a list.")
    return values
