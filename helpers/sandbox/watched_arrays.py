"""Arrays that stand in for a kernel's own in Numba's simulator, and note who touched which element."""

import sys
import threading
from pathlib import Path

import numpy as np

from ..launch import wide

INSIDE = (
    __file__,
    str(Path(__file__).with_name("watch.py")),
    wide.__file__,
)  # frames of these stand between a kernel and the array it touches


class GlobalArray:
    """A, B or C as a GPU sees it: single elements, no negative index, no slices."""

    def __init__(self, array, watch):
        self.array, self.shape, self.dtype, self.watch = array, tuple(array.shape), array.dtype, watch
        self.ndim, self.size = len(self.shape), int(np.prod(self.shape))

    def __len__(self):
        return self.shape[0]

    def single(self, index, writes):
        """The index, once the access is noted. Raises what speaks against it."""
        if len(index) != self.ndim or not all(isinstance(i, (int, np.integer)) for i in index):
            raise TypeError("a kernel reads and writes single elements, such as A[row, k], never whole rows or columns")
        refuse_negative(index)
        if any(i >= n for i, n in zip(index, self.shape, strict=True)):
            raise IndexError(f"index {index} is outside {self.shape}")
        with self.watch.lock:
            self.watch.note("global", self, writes, *kernel_frame(), index)
        return index

    def __getitem__(self, index):
        index = as_tuple(index)
        if len(index) < self.ndim and all(isinstance(i, (int, np.integer)) for i in index):
            return Row(self, index)
        return self.array[self.single(index, False)]

    def __setitem__(self, index, value):
        self.array[self.single(as_tuple(index), True)] = value


class Row:
    """A[row], of which a kernel then takes single elements."""

    def __init__(self, array, index):
        self.array, self.index, self.shape = array, index, array.shape[len(index) :]

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, index):
        return self.array[self.index + as_tuple(index)]

    def __setitem__(self, index, value):
        self.array[self.index + as_tuple(index)] = value


class NegativeIndex(IndexError):
    """Numba takes it from the other end, as NumPy does. Other dialects do not, and it is seldom meant."""


def kernel_frame():
    """The kernel's frame that touches an array just now, and whether it does so through `load4`."""
    frame, in_fours = sys._getframe(2), False
    while frame.f_code.co_filename in INSIDE:
        in_fours = in_fours or frame.f_code.co_filename == wide.__file__
        frame = frame.f_back
    return frame, in_fours


def name_of(array, frame):
    """What the kernel calls the array; a function that it handed the array to may call it something else."""
    name = "a shared array"
    while frame is not None:
        name = next((n for n, value in frame.f_locals.items() if value is array), name)
        frame = frame.f_back
    return name


def as_tuple(index):
    """What stands between the brackets of X[...], as a tuple."""
    return index if isinstance(index, tuple) else (index,)


def refuse_negative(index):
    """Raise NegativeIndex if any of the numbers is."""
    if any(i < 0 for i in index):
        raise NegativeIndex(f"index {tuple(map(int, index))}")


class SharedArray:
    """A shared array. Reads NaN where nothing was staged."""

    def __init__(self, shape, dtype, watch):
        self.array = np.full(shape, np.nan, dtype) if np.dtype(dtype).kind == "f" else np.zeros(shape, dtype)
        self.shape, self.dtype, self.watch = self.array.shape, self.array.dtype, watch
        self.touched = {}  # element -> (epoch, [(thread, line, writes)])

    def note(self, index, writes):
        """Note the access, and whether it conflicts with another since the last barrier."""
        index = as_tuple(index)
        refuse_negative(index)
        thread, (frame, in_fours) = threading.current_thread(), kernel_frame()
        line = frame.f_lineno
        with self.watch.lock:
            self.watch.note("shared", self, writes, frame, in_fours, index)
            epoch = self.watch.epoch(thread)
            lines = self.watch.order.setdefault((epoch, thread.thread_id), [])
            if line not in lines:
                lines.append(line)
            since, accesses = self.touched.get(index, (None, ()))
            if since != epoch:
                accesses = []
                self.touched[index] = (epoch, accesses)
            for other, other_line, other_writes in accesses:
                if other != thread.thread_id and (writes or other_writes):
                    name = name_of(self, frame)
                    self.watch.conflicts.add((epoch, name, line, writes, other_line, other_writes))
            accesses.append((thread.thread_id, line, writes))

    def __getitem__(self, index):
        value = self.array[index]
        self.note(index, False)
        return value

    def __setitem__(self, index, value):
        self.array[index] = value
        self.note(index, True)
