"""What a right product is.

The reference is in float64. Each element must lie within the textbook bound

    |C - exact| <= gamma_K (|A| |B|),   gamma_K = K u / (1 - K u),   u = 2**-24

(Higham, Accuracy and Stability of Numerical Algorithms, section 3.5), whatever the order of summation.
"""

from collections.abc import Callable

import numpy as np

from ..launch import Contestant
from ..launch.given import told
from ..launch.host import contestant
from ..launch.operands import validate

UNIT_ROUNDOFF = 2.0**-24


def error_bound(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The largest |C - exact| that float32 arithmetic may leave, element by element; float64 (M, N)."""
    _, _, K = validate(A, B)
    gamma = K * UNIT_ROUNDOFF / (1 - K * UNIT_ROUNDOFF)
    return gamma * (np.abs(A, dtype=np.float64) @ np.abs(B, dtype=np.float64))


def wrong_elements(C: np.ndarray, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Where C, float32 (M, N), is not A @ B within `error_bound`; bool (M, N). NaN is wrong."""
    return wrong_for(A, B)(C)


def wrong_for(A: np.ndarray, B: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """A function C -> `wrong_elements`, for many answers to one question: the exact product is computed once."""
    bound = error_bound(A, B)
    exact = A.astype(np.float64) @ B.astype(np.float64)

    def wrong(C):
        if np.shape(C) != exact.shape or np.asarray(C).dtype.kind not in "biufc":
            raise ValueError(f"C={told(C)} is no product of A and B; give numbers of shape {exact.shape}.")
        return ~(np.abs(C - exact) <= bound)

    return wrong


def launched(k: Contestant, A: np.ndarray, B: np.ndarray, fill: float = np.nan) -> np.ndarray:
    """C (M, N) of one launch, which found C full of `fill`."""
    work = k.upload(A, B, fill)
    work.launch()
    return work.download()


def right_within_bound(k: Contestant, A: np.ndarray, B: np.ndarray) -> bool:
    """Whether one launch gives A @ B within the bound, each element."""
    return not wrong_elements(launched(contestant(k), A, B), A, B).any()
