"""What may be multiplied: sizes, operands, and the guards around them on a device."""

import math
import operator
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .errors import KernelError

# Behind every device buffer lie this many more float32, 256 KiB. Behind A and B they are NaN, so that a kernel
# which reads past the end poisons its result; behind C they hold a value that no store leaves as it is.
GUARD = 1 << 16
CANARY = np.float32(-6.2831853e37)


@dataclass(frozen=True)
class OnDevice:
    """A float32 matrix that a device holds: what `Kernel.place` returns, and `Kernel.upload` takes without a copy."""

    shape: tuple[int, int]
    memory: object


@dataclass(frozen=True)
class Room:
    """Room for a float32 matrix, whatever lies in it."""

    shape: tuple[int, int]

    @property
    def nbytes(self) -> int:
        """As NumPy has it."""
        return 4 * math.prod(self.shape)


def filled(shape: tuple[int, int], fill: float | None) -> "np.ndarray | Room":
    """What C is before a launch: a float32 array full of `fill`; only room, with nothing to copy, for None."""
    return Room(shape) if fill is None else np.full(shape, fill, np.float32)


def guard_elements() -> int:
    """How many float32 lie behind each buffer now: GUARD, or 0 once `leave_guards_out` was called."""
    return GUARD


def leave_guards_out() -> None:
    """Make buffers as long as their matrices. For a process whose simulator watches the ends of the buffers itself."""
    global GUARD
    GUARD = 0


def validate(A: np.ndarray, B: np.ndarray) -> tuple[int, int, int]:
    """The sizes (M, N, K) of the product of A (M, K) and B (K, N), both float32 arrays of any layout.

    Raises TypeError for another dtype or a masked array, and ValueError for shapes that do not multiply.
    """
    for name, X in (("A", A), ("B", B)):
        if not isinstance(X, np.ndarray):
            raise TypeError(f"{name} is a {type(X).__name__}; pass a NumPy array of float32.")
        if isinstance(X, np.ma.MaskedArray):
            raise TypeError(
                f"{name} is a masked array; a kernel sees no mask, and would compute with what lies under it. "
                f"Say first what counts there, such as zeros: {name}.filled(0)."
            )
        if X.dtype != np.float32:
            loses = " (its imaginary part would be lost)" if X.dtype.kind == "c" else ""
            raise TypeError(
                f"{name} holds {X.dtype}; these kernels compute in float32. "
                f"Convert it first: {name}.astype(np.float32){loses}."
            )
        if X.ndim != 2:
            raise ValueError(
                f"{name} has {X.ndim} dimension{'s' * (X.ndim != 1)}, shape {X.shape}; a matrix has two. "
                f"Reshape it first, such as {name}.reshape(-1, 1) for a column."
            )
    if A.shape[1] != B.shape[0]:
        raise ValueError(
            f"A is {A.shape[0]} x {A.shape[1]} and B is {B.shape[0]} x {B.shape[1]}: "
            f"the columns of A ({A.shape[1]}) must be as many as the rows of B ({B.shape[0]})."
        )
    return A.shape[0], B.shape[1], A.shape[1]


def sizes(size: int | Iterable[int]) -> tuple[int, int, int]:
    """(M, N, K) from an int, for all three, or from three ints. Raises ValueError for anything else, or below 1."""
    try:
        M, N, K = (operator.index(n) for n in (size if np.iterable(size) else (size,) * 3))
    except (TypeError, ValueError):
        raise ValueError(f"{size!r} is no size; give a whole number, or three: (M, N, K).") from None
    if min(M, N, K) < 1:
        raise ValueError(f"a product of {M} x {K} times {K} x {N} has no elements; each size must be 1 or more.")
    return M, N, K


def draw(M: int, N: int, K: int) -> tuple[np.ndarray, np.ndarray]:
    """Fresh float32 operands A (M, K) and B (K, N), uniform in [-1, 1): never constant, never symmetric."""
    rng = np.random.default_rng()
    return tuple(2 * rng.random(shape, dtype=np.float32) - 1 for shape in ((M, K), (K, N)))


def refuse_past_the_end(guard: np.ndarray) -> None:
    """Raise KernelError if the elements behind the end of C, float32, are not as they were."""
    touched = int(np.count_nonzero(guard != CANARY))
    if touched:
        raise KernelError(f"the kernel wrote {touched} elements past the end of C: a store guard is missing.")
