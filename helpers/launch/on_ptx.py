"""Compiled CUDA kernels for the PTX machine, with no GPU."""

from collections.abc import Callable

import numpy as np

from cuda_without_gpu import to_ptx

from ..errors import KernelError, in_our_words
from .cuda_source import at_its_line
from .numba_internals import plain_function

LONGEST, LARGEST, MOST = 1 << 17, 1 << 22, 1 << 28  # K, M * N and M * N * K that it takes some twenty seconds for
EXAMPLE = (np.zeros((1, 1), np.float32),) * 3  # A, B, C
NAMES = {4: "A", 13: "B", 22: "C"}  # of arrays, by where a kernel of (A, B, C) takes their elements


def refuse_long(M: int, N: int, K: int) -> None:
    """Raise ValueError for sizes that the PTX machine would take minutes for."""
    if K > LONGEST or M * N > LARGEST or M * N * K > MOST:
        raise ValueError(
            f"{M} x {K} times {K} x {N} would take the PTX machine minutes: it runs in Python. Stay at K <= {LONGEST}, "
            f"M * N <= {LARGEST} and M * N * K <= {MOST}, such as 128 x 128 x 64."
        )


def ptx_of(function: Callable, each: bool = False) -> str:
    """PTX of a `@cuda.jit` kernel, or of a plain function, of (A, B, C), float32 and C-contiguous, compiled once.

    `each`: as `to_ptx.text_of` has it. Raises KernelError for what does not compile.
    """
    try:
        with in_our_words():
            kernel = to_ptx.compiled_for(function, *EXAMPLE)
            return to_ptx.text_of(kernel, each=each)
    except KernelError:
        raise
    except Exception as error:  # Numba raises many kinds, each of which is about the kernel
        file = (plain_function(function) or function).__code__.co_filename
        raise KernelError(f"the kernel does not compile:\n{at_its_line(error, file)}") from None
