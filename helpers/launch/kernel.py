"""One object for a built kernel of either dialect: k(A, B) -> C.

A and B travel one way: NumPy arrays -> `Kernel.__call__` (validate once) -> `upload` -> `launch` ->
`download` -> C. Checking and timing walk the same way; none has a launch path of its own.
"""

import operator

import numpy as np

from . import ladder

# Behind every device buffer lie this many more float32, 256 KiB. Behind A and B they are NaN, so that a kernel
# which reads past the end poisons its result; behind C they hold a value that no store leaves as it is.
GUARD = 1 << 16
CANARY = np.float32(-6.2831853e37)

# Multiply-adds that Numba's simulator does in some seconds: one Python thread per CUDA thread.
SIMULATOR_LIMIT = 64**3


class KernelError(RuntimeError):
    """A kernel that cannot be built or must not be run; the message says where and what to do."""

    def _render_traceback_(self):
        """What Jupyter shows: the message alone. The way through the helpers would only hide it."""
        return [f"KernelError: {self}"]


class Kernel:
    """A built matrix-product kernel of one dialect, ready to run on one device.

    dialect     "CUDA" or "OpenCL"
    step        the rung it is, or is launched like
    parameters  its parameters, a dict
    source      its source, as text
    device      the `devices.Device` it runs on
    own         True for a learner's kernel, which must pass `check` before it runs here
    build_seconds   what building took; 0 in the simulator
    """

    dialect = None

    def __init__(self, step, parameters, source, device, own):
        self.step = step
        self.parameters = parameters
        self.source = source
        self.device = device
        self.own = own
        self.checked = not own
        self.block = ladder.STEPS[step].block(parameters)

    def __call__(self, A, B):
        """C = A @ B. A (M, K), B (K, N): float32 arrays; returns C (M, N), a new float32 array.

        Raises TypeError or ValueError for operands that do not fit, MemoryError when they are too large
        for the device, KernelError for a learner's kernel that has not passed `check`.
        """
        M, N, K = validate(A, B)
        self.refuse(M, N, K)
        if 0 in (M, N, K):
            return np.zeros((M, N), np.float32)
        work = self.upload(np.ascontiguousarray(A), np.ascontiguousarray(B))
        work.launch()
        return work.download()

    def upload(self, A, B, fill=np.nan):
        """Put A and B, C-contiguous float32, on the device, beside a C full of `fill`. Returns work with launch() and
        download()."""
        raise NotImplementedError

    def refuse(self, M, N, K):
        """Raise what speaks against running this kernel at that size; return None if nothing does."""
        if not self.checked:
            raise KernelError(
                f"{self} has not passed a check yet. Run check(k) first: a wrong kernel can return wrong "
                f"numbers quickly, or take the whole notebook down with it."
            )
        if self.device.kind == "simulator" and M * N * K > SIMULATOR_LIMIT:
            raise ValueError(
                f"{M} x {K} times {K} x {N} would take Numba's simulator minutes: it runs every CUDA thread "
                f"as a Python thread. Stay at M * N * K <= {SIMULATOR_LIMIT}, such as 64 x 64 x 64."
            )
        bytes_needed = 4 * (M * K + K * N + M * N + 3 * GUARD)
        if self.device.kind != "GPU":
            bytes_needed *= 2  # the host's copies lie in the same memory
        if self.device.memory_bytes is not None and bytes_needed > self.device.memory_bytes:
            raise MemoryError(
                f"A, B and C of {M} x {K} times {K} x {N} need {bytes_needed / 1e9:.1f} GB; {self.device.name} "
                f"has {self.device.memory_bytes / 1e9:.1f} GB. Multiply a block of rows of A at a time."
            )

    def grid(self, M, N):
        """Blocks along (x, y) for a C of M x N."""
        return ladder.STEPS[self.step].grid(self.parameters, M, N)

    def __str__(self):
        if self.own:
            return f"your kernel ({self.dialect}, launched like {self.step})"
        return f"{self.step} ({self.dialect})"

    def __repr__(self):
        return f"<{self}: {ladder.spell(self.parameters)}>"


def validate(A, B):
    """The sizes (M, N, K) of the product of A (M, K) and B (K, N), both float32 arrays of any layout.

    Raises TypeError for another dtype and ValueError for shapes that do not multiply.
    """
    for name, X in (("A", A), ("B", B)):
        if not isinstance(X, np.ndarray):
            raise TypeError(f"{name} is a {type(X).__name__}; pass a NumPy array of float32.")
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


def sizes(size):
    """(M, N, K) from an int, for all three, or from three ints. Raises ValueError for anything else, or below 1."""
    try:
        M, N, K = [operator.index(n) for n in (size if np.iterable(size) else (size,) * 3)]
    except (TypeError, ValueError):
        raise ValueError(f"{size!r} is no size; give a whole number, or three: (M, N, K).") from None
    if min(M, N, K) < 1:
        raise ValueError(f"a product of {M} x {K} times {K} x {N} has no elements; each size must be 1 or more.")
    return M, N, K


def read_back(C, guard):
    """C, once `guard`, the elements behind its end, proves untouched. Raises KernelError if it is not."""
    touched = int(np.count_nonzero(guard != CANARY))
    if touched:
        raise KernelError(f"the kernel wrote {touched} elements past the end of C: a store guard is missing.")
    return C
