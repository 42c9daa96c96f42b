"""What can be checked and timed: a kernel, a function of the host, a library. All of them are called C = k(A, B).

A and B travel one way: NumPy arrays -> `Contestant.__call__`, which validates them once -> `upload` -> `launch` ->
`download` -> C. Checking and timing walk the same way; none has a launch path of its own.
"""

import contextlib
import time
from collections.abc import Callable, Iterator

import numpy as np

from ..devices import Device
from ..errors import KernelError
from . import operands
from .operands import OnDevice, validate

PAST_THE_END = "the kernel wrote {count} elements past the end of C: a store guard is missing"
CALLED = "Call it as C = k(A, B): C is a new array, and its sizes follow from A and B."


@contextlib.contextmanager
def no_exit(what: str) -> Iterator[None]:
    """Within it, somebody's code that ends Python, as sys.exit() does, raises KernelError instead."""
    try:
        yield
    except SystemExit as error:
        raise KernelError(f"{what} ends Python with sys.exit({error.code!r}); leave that out.") from None


class Backend:
    """Where A, B and C lie and are multiplied, as one thread reaches it: the host. A subclass is a kind of device."""

    def __init__(self, device: Device | None = None):
        self.device = device

    def hold(self, size: int, behind: float, X: np.ndarray | None = None) -> object:
        """A buffer of so many float32, those of X if it is given, and behind them a guard full of `behind`."""
        buffer, guard = self.empty(size + operands.GUARD), np.full(operands.GUARD, behind, np.float32)
        if X is not None:
            self.write(buffer, X)
        if guard.size:
            self.write(buffer, guard, size)
        return buffer

    def empty(self, size: int) -> object:
        """A buffer of so many float32. Raises MemoryError where there is no room."""
        return np.empty(size, np.float32)

    def write(self, buffer: object, X: np.ndarray, start: int = 0) -> None:
        """Copy X, C-contiguous float32, into the buffer, from that element on."""
        buffer[start : start + X.size] = X.ravel()

    def read(self, buffer: object, start: int = 0, end: int | None = None) -> np.ndarray:
        """What lies in the buffer between two elements, or from one to its end, as a new array."""
        return buffer[start:end].copy()

    def timed(self, multiply: Callable, launches: int) -> float:
        """Multiply so many times, and wait for the last C. Returns seconds a launch."""
        start = time.perf_counter()
        for _ in range(launches):
            multiply()
        return (time.perf_counter() - start) / launches


class Work:
    """A, B and C where they are multiplied, each with a guard behind it, ready to be multiplied again and again.

    `launcher`: Work -> what multiplies once, or asks for it, as its backend's `timed` takes it.
    """

    on = Backend()

    def __init__(
        self, on: Backend, A: np.ndarray | OnDevice, B: np.ndarray | OnDevice, fill: float | None, launcher: Callable
    ):
        self.on, self.sizes = on, (A.shape[0], B.shape[1], A.shape[1])
        self.A, self.B = (X.memory if isinstance(X, OnDevice) else on.hold(X.size, np.nan, X) for X in (A, B))
        M, N, _ = self.sizes
        self.C = on.hold(M * N, operands.CANARY, None if fill is None else np.full(M * N, fill, np.float32))
        self.multiply = launcher(self)

    def launch(self) -> float:
        """Multiply once, and wait for C. Returns what `timed` does."""
        return self.timed(1)

    def timed(self, launches: int) -> float:
        """Multiply so many times, and wait for the last C. Returns seconds a launch.

        The host and OpenCL's CPU devices are timed by the wall, an OpenCL GPU by its profile of each launch, a CUDA GPU
        between two of its events around all of them. The PTX machine gives NaN.
        """
        return self.on.timed(self.multiply, launches)

    def download(self) -> np.ndarray:
        """C, float32 (M, N), as a new array. Raises KernelError if something wrote past its end."""
        M, N, _ = self.sizes
        guard = self.on.read(self.C, M * N)
        if touched := np.count_nonzero(guard != operands.CANARY):
            raise KernelError(PAST_THE_END, count=touched)
        return self.on.read(self.C, 0, M * N).reshape(M, N)

    def matrices(self) -> list:
        """A, B and C with their shapes, where buffers are arrays: NumPy's or Numba's."""
        M, N, K = self.sizes
        shapes = (M, K), (K, N), (M, N)
        return [X[: m * n].reshape(m, n) for X, (m, n) in zip((self.A, self.B, self.C), shapes, strict=True)]


class Contestant:
    """Whatever computes A @ B here. A subclass says how its work is made, and overrides what differs.

    dialect        "CUDA", "OpenCL", or "Python" for what runs on the host
    name           as timings call it
    step           the rung that it is, or is launched like; None for what is not of the ladder
    parameters     a dict, empty where there are none; where they follow from the shape, those of a large product
    source         its source as text, "" where there is none to show
    device         the `devices.Device` it runs on; None for the host
    backend        the `Backend` of its work, a class
    own            True for a learner's kernel, which must pass `check` before it runs here
    build_seconds  what building took; None where nobody knows
    inputs         the type that it rounds A and B to, such as "tf32"; "float32" where it takes them as they are
    """

    dialect = "Python"
    name = step = None
    device: Device | None = None
    parameters: dict = {}  # noqa: RUF012, replaced, never changed
    source = ""
    own = False
    build_seconds: float | None = 0.0
    inputs = "float32"
    backend: type[Backend] = Backend
    multiplied: frozenset = frozenset()  # sizes that it is ready for; replaced, never changed

    def __call__(self, A: np.ndarray, B: np.ndarray | None = None, *others: object) -> np.ndarray:
        """C = A @ B. A (M, K), B (K, N): float32 arrays; returns C (M, N), a new float32 array.

        Raises TypeError or ValueError for operands that do not fit, and for `others`, MemoryError when they are too
        large for the device, KernelError for a learner's kernel that has not passed `check`.
        """
        if B is None or others:
            given = "more than two" if others else "B is missing, or None"
            raise TypeError(f"{self} takes two matrices and returns the third; {given}. {CALLED}")
        M, N, K = validate(A, B)
        self.refuse(M, N, K)
        if 0 in (M, N, K):
            return np.zeros((M, N), np.float32)
        work = self.upload(A, B)
        work.launch()
        return work.download()

    __iter__ = None  # in spite of its brackets

    def __getitem__(self, launched: object) -> None:
        """Refuse k[grid, block]: TypeError."""
        raise TypeError(f"{self} knows its grid and its block; leave out [...]. {CALLED}")

    def upload(self, A: np.ndarray | OnDevice, B: np.ndarray | OnDevice, fill: float | None = np.nan) -> Work:
        """Put A (M, K) and B (K, N), or what `place` made of them, where they are multiplied, and a C full of `fill`.

        With fill=None, C is left as it is found.
        """
        A, B = operands.pair_for(A, B, self.device)
        return Work(self.backend(self.device), A, B, fill, self.fitted(A.shape[0], B.shape[1], A.shape[1]).launcher)

    def launcher(self, work: Work) -> Callable:
        """What multiplies that work once, or asks for it, as its backend's `timed` takes it."""
        raise NotImplementedError

    def refuse(self, M: int, N: int, K: int) -> None:
        """Raise what speaks against a product of that size; return None if nothing does."""

    def fitted(self, M: int, N: int, K: int) -> "Contestant":
        """What multiplies a product of that size: itself, or itself with sizes chosen for that shape."""
        return self

    def ready(self, M: int, N: int, K: int) -> "Contestant":
        """What multiplies a product of that size, with all that it takes built. Every clock calls it before it starts.

        What is `fitted` is launched once, too, since drivers and libraries leave work to a first launch of a shape.
        """
        k = self.fitted(M, N, K)
        if (M, N, K) not in k.multiplied:
            k.upload(np.zeros((M, K), np.float32), np.zeros((K, N), np.float32)).launch()
            k.multiplied |= {(M, N, K)}
        return k

    @property
    def untimed(self) -> bool:
        """Whether it runs on the PTX machine: right numbers, and no speed to measure."""
        return self.device is not None and self.device.kind == "PTX machine"

    def __str__(self):
        return self.name
