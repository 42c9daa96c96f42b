"""Compiled CUDA kernels on the PTX machine, with no GPU: what it does in seconds."""

import numpy as np

LONGEST, LARGEST, MOST = 1 << 17, 1 << 22, 1 << 28  # K, M * N and M * N * K that it takes some twenty seconds for
EXAMPLE = (np.zeros((1, 1), np.float32),) * 3  # A, B, C


def refuse_long(M: int, N: int, K: int) -> None:
    """Raise ValueError for sizes that the PTX machine would take minutes for."""
    if K > LONGEST or M * N > LARGEST or M * N * K > MOST:
        raise ValueError(
            f"{M} x {K} times {K} x {N} would take the PTX machine minutes: it runs in Python. Stay at K <= {LONGEST}, "
            f"M * N <= {LARGEST} and M * N * K <= {MOST}, such as 128 x 128 x 64."
        )
