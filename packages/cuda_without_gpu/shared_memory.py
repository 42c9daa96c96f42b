"""Arrays of the device in memory that a child process can open, so that it launches kernels on them without a copy."""

import itertools
import mmap
import os
import sys
import weakref
from typing import NamedTuple

import numpy as np

from .memory import ALLOCATED, address

MOST = 128  # such memories, each of which keeps two files open
SMALL = 1 << 16  # bytes: less is copied at each launch, which costs less than memory of its own


class Shared(NamedTuple):
    """Memory that a child process opens, by its name, or its file. `number`: no other memory of this one has had it."""

    number: int
    name: str
    file: int
    nbytes: int

    def opened(self) -> mmap.mmap:
        """The memory, in another process than the one that made it."""
        if sys.platform == "win32":
            return mmap.mmap(-1, self.nbytes, tagname=self.name)
        file = os.open(f"/proc/{os.getppid()}/fd/{self.file}", os.O_RDWR)  # this process's parent asks for it
        memory = mmap.mmap(file, self.nbytes)
        os.close(file)
        return memory


SHARED: dict[int, Shared] = {}  # by the memory's address
NUMBERS = itertools.count()


def shared_bytes(nbytes: int) -> np.ndarray:
    """So many bytes of such memory, all zero: uint8. Raises OSError or AttributeError where the system has none."""
    number, file = next(NUMBERS), 0
    name = f"cuda_without_gpu_{os.getpid()}_{number}"
    if sys.platform == "win32":
        memory = mmap.mmap(-1, nbytes, tagname=name)
    else:
        file = os.memfd_create(name)
        os.truncate(file, nbytes)
        memory = mmap.mmap(file, nbytes)
        weakref.finalize(memory, os.close, file)
    array = np.frombuffer(memory, np.uint8)
    SHARED[address(array)] = Shared(number, name, file, nbytes)
    weakref.finalize(array, SHARED.pop, address(array), None)
    return array


def allocated(nbytes: int) -> np.ndarray:
    """So many bytes of memory of the device: uint8. From SMALL on another process can open them."""
    try:
        small = nbytes < SMALL or len(SHARED) >= MOST
        memory = np.empty(nbytes, np.uint8) if small else shared_bytes(nbytes)
    except (OSError, AttributeError):  # no more files; a system without memory of that kind
        memory = np.empty(nbytes, np.uint8)
    ALLOCATED[address(memory)] = memory
    return memory
