"""A function of (A, B) as a product: it launches what it likes, so nobody watches it, and it is judged by its C."""

import inspect
import re
import traceback
from collections.abc import Callable
from contextlib import suppress

import numpy as np

from .findings import Finding, Kind
from .product import Product, Wrong

# (what PyOpenCL says of host code, the key of what that means)
HOST_SAYS = (
    ("INVALID_WORK_GROUP_SIZE", "counts_groups"),
    ("set_arg failed|INVALID_ARG", "other_arguments"),
    (r"(?s)INVALID_HOST_PTR|incompatible function arguments.*_cl\.Buffer", "no_hostbuf"),
    ("Buffer failed: INVALID_VALUE", "small_buffer"),
    ("", "{error}"),
)


class Function(Product):
    """A function that should return A @ B, called in this process.

    function  takes A (M, K) and B (K, N), float32 and C-contiguous, and returns C (M, N)
    tile      rows and columns of C that a block of it owns, and the depth of its K-tiles: then all shapes are tried;
              None tries those that a loop in Python does in a second
    inputs    the type that it rounds A and B to: "float32" for none, "tf32", "float16" or "bfloat16"
    """

    def __init__(self, function: Callable, tile: tuple[int, int, int] | None = None, inputs: str = "float32"):
        self.function, self.name, self.source, self.inputs = function, function.__name__, "", inputs
        self.tile, self.tile_known = tile or (4, 4, 4), tile is not None
        self.block = self.tile[:2]
        with suppress(OSError, TypeError):  # of one that was typed at a prompt
            self.source = inspect.getsource(function)

    def line(self, number: int) -> int:
        """A line of the function's file as one of `source`."""
        return number - self.function.__code__.co_firstlineno + 1

    def multiply(self, A: np.ndarray, B: np.ndarray, fill: float = np.nan) -> np.ndarray:
        """What the function returns. Raises `Wrong` where A or B has changed."""
        given = A.copy(), B.copy()
        C = self.function(*given)
        for name, X, then in zip("AB", (A, B), given, strict=True):
            if not np.array_equal(X, then):
                raise Wrong(Finding(Kind.INPUT_CHANGED, "input_changed", values={"name": name}))
        return C

    def failure(self, error: Exception) -> Finding:
        """An exception of `multiply` as a `Finding`, at the last line of the function that it went through."""
        first = re.sub(r":\n\s*", ": ", str(error).strip()).split("\n")[0]
        first = re.split(r"\. (?:Use the syntax|The following argument types)", first)[0]
        key = next(key for says, key in HOST_SAYS if re.search(says, str(error)))
        return Finding(Kind.ERROR, key, self.line_raised(error), {"error": f"{type(error).__name__}: {first}"})

    def line_raised(self, error: Exception) -> tuple:
        """The line of `source` that raised the error, as a tuple; () for none."""
        code = getattr(self.function, "__code__", None)
        frames = traceback.walk_tb(error.__traceback__)
        return tuple(self.line(number) for frame, number in frames if frame.f_code is code)[-1:]
