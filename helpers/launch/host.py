"""A plain Python function of (A, B), such as np.matmul, checked and timed like a kernel."""

import linecache
from collections.abc import Callable

import numpy as np

from ..arguments import told
from ..errors import in_our_words
from . import operands
from .contestant import Contestant, Work, no_exit


class NotYet(Exception):
    """A stub that its learner has not filled in."""


class HostKernel(Contestant):
    """A function of two float32 arrays, A (M, K) and B (K, N), that returns A @ B."""

    def __init__(self, function: Callable):
        if hasattr(function, "py_func") or isinstance(function, str):
            raise TypeError(
                f"{told(function)[:40]} is a kernel's code, not a built kernel. Build it first, and say how it is "
                "launched: cuda_kernel(..., like=...) or opencl_kernel(..., like=...)."
            )
        if not callable(function):
            raise TypeError(
                f"{told(function)} is neither a kernel nor a function of (A, B); give one, such as np.matmul."
            )
        self.function = function
        self.name = getattr(function, "__name__", "your function")
        code = getattr(function, "__code__", None)
        self.source = "".join(linecache.getlines(code.co_filename)) if code else ""  # a notebook's cell, or a file

    def upload(self, A: np.ndarray, B: np.ndarray, fill: float = np.nan) -> "HostWork":
        """Copy A (M, K) and B (K, N). `fill` goes unused, since the function makes C itself."""
        return HostWork(self.function, *operands.pair_for(A, B))


class HostWork(Work):
    """Copies of A and B, since the function may write to them."""

    def __init__(self, function, A, B):
        self.function, self.A, self.B, self.C = function, A.copy(), B.copy(), None

    def multiply(self):
        """Call the function once."""
        with no_exit("it"), in_our_words():
            self.C = self.function(self.A, self.B)

    def download(self):
        """What the function returned. Raises NotYet for None, ValueError for another shape than C's."""
        if self.C is None:
            raise NotYet("it returns None")
        shape = (self.A.shape[0], self.B.shape[1])
        if np.shape(self.C) != shape:
            raise ValueError(f"it returns shape {np.shape(self.C)} where C is {shape}.")
        C = np.asarray(self.C)
        if C.dtype.kind not in "biufc":
            raise TypeError(f"it returns {C.dtype} where C holds numbers.")
        return C


def contestant(k) -> Contestant:
    """`k` itself if it is a contestant, else the function `k` as one. Raises TypeError for what is neither."""
    return k if isinstance(k, Contestant) else HostKernel(k)
