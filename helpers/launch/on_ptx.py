"""Compiled CUDA kernels on the PTX machine, with no GPU."""

from collections.abc import Callable

import numpy as np

import ptx_machine
from cuda_without_gpu import device, to_ptx

from ..errors import KernelError, in_our_words
from .cuda_source import at_its_line
from .numba_internals import plain_function

LONGEST, LARGEST, MOST = 1 << 17, 1 << 22, 1 << 28  # K, M * N and M * N * K that it takes some twenty seconds for
# Wrong even if the numbers are right.
CERTAIN = {"out of bounds", "misaligned", "divergent barrier", "hang", "out of time", "error"}
EXAMPLE = (np.zeros((1, 1), np.float32),) * 3  # A, B, C
NAMES = {4: "A", 13: "B", 22: "C"}  # of arrays, by where a kernel of (A, B, C) takes their elements


def refuse_long(M: int, N: int, K: int) -> None:
    """Raise ValueError for sizes that the PTX machine would take minutes for."""
    if K > LONGEST or M * N > LARGEST or M * N * K > MOST:
        raise ValueError(
            f"{M} x {K} times {K} x {N} would take the PTX machine minutes: it runs in Python. Stay at K <= {LONGEST}, "
            f"M * N <= {LARGEST} and M * N * K <= {MOST}, such as 128 x 128 x 64."
        )


def run_arrays(
    ptx: str, block: tuple, grid: tuple, A: np.ndarray, B: np.ndarray, C: np.ndarray, limit: int = 0, **how: object
) -> ptx_machine.Run:
    """Run PTX of a kernel of (A, B, C), as Numba compiles it. A (M, K), B (K, N), C (M, N): float32; they stay.

    `limit`: instructions that blocks side by side may take together. `how`: `trace`, `blocks` and `requests`, as
    `ptx_machine.run` has them. Raises KernelError for what the PTX machine does not know, and what no GPU launches.
    """
    args = []
    for array, written in ((A.view(), False), (B.view(), False), (C.view(), True)):
        array.flags.writeable = written
        # So Numba passes an array: two pointers of its own, size, item size, data, two sizes, two strides.
        args += [0, 0, array.size, array.itemsize, array, *array.shape, *array.strides]
    try:
        limit = limit or 5000 * (A.shape[1] + 100)
        return device.run(ptx, grid, block, args, limit=limit, names=NAMES, **how)
    except (ptx_machine.PTXError, ValueError) as error:
        raise KernelError(str(error)) from None


def ptx_of(function: Callable, level: int = to_ptx.WATCHED, each: bool = False) -> str:
    """PTX of a `@cuda.jit` kernel, or of a plain function, of (A, B, C), float32 and C-contiguous, compiled once.

    `level`: WATCHED, which keeps each access of the source to arrays, or COUNTED, as a GPU would get it. `each`: as
    `to_ptx.text_of` has it. Raises KernelError for what does not compile.
    """
    try:
        with in_our_words():
            return to_ptx.text_of(to_ptx.compiled_for(function, *EXAMPLE), level, each=each)
    except KernelError:
        raise
    except Exception as error:  # Numba raises many kinds, each of which is about the kernel
        file = (plain_function(function) or function).__code__.co_filename
        raise KernelError(f"the kernel does not compile:\n{at_its_line(error, file)}") from None
