"""What a right product is.

The reference is in float64. Each element must lie within the textbook bound

    |C - exact| <= gamma_K (|A| |B|),   gamma_K = K u / (1 - K u),   u = 2**-24

(Higham, Accuracy and Stability of Numerical Algorithms, section 3.5), whatever the order of summation.

A kernel that rounds A and B first, to a type of fewer digits, is off by more. To round x leaves an error of u |x| at
most, u the unit roundoff of that type, and half of its smallest number above zero; a number that the type holds stays
as it is. So |A| and |B| grow by these errors before they are multiplied. Products of two such numbers are exact in
float32. Matrix units may cut off their sums where float32 would round, an error of 2**-23 each: of n products and what
they carry on all but the largest, where its last digit ends, and then the sum. These are n + 1 cuts for n products, two
a product at most: gamma has 2 K such errors. Nothing here allows for products that are too small for float32.
(Blanchard, Higham, Lopez, Mary, Pranesh, "Mixed precision block fused multiply-add", 2020; Fasi, Higham, Mikaitis,
Pranesh, "Numerical behavior of NVIDIA tensor cores", 2021.)
"""

import reprlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

UNIT_ROUNDOFF = 2.0**-24
ALL_DIFFER = 8  # turns of a check
AT_ONCE = 1 << 18  # elements of C that are compared together: they stay in a processor's cache
REPEATS = (
    1 << 20
) - 3  # numbers, after which those of a huge matrix begin again: to draw them takes longer than a product
# Products of one sum, of which a third may go missing within the bound of such inputs if their signs differ.
LONG = {"float32": 10_000, "tf32": 10_000, "float16": 10_000, "bfloat16": 1_000}


class Format(NamedTuple):
    """A type of numbers: digits of two that it keeps, the leading one included, its least and greatest number."""

    digits: int
    least: float
    greatest: float

    @property
    def unit_roundoff(self) -> float:
        """The greatest share of a number that rounding it to the nearest changes."""
        return 2.0**-self.digits


# Source: IEEE 754 for float16; NVIDIA's PTX ISA, "Alternate Floating-Point Data Formats", for the others.
FORMATS = {
    "tf32": Format(11, 2.0**-136, (2 - 2.0**-10) * 2.0**127),
    "float16": Format(11, 2.0**-24, 65504.0),
    "bfloat16": Format(8, 2.0**-133, (2 - 2.0**-7) * 2.0**127),
}


def held(X: np.ndarray, inputs: str) -> np.ndarray:
    """X, float32, rounded to the nearest numbers that the type `inputs` holds, as float32; "float32" changes nothing.

    Raises TypeError or ValueError for what is no float32 matrix, ValueError for a type that is none of `FORMATS`.
    """
    refuse_no_matrix(X)
    kind = format_of(inputs)
    if kind is None:
        return X
    exact = X.astype(np.float64)
    with np.errstate(invalid="ignore"):
        # What the last digit of each number is worth.
        last = np.maximum(np.ldexp(1.0, np.frexp(exact)[1] - kind.digits), kind.least)
        rounded = np.round(exact / last) * last
    return np.where(np.abs(rounded) > kind.greatest, np.copysign(np.inf, exact), rounded).astype(np.float32)


def refuse_no_matrix(X: np.ndarray) -> None:
    """Raise TypeError for what is no array of float32, ValueError for one that is no matrix."""
    if not isinstance(X, np.ndarray) or isinstance(X, np.ma.MaskedArray) or X.dtype != np.float32:
        raise TypeError(f"{reprlib.repr(X)} is no array of float32; convert it first: np.asarray(X, np.float32).")
    if X.ndim != 2:
        raise ValueError(f"an array of shape {X.shape} is no matrix; it has rows and columns.")


def format_of(inputs):
    """The `Format` of that name, None for float32. Raises ValueError for another name."""
    if not isinstance(inputs, str) or inputs not in ("float32", *FORMATS):
        raise ValueError(f"inputs={reprlib.repr(inputs)}: the types here are float32, {', '.join(FORMATS)}.")
    return FORMATS.get(inputs)


def error_bound(A: np.ndarray, B: np.ndarray, inputs: str = "float32") -> np.ndarray:
    """The largest |C - exact| that float32 arithmetic may leave, element by element; float64 (M, N).

    `inputs`: the type that A and B are rounded to before, "tf32", "float16" or "bfloat16".
    """
    refuse_no_matrix(A)
    refuse_no_matrix(B)
    K = A.shape[1]
    kind, all_of_it = format_of(inputs), np.abs(A, dtype=np.float64) @ np.abs(B, dtype=np.float64)
    if kind is None:
        return gamma(K, UNIT_ROUNDOFF) * all_of_it
    grown = [np.abs(X, dtype=np.float64) + rounding_error(X, inputs) for X in (A, B)]
    return (1 + gamma(2 * K, 2 * UNIT_ROUNDOFF)) * (grown[0] @ grown[1]) - all_of_it


def gamma(n: int, unit: float) -> float:
    """How far n errors of `unit` each can lead, as a share."""
    return n * unit / (1 - n * unit)


def rounding_error(X: np.ndarray, inputs: str) -> np.ndarray:
    """The most by which rounding to that type changes each number of X; zero where the type holds the number."""
    kind = FORMATS[inputs]
    return np.where(held(X, inputs) == X, 0, kind.unit_roundoff * np.abs(X, dtype=np.float64) + kind.least / 2)


def wrong_elements(C: np.ndarray, A: np.ndarray, B: np.ndarray, inputs: str = "float32") -> np.ndarray:
    """Where C, float32 (M, N), is not A @ B within `error_bound`; bool (M, N). NaN is wrong."""
    refuse_no_matrix(A)
    refuse_no_matrix(B)
    M, N = len(A), B.shape[1]
    if np.shape(C) != (M, N) or np.asarray(C).dtype.kind not in "biufc":
        raise ValueError(f"C={reprlib.repr(C)} is no product of A and B; give numbers of shape {(M, N)}.")
    rows, exact = max(1, AT_ONCE // N), B.astype(np.float64)
    parts = [slice(start, start + rows) for start in range(0, M, rows)]
    return np.vstack([~(np.abs(C[n] - A[n] @ exact) <= error_bound(A[n], B, inputs)) for n in parts])


def wrong_for(A: np.ndarray, B: np.ndarray, inputs: str = "float32") -> Callable[[np.ndarray], np.ndarray]:
    """A function C -> `wrong_elements`, for many answers to one question: the exact product is computed once."""
    bound, exact = error_bound(A, B, inputs), A.astype(np.float64) @ B.astype(np.float64)
    return lambda C: ~(np.abs(C - exact) <= bound)


def drawn(shape: tuple, inputs: str = "float32", turn: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Fresh operands A (M, K), B (K, N) for a check; in every other turn such as the type of its inputs holds.

    Nothing is lost of those, so their bound is narrow, and what is wrong shows. Once a kernel was right with numbers
    that all differ, every fourth turn has zeros, integers, tiny and huge ones. Long sums are drawn by `late`.
    """
    M, N, K = shape
    A, B = uniform(M, K), uniform(K, N)
    if turn > ALL_DIFFER and turn % 4 == 3 and max(A.size, B.size) < REPEATS:
        far = 8 if format_of(inputs) else 40
        A, B = mixed(A, far), np.ascontiguousarray(mixed(B.T, far).T)
    if LONG[inputs] < K:
        A, B = late(A, B)
    return (held(A, inputs), held(B, inputs)) if turn % 2 == 0 else (A, B)


def uniform(rows: int, columns: int) -> np.ndarray:
    """A matrix of numbers between -1 and 1, never constant, never symmetric."""
    numbers = 2 * np.random.default_rng().random(min(rows * columns, REPEATS), dtype=np.float32) - 1
    return np.resize(numbers, (rows, columns))


def late(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A and B for a long sum: all positive, and most of the sum at its end.

    Of 65,839 equal products 260 may be wrong within the bound. There a counter of 16 bits has started again, and takes
    303 of the first products in place of the last: here that changes the sum by some six times the bound.
    """
    along = 1 / 16 + np.linspace(0, 1, A.shape[1], dtype=np.float32) ** 8
    return np.abs(A) * along, np.abs(B)


def mixed(X: np.ndarray, far: int) -> np.ndarray:
    """X, a row of it for each row or column of the product, with numbers that a kernel may look for.

    Zeros of both signs and integers, equal ones side by side, a row and a column of zeros, and rows that are
    2**far times as large and as small: such a row's bound is as much wider or narrower.
    """
    random, X = np.random.default_rng(), X.copy()
    some = random.random(X.shape) < 1 / 8
    X[some] = random.choice(np.float32([0, -0.0, 1, -1, 2]), np.count_nonzero(some))
    X[:, 1::8] = X[:, : X.shape[1] - 1 : 8]
    rows = random.permutation(len(X))
    X[rows[1:2]], X[rows[2:3]], X[rows[3:4]] = 0, X[rows[2:3]] * 2.0**far, X[rows[3:4]] * 2.0**-far
    if X.shape[1] > 8:
        X[:, random.integers(X.shape[1])] = 0
    return X
