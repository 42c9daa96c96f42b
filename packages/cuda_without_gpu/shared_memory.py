"""Arrays of the device in memory that a child process can open, so that it launches kernels on them without a copy."""

import itertools
import mmap
import os
import sys
import weakref
from typing import NamedTuple

import numpy as np

from .memory import address, owner_of

SMALL = 1 << 16  # bytes: less is copied at each launch, which costs less than memory of its own


class Shared(NamedTuple):
    """Memory that another process opens by a name. `number`: no other memory of this process has had it."""

    number: int
    name: str
    nbytes: int

    def opened(self) -> mmap.mmap:
        """The memory, in another process than the one that made it."""
        if sys.platform == "win32":
            return mmap.mmap(-1, self.nbytes, tagname=self.name)
        file = os.open(self.name, os.O_RDWR)
        memory = mmap.mmap(file, self.nbytes)
        os.close(file)
        return memory


SHARED: dict[int, Shared] = {}  # by the memory's address
NUMBERS = itertools.count()


def shared_bytes(nbytes: int) -> np.ndarray:
    """So many bytes of such memory, all zero: uint8. Raises OSError where the system has none."""
    number, file = next(NUMBERS), None
    if sys.platform == "win32":
        name = f"cuda_without_gpu_{os.getpid()}_{number}"
        memory = mmap.mmap(-1, nbytes, tagname=name)
    else:
        file = os.memfd_create("cuda_without_gpu")
        os.truncate(file, nbytes)
        name, memory = f"/proc/{os.getpid()}/fd/{file}", mmap.mmap(file, nbytes)
    array = np.frombuffer(memory, np.uint8)
    SHARED[address(array)] = Shared(number, name, nbytes)
    weakref.finalize(array, let_go, address(array), file)
    return array


def let_go(place, file):
    """Forget memory that nobody here uses any more."""
    SHARED.pop(place, None)
    if file is not None:
        os.close(file)


def in_shared_memory(array: np.ndarray) -> np.ndarray:
    """A copy of an array, and of what its owner has besides, in such memory; itself where it is small, or cannot be."""
    low, high = bounds(owner_of(array))
    if high - low < SMALL or array.dtype.hasobject:
        return array
    try:
        memory = shared_bytes(high - low)
    except (OSError, AttributeError):  # no more files; a system without memory of that kind
        return array
    memory[:] = seen_as_bytes(low, high)
    return np.ndarray(array.shape, array.dtype, memory, address(array) - low, array.strides).view(type(array))


def bounds(array: np.ndarray) -> tuple[int, int]:
    """(the address of an array's first byte, that after its last)."""
    places = [step * (size - 1) for step, size in zip(array.strides, array.shape, strict=True)] if array.size else []
    low = address(array) + sum(min(place, 0) for place in places)
    high = address(array) + sum(max(place, 0) for place in places) + (array.itemsize if array.size else 0)
    return low, high


def seen_as_bytes(low: int, high: int) -> np.ndarray:
    """What lies between two addresses: uint8. Whoever asks keeps it alive."""
    described = dict(shape=(high - low,), typestr="|u1", data=(low, False), version=3)
    return np.asarray(type("Memory", (), {"__array_interface__": described})())
