"""One object for a built kernel of either dialect: k(A, B) -> C."""

import numpy as np

from .. import ladder
from ..devices import Device
from .contestant import Contestant
from .errors import KernelError
from .operands import GUARD, OnDevice

# Multiply-adds that Numba's simulator does in some seconds: one Python thread per CUDA thread.
SIMULATOR_LIMIT = 64**3


class Kernel(Contestant):
    """A built matrix-product kernel of one dialect, ready to run on one device. The ladder says its grid and block."""

    by_shape = False  # whether its parameters follow from the shape of the product, since none were given

    def __init__(self, step: str, parameters: dict, source: str, device: Device, own: bool):
        self.name = self.step = step
        self.parameters = parameters
        self.source = source
        self.device = device
        self.own = own
        self.checked = not own
        self.block = ladder.STEPS[step].block(parameters)

    def refuse(self, M: int, N: int, K: int) -> None:
        """Raise what speaks against running this kernel at that size; return None if nothing does."""
        if not self.checked:
            raise KernelError(
                f"{self} has not passed a check yet. Run check(k) first: a wrong kernel can return wrong "
                f"numbers quickly, or take the whole notebook down with it."
            )
        if self.simulated and M * N * K > SIMULATOR_LIMIT:
            raise ValueError(
                f"{M} x {K} times {K} x {N} would take Numba's simulator minutes: it runs every CUDA thread "
                f"as a Python thread. Stay at M * N * K <= {SIMULATOR_LIMIT}, such as 64 x 64 x 64."
            )
        refuse_beyond_memory(self.device, M, N, K)

    def place(self, X: np.ndarray, over: OnDevice | None = None) -> OnDevice:
        """Copy X, C-contiguous float32, to the device, to be given to `upload` in its place, once or more often.

        `over`: a matrix of the same shape, placed before, whose memory X takes.
        """
        raise NotImplementedError

    def grid(self, M: int, N: int) -> tuple[int, int]:
        """Blocks along (x, y) for a C of M x N."""
        return ladder.STEPS[self.step].grid(self.parameters, M, N)

    def __str__(self):
        if self.own:
            return f"your kernel ({self.dialect}, launched like {self.step})"
        return f"{self.step} ({self.dialect})"

    def __repr__(self):
        return f"<{self}: {ladder.spell(self.parameters)}{', or less, by the shape' * self.by_shape}>"


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


def no_room(device: Device) -> MemoryError:
    """What to raise where the device's driver finds no room."""
    return MemoryError(
        f"{device.name} has too little memory free for A, B and C. Close what else uses it, or "
        f"multiply a block of rows of A at a time."
    )
