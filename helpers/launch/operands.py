"""What may be multiplied: operands, and the guards around them on a device."""

import numpy as np

from ..arguments import sizes, told

# Behind every device buffer lie this many more float32, 256 KiB. Behind A and B they are NaN, so that a kernel
# which reads past the end poisons its result; behind C they hold a value that no store leaves as it is.
GUARD = 1 << 16
CANARY = np.float32(-6.2831853e37)


def leave_guards_out() -> None:
    """Make buffers as long as their matrices. For a process in which Oclgrind watches the ends of the buffers."""
    global GUARD
    GUARD = 0


def validate(A: np.ndarray, B: np.ndarray) -> tuple[int, int, int]:
    """The sizes (M, N, K) of the product of A (M, K) and B (K, N), float32 arrays of any layout.

    Raises TypeError for another type, and ValueError for shapes that do not multiply.
    """
    for name, X in (("A", A), ("B", B)):
        if not isinstance(X, np.ndarray) or X.dtype != np.float32:
            raise TypeError(f"{name} is {told(X)}; give a NumPy array of float32, such as np.float32({name}).")
        if X.ndim != 2:
            raise ValueError(f"{name} has shape {X.shape}; a matrix has two sizes: {name}.reshape(rows, columns).")
    if A.shape[1] != B.shape[0]:
        raise ValueError(
            f"A is {A.shape[0]} x {A.shape[1]} and B is {B.shape[0]} x {B.shape[1]}: "
            f"the columns of A ({A.shape[1]}) must be as many as the rows of B ({B.shape[0]})."
        )
    return A.shape[0], B.shape[1], A.shape[1]


def draw(M: int, N: int, K: int) -> tuple[np.ndarray, np.ndarray]:
    """Fresh float32 operands A (M, K) and B (K, N), uniform in [-1, 1). Raises ValueError for what is no size."""
    M, N, K = sizes((M, N, K))
    rng = np.random.default_rng()
    return tuple(2 * rng.random(shape, dtype=np.float32) - 1 for shape in ((M, K), (K, N)))
