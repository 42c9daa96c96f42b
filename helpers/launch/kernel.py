"""What computes A @ B here: a kernel of either dialect, a function of the host, a library. All are C = k(A, B).

A and B travel one way, for checks and clocks, too: NumPy arrays -> `upload` -> `launch` -> `download` -> C.
"""

import linecache
import time
from collections.abc import Callable

import numpy as np

from .. import ladder
from ..arguments import sizes, told
from ..devices import Device
from ..errors import KernelError, in_our_words
from ..language import ENGLISH, spelled

PAST_THE_END = "the kernel wrote {count} elements past the end of C: a store guard is missing"
LOST = "the GPU stopped a kernel: {error}. If nothing runs on the GPU from here, restart Python."
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


class Backend:
    """Where A, B and C lie and are multiplied, as one thread reaches it: the host.

    A subclass is a kind of device. It has `empty(size)`, a buffer of so many float32, and `write(buffer, X, start=0)`,
    which copies X, C-contiguous float32, into a buffer from an element on.
    """

    def __init__(self, device: Device | None = None):
        self.device = device

    def hold(self, size: int, behind: float, X: np.ndarray | None = None) -> object:
        """A buffer of so many float32, those of X if it is given, and behind them a guard full of `behind`."""
        buffer, guard = self.empty(size + GUARD), np.full(GUARD, behind, np.float32)
        if X is not None:
            self.write(buffer, np.ascontiguousarray(X))
        if guard.size:
            self.write(buffer, guard, size)
        return buffer

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

    `sizes`: (M, N, K); `shapes`: of A, B and C. `A`, `B`: buffers, as `on.hold` makes them. `fill`: what C is full of;
    None leaves it as found.
    `launcher`: Work -> what multiplies once, or asks for it, as its backend's `timed` takes it.
    """

    on = Backend()

    def __init__(self, on: Backend, sizes: tuple, A: object, B: object, fill: float | None, launcher: Callable):
        self.on, self.sizes, self.A, self.B = on, sizes, A, B
        M, N, K = sizes
        self.shapes = (M, K), (K, N), (M, N)
        self.C = on.hold(M * N, CANARY, None if fill is None else np.full(M * N, fill, np.float32))
        self.multiply = launcher(self)

    def launch(self) -> float:
        """Multiply once, and wait for C. Returns what `timed` does."""
        return self.timed(1)

    def timed(self, launches: int) -> float:
        """Multiply so many times, and wait for the last C. Returns seconds a launch, as its backend has it."""
        return self.on.timed(self.multiply, launches)

    def download(self) -> np.ndarray:
        """C, float32 (M, N), as a new array. Raises KernelError if something wrote past its end."""
        M, N, _ = self.sizes
        guard = self.on.read(self.C, M * N)
        if touched := np.count_nonzero(guard != CANARY):
            raise KernelError(PAST_THE_END, count=touched)
        return self.on.read(self.C, 0, M * N).reshape(M, N)

    def matrices(self) -> list:
        """A, B and C with their shapes, where buffers are arrays: NumPy's or Numba's."""
        held = zip((self.A, self.B, self.C), self.shapes, strict=True)
        return [X[: m * n].reshape(m, n) for X, (m, n) in held]


class Contestant:
    """Whatever computes A @ B here. A subclass has `launcher`, which `Work` takes, and overrides what differs."""

    dialect = "Python"  # or "CUDA", "OpenCL"; this one runs on the host
    name = step = None  # as timings call it; the rung that it is, or is launched like, if any
    device: Device | None = None  # None: the host
    parameters: dict = {}  # noqa: RUF012, replaced, never changed; those of a large product, where they follow its shape
    source = ""  # its text, if there is one to show
    own = False  # True for a learner's kernel, which must pass `check` before it runs here
    build_seconds: float | None = 0.0  # None where nobody knows
    inputs = "float32"  # or the type that it rounds A and B to, such as "tf32"
    backend: type[Backend] = Backend
    multiplied: frozenset = frozenset()  # sizes that it is ready for; replaced, never changed

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """C = A @ B. A (M, K), B (K, N): float32 arrays; returns C (M, N), a new float32 array.

        Raises TypeError or ValueError for operands that do not fit, MemoryError when they are too large for the device,
        KernelError for a learner's kernel that has not passed `check`.
        """
        M, N, K = validate(A, B)
        self.refuse(M, N, K)
        if 0 in (M, N, K):
            return np.zeros((M, N), np.float32)
        work = self.upload(A, B)
        work.launch()
        return work.download()

    def upload(self, A: np.ndarray, B: np.ndarray, fill: float | None = np.nan) -> Work:
        """Put A (M, K) and B (K, N) where they are multiplied, beside a C full of `fill`."""
        sizes, on = validate(A, B), self.backend(self.device)
        X, Y = on.hold(A.size, np.nan, A), on.hold(B.size, np.nan, B)
        return Work(on, sizes, X, Y, fill, self.fitted(*sizes).launcher)

    def refuse(self, M: int, N: int, K: int) -> None:
        """Raise what speaks against a product of that size; return None if nothing does."""

    def fitted(self, M: int, N: int, K: int) -> "Contestant":
        """What multiplies a product of that size: itself, or itself with sizes chosen for that shape."""
        return self

    def ready(self, M: int, N: int, K: int) -> "Contestant":
        """What multiplies a product of that size, launched once: drivers leave work to a first launch."""
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


class NotYet(Exception):
    """A stub that its learner has not filled in."""


class HostKernel(Contestant):
    """A function of two float32 arrays, A (M, K) and B (K, N), that returns A @ B, such as np.matmul."""

    def __init__(self, function: Callable):
        if hasattr(function, "py_func") or not callable(function):
            what = f"{told(function)[:40]} is neither a built kernel nor a function of (A, B), such as np.matmul."
            raise TypeError(f"{what} Build a kernel first: cuda_kernel(..., like=...) or opencl_kernel(..., like=...).")
        self.function = function
        self.name = getattr(function, "__name__", "your function")
        code = getattr(function, "__code__", None)
        self.source = "".join(linecache.getlines(code.co_filename)) if code else ""  # a notebook's cell, or a file

    def upload(self, A: np.ndarray, B: np.ndarray, fill: float = np.nan) -> "HostWork":
        """Copy A (M, K) and B (K, N). `fill` goes unused, since the function makes C itself."""
        validate(A, B)
        return HostWork(self.function, A, B)


class HostWork(Work):
    """Copies of A and B, since the function may write to them."""

    def __init__(self, function, A, B):
        self.function, self.A, self.B, self.C = function, A.copy(), B.copy(), None

    def multiply(self):
        """Call the function once."""
        with in_our_words():
            self.C = self.function(self.A, self.B)

    def download(self):
        """What the function returned. Raises NotYet for None, ValueError for another shape than C's."""
        if self.C is None:
            raise NotYet("it returns None")
        shape = (self.A.shape[0], self.B.shape[1])
        if np.shape(self.C) != shape:
            raise ValueError(f"it returns shape {np.shape(self.C)} where C is {shape}.")
        return np.asarray(self.C)


def contestant(k: Contestant | Callable) -> Contestant:
    """`k` itself if it is a contestant, else the function `k` as one. Raises TypeError for what is neither."""
    return k if isinstance(k, Contestant) else HostKernel(k)


class Kernel(Contestant):
    """A built matrix-product kernel of one dialect, ready to run on one device. The ladder says its grid and block.

    A subclass has `build()`, which `compile` calls once. A learner's kernel may crash its compiler, or keep it busy:
    `check` builds it first, in a child.
    """

    device: Device
    build_seconds = None

    def __init__(self, step: str, parameters: dict, source: str, device: Device, own: bool, by_shape: bool = False):
        """`by_shape`: the parameters follow from the shape of each product, since none were given."""
        self.name = self.step = step
        self.parameters, self.source, self.device, self.by_shape = parameters, source, device, by_shape
        self.own, self.checked = own, not own
        self.inputs = parameters.get("INPUT", "float32")
        self.block = ladder.STEPS[step].block(parameters)

    def compile(self) -> None:
        """Build it, once. Raises KernelError for what does not compile, or cannot be launched here."""
        if self.build_seconds is None:
            start = time.perf_counter()
            self.build()
            self.build_seconds = time.perf_counter() - start

    def refuse(self, M: int, N: int, K: int) -> None:
        """Raise what speaks against running this kernel at that size; return None if nothing does."""
        if not self.checked:
            raise KernelError(f"{self} has not passed a check yet. Run check(k) first.")
        self.refuse_size(M, N, K)

    def refuse_size(self, M: int, N: int, K: int) -> None:
        """Raise MemoryError for a matrix of more elements than a kernel's 32-bit index counts."""
        if max(M * K, K * N, M * N) + GUARD >= 2**31:
            raise MemoryError(f"{M} x {K} times {K} x {N} is too large. Multiply a block of rows of A at a time.")

    def grid(self, M: int, N: int) -> tuple[int, int]:
        """Blocks along (x, y) for a C of M x N."""
        return ladder.STEPS[self.step].grid(self.parameters, M, N)

    def global_size(self, M: int, N: int) -> tuple[int, int]:
        """Threads along (x, y) for a C of M x N, which OpenCL is launched with."""
        return tuple(n * threads for n, threads in zip(self.grid(M, N), self.block, strict=True))

    @property
    def title(self) -> str | tuple:
        """What a verdict calls it: its name, or a sentence, see `language.spelled`."""
        if self.own:
            return "your kernel ({dialect}, launched like {step})", {"dialect": self.dialect, "step": self.step}
        inputs = "" if self.inputs == "float32" else f", {self.inputs}"
        return f"{self.step} ({self.dialect}{inputs})"

    def __str__(self):
        return self.title if isinstance(self.title, str) else spelled(ENGLISH, *self.title)

    def __repr__(self):
        return f"<{self}: {ladder.spell(self.parameters)}>"
