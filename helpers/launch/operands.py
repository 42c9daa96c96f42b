"""What may be multiplied: sizes, operands, and the guards around them on a device."""

from dataclasses import dataclass

import numpy as np
import psutil

from ..arguments import sizes, told
from ..devices import Device

# Behind every device buffer lie this many more float32, 256 KiB. Behind A and B they are NaN, so that a kernel
# which reads past the end poisons its result; behind C they hold a value that no store leaves as it is.
GUARD = 1 << 16
# How what is no array becomes one: Numba's on a device, pandas', PyOpenCL's and CuPy's.
BACK = "copy_to_host", "to_numpy", "get"
CANARY = np.float32(-6.2831853e37)


@dataclass(frozen=True)
class OnDevice:
    """A float32 matrix that a device holds: what `Kernel.place` returns, and `Kernel.upload` takes without a copy."""

    shape: tuple[int, int]
    memory: object
    device: Device


def leave_guards_out() -> None:
    """Make buffers as long as their matrices. For a process in which Oclgrind watches the ends of the buffers."""
    global GUARD
    GUARD = 0


def validate(A: np.ndarray, B: np.ndarray) -> tuple[int, int, int]:
    """The sizes (M, N, K) of the product of A (M, K) and B (K, N), both float32 arrays of any layout.

    Raises TypeError for another dtype or a masked array, and ValueError for shapes that do not multiply.
    """
    refuse_no_matrix("A", A)
    refuse_no_matrix("B", B)
    refuse_misfit(A, B)
    return A.shape[0], B.shape[1], A.shape[1]


def refuse_misfit(A, B):
    """Raise ValueError for shapes that do not multiply."""
    if A.shape[1] != B.shape[0]:
        raise ValueError(
            f"A is {A.shape[0]} x {A.shape[1]} and B is {B.shape[0]} x {B.shape[1]}: "
            f"the columns of A ({A.shape[1]}) must be as many as the rows of B ({B.shape[0]})."
        )


def refuse_no_matrix(name: str, X: object) -> None:
    """Raise TypeError or ValueError, with the remedy, for what is no float32 matrix; its layout may be any."""
    if not isinstance(X, np.ndarray):
        kind, back = type(X).__name__, next((f"{name}.{way}()" for way in BACK if hasattr(X, way)), None)
        if not hasattr(X, "dtype"):  # a dict has a `get`, too
            back = f"np.array({name}, np.float32)" if isinstance(X, list | tuple) else None
        article = "an" if kind[0] in "AEIOUaeiou" else "a"
        raise TypeError(f"{name} is {article} {kind}; pass a NumPy array of float32{f', {back}' * bool(back)}.")
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
        row, column = f"{name}.reshape(1, -1), one row", f"{name}.reshape(-1, 1), one column"
        one = f"{column}, or {row}" if name == "B" else f"{row}, or {column}"
        first = ", ".join("0" * (X.ndim - 2))
        remedy = (f"{name}.reshape(1, 1)", one, "", f"its matrices one at a time, such as {name}[{first}]")[
            min(X.ndim, 3)
        ]
        raise ValueError(
            f"{name} has {X.ndim} dimension{'s' * (X.ndim != 1)}, shape {X.shape}; a matrix has two. Give {remedy}."
        )


def pair_for(A: np.ndarray | OnDevice, B: np.ndarray | OnDevice, device: Device | None = None) -> list:
    """A and B, C-contiguous or placed on that device. Raises what `validate` does, and ValueError for no elements."""
    pair = [as_placed("A", A, device), as_placed("B", B, device)]
    refuse_misfit(A, B)
    return pair


def as_placed(name: str, X: np.ndarray | OnDevice, device: Device | None = None) -> np.ndarray | OnDevice:
    """One operand as that device takes it. Raises what `pair_for` raises."""
    if not isinstance(X, OnDevice):
        refuse_no_matrix(name, X)
    elif X.device != device:
        raise ValueError(f"{name} lies on {X.device.name}; place it on {device.name if device else 'the host'} first.")
    if 0 in X.shape:
        raise ValueError(f"{name} is {X.shape[0]} x {X.shape[1]} and has no elements; each size must be 1 or more.")
    return X if isinstance(X, OnDevice) else np.ascontiguousarray(X)


def refuse_another_shape(X: np.ndarray, over: object) -> None:
    """Raise TypeError or ValueError unless `over` is a matrix that was placed before, of the shape of X."""
    if not isinstance(over, OnDevice):
        raise TypeError(f"over={told(over)} is no matrix on a device; give what `place` returned, or leave it out.")
    if over.shape != X.shape:
        raise ValueError(
            f"X is {X.shape} and `over` is {over.shape}; only a matrix of the same shape can take its place."
        )


def refuse_beyond_host(M: int, N: int, K: int) -> None:
    """Raise MemoryError where this machine's memory cannot hold A, B and C."""
    needed, there = 4 * (M * K + K * N + M * N), psutil.virtual_memory().total
    if needed > there:
        raise MemoryError(
            f"A, B and C of {M} x {K} times {K} x {N} need {needed / 1e9:.1f} GB; this machine has {there / 1e9:.1f} "
            f"GB. Choose smaller sizes."
        )


def draw(M: int, N: int, K: int) -> tuple[np.ndarray, np.ndarray]:
    """Fresh float32 operands A (M, K) and B (K, N), uniform in [-1, 1): never constant, never symmetric.

    Raises ValueError for what is no size, MemoryError where they and C are more than this machine's memory.
    """
    M, N, K = sizes((M, N, K))
    refuse_beyond_host(M, N, K)
    rng = np.random.default_rng()
    return tuple(2 * rng.random(shape, dtype=np.float32) - 1 for shape in ((M, K), (K, N)))
