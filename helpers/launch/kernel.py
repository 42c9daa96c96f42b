"""One object for a built kernel of either dialect: k(A, B) -> C."""

import math

import numpy as np

from .. import ladder
from ..arguments import sizes, some, told
from ..devices import PTX_MACHINE, Device
from ..errors import KernelError
from ..language import ENGLISH, spelled
from .contestant import Contestant
from .operands import GUARD, OnDevice, as_placed, refuse_another_shape, refuse_beyond_host

OCLGRIND_LIMIT = 128**3  # multiply-adds that Oclgrind does in some seconds


class Kernel(Contestant):
    """A built matrix-product kernel of one dialect, ready to run on one device. The ladder says its grid and block."""

    device: Device

    def __init__(self, step: str, parameters: dict, source: str, device: Device, own: bool, by_shape: bool = False):
        """`by_shape`: the parameters follow from the shape of each product, since none were given."""
        self.name = self.step = step
        self.parameters, self.source, self.device, self.by_shape = parameters, source, device, by_shape
        self.own, self.checked = own, not own
        self.inputs = parameters.get("INPUT", "float32")
        self.block = ladder.STEPS[step].block(parameters)

    def refuse(self, M: int, N: int, K: int) -> None:
        """Raise what speaks against running this kernel at that size; return None if nothing does."""
        if not self.checked:
            raise KernelError(
                f"{self} has not passed a check yet. Run check(k) first: a wrong kernel can return wrong "
                f"numbers quickly, or take the whole notebook down with it."
            )
        self.refuse_size(M, N, K)

    def refuse_size(self, M: int, N: int, K: int) -> None:
        """Raise what speaks against that size, whether the kernel is right or not."""
        refuse_beyond_memory(self.device, M, N, K)
        if hasattr(self.device.handle, "max_mem_alloc_size"):  # one of OpenCL's
            refuse_beyond_buffer(self.device, M, N, K)

    def place(self, X: np.ndarray, over: OnDevice | None = None) -> OnDevice:
        """Copy X, C-contiguous float32, to the device, to be given to `upload` in its place, once or more often.

        `over`: a matrix of the same shape, placed before, whose memory X takes.
        """
        X, on = as_placed("X", X), self.backend(self.device)
        if over is None:
            return OnDevice(X.shape, on.hold(X.size, np.nan, X), self.device)
        refuse_another_shape(X, over)
        on.write(over.memory, X)
        return over

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
        return f"{self.step} ({self.dialect}{f', {self.inputs}' * (self.inputs != 'float32')})"

    def __str__(self):
        return self.title if isinstance(self.title, str) else spelled(ENGLISH, *self.title)

    def __repr__(self):
        more = ", or less, by the shape" * self.by_shape + "; compiled, and run on the PTX machine" * self.untimed
        if self.dialect == "CUDA" and not ladder.STEPS[self.step].fits(self.parameters, PTX_MACHINE):
            more += "; a GPU's block has 1,024 threads and 48 KiB of shared memory at most"
        return f"<{self}: {ladder.spell(self.parameters)}{more}>"


def refuse_shapes(k: Contestant, shapes: object) -> list[tuple[int, int, int]]:
    """The (M, N, K) of a list of shapes. Raises ValueError for what is none, and what speaks against one of them."""
    shapes = some("shapes", shapes)
    if len(shapes) == 3 and all(map(np.isscalar, shapes)):  # and not three cubes
        raise ValueError(f"shapes={told(shapes)} is one shape; give a list of them: [{tuple(shapes)}].")
    shapes = [sizes(shape) for shape in shapes]
    for shape in shapes:
        if isinstance(k, Kernel):
            k.refuse_size(*shape)
        refuse_beyond_host(*shape)
    most = OCLGRIND_LIMIT
    if k.own and k.dialect == "OpenCL" and min(map(math.prod, shapes)) > most:
        raise ValueError(
            f"Oclgrind tries {k} at the smallest of these shapes first, and would take minutes. Add one of "
            f"M * N * K <= {most}, such as (64, 64, 64)."
        )
    return shapes


def parameters_like(k: Kernel, step: str) -> dict:
    """The parameters of a kernel that is that step, or is launched like it. Raises ValueError for another."""
    if k.step != step:
        raise ValueError(f"{k} is not launched like {step}; build it with like={step!r}.")
    return k.parameters


def refuse_beyond_memory(device: Device, M: int, N: int, K: int) -> None:
    """Raise MemoryError where the device's memory cannot hold A, B and C."""
    bytes_needed = 4 * (M * K + K * N + M * N + 3 * GUARD)
    if device.kind != "GPU":
        bytes_needed *= 2  # the host's copies lie in the same memory
    if device.memory_bytes is not None and bytes_needed > device.memory_bytes:
        raise MemoryError(
            f"A, B and C of {M} x {K} times {K} x {N} need {bytes_needed / 1e9:.1f} GB; {device.name} "
            f"has {device.memory_bytes / 1e9:.1f} GB. Multiply a block of rows of A at a time."
        )


def refuse_beyond_buffer(device: Device, M: int, N: int, K: int) -> None:
    """Raise MemoryError where one matrix is more than the device holds in one buffer, or a 32-bit index addresses."""
    largest = max(M * K, K * N, M * N) + GUARD
    limit = min(2**31 - 1, device.handle.max_mem_alloc_size // 4)
    if largest > limit:
        raise MemoryError(
            f"one matrix of {largest - GUARD} elements is more than {device.name} holds in one buffer "
            f"that a 32-bit index can address ({limit} elements). Multiply a block of rows at a time."
        )


LOST = (
    "the GPU stopped a kernel: {what} (CUDA_ERROR_{name}). It may be one that was launched before. Nothing more runs "
    "on the GPU from here: restart Python, and run the cells again without that launch."
)


class DeviceLost(KernelError):
    """The GPU stopped a kernel, and this process has lost the GPU with all that lay on it."""


def no_room(device: Device) -> MemoryError:
    """What to raise where the device's driver finds no room."""
    return MemoryError(
        f"{device.name} has too little memory free for A, B and C. Close what else uses it, or "
        f"multiply a block of rows of A at a time."
    )
