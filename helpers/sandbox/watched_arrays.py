"""Arrays that stand in for a kernel's own in Numba's simulator, and note who touched which element."""

import functools
import sys
import threading
from pathlib import Path

import numpy as np

from ..launch import numba_internals, wide
from ..launch.numba_internals import simulators_own

# Frames of these stand between a kernel and the array it touches.
INSIDE = (__file__, str(Path(__file__).with_name("watch.py")), wide.__file__)


class GlobalArray:
    """A, B or C as a GPU sees it: single elements, no negative index, no slices."""

    def __init__(self, array, watch, place=0):
        self.array, self.shape, self.dtype, self.watch = array, tuple(array.shape), array.dtype, watch
        self.ndim, self.size = len(self.shape), int(np.prod(self.shape))
        self.place = place  # among the launch's arguments
        self.notes_reads = place in watch.note_reads_of
        self.read = False
        self.name = None  # known once an access is noted
        self.names = {}  # code that touches it -> what the kernel calls it
        self.touched = {}  # element -> {(line, writes, atomic, value written): {(block, phase, thread)}}

    def __len__(self):
        return self.shape[0]

    def single(self, index, writes, value=None):
        """The index, once the access is noted; None if it is outside. Raises what else speaks against it."""
        if len(index) != self.ndim or not all(isinstance(i, (int, np.integer)) for i in index):
            raise TypeError("a kernel reads and writes single elements, such as A[row, k], never whole rows or columns")
        refuse_negative(index)
        if is_outside(self, index):
            return None
        if self.watch.accesses is None:
            self.watch.counts["global", writes] += 1
        else:
            self.watch.note("global", self, writes, *kernel_frame()[:2], index)
        if writes or self.notes_reads:
            self.note_who(index, writes, value)
        else:
            self.read = True
        return index

    def note_who(self, index, writes, value):
        """Note who touches the element. `value`: what is written there."""
        thread, (frame, _, atomic) = threading.current_thread(), kernel_frame()
        self.name = self.name or name_of(self, frame)
        epoch = self.watch.note_order(thread, frame.f_lineno)
        # Two threads that write the same number do no harm. NaN is such a number, too, so its bytes are compared.
        written = np.asarray(value, self.dtype).tobytes() if writes and not atomic else None
        access = frame.f_lineno, writes, atomic, written
        self.touched.setdefault(tuple(map(int, index)), {}).setdefault(access, set()).add((*epoch, thread.thread_id))

    def __getitem__(self, index):
        index = as_tuple(index)
        if len(index) < self.ndim and all(isinstance(i, (int, np.integer)) for i in index):
            return ArrayRow(self, index)
        place = self.single(index, False)
        return self.dtype.type(np.nan) if place is None else self.array[place]

    def __setitem__(self, index, value):
        place = self.single(as_tuple(index), True, value)
        if place is not None:
            self.array[place] = value


class ArrayRow:
    """A[row], of which a kernel then takes single elements."""

    def __init__(self, array, index):
        self.array, self.index, self.shape = array, index, array.shape[len(index) :]

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, index):
        return self.array[self.index + as_tuple(index)]

    def __setitem__(self, index, value):
        self.array[self.index + as_tuple(index)] = value


class OutsideArray(IndexError):
    """A kernel used indices outside an array. `line`: its own first line that did, also where a function did it there.

    It is raised once the launch is over: which thread comes first to such a line differs from run to run.
    """

    def __init__(self, line: int):
        super().__init__(f"line {line}")
        self.line = line


class NegativeIndex(IndexError):
    """Numba takes it from the other end, as NumPy does. Other dialects do not, and it is seldom meant."""


@functools.cache
def between():
    """{file: whose} of the frames that stand between a kernel and the array it touches."""
    return {**dict.fromkeys(INSIDE, "the watch"), wide.__file__: "load4", simulators_own()[1]: "cuda.atomic"}


def kernel_frame():
    """The kernel's frame that touches an array just now, whether through `load4`, and whether by `cuda.atomic`."""
    frame, files, in_fours, atomic = sys._getframe(2), between(), False, False
    while whose := files.get(frame.f_code.co_filename):
        in_fours |= whose == "load4"
        atomic |= whose == "cuda.atomic"
        frame = frame.f_back
    return frame, in_fours, atomic


def is_outside(array, index):
    """Whether the index lies outside the array; noted, if it does, with the line of the kernel."""
    for i, n in zip(index, array.shape, strict=True):
        if i >= n:
            break
    else:
        return False
    frame = own = kernel_frame()[0]
    not_its_own = (simulators_own()[0], numba_internals.__file__, threading.__file__, *INSIDE)
    while frame := frame.f_back:
        if not frame.f_code.co_filename.startswith(not_its_own):
            own = frame
    array.watch.outside.add(own.f_lineno)
    return True


def name_of(array, frame):
    """What the kernel calls the array; a function that it handed the array to may call it something else."""
    if frame.f_code not in array.names:  # looked for once: to list a frame's variables is slow
        name, outer = "a shared array", frame
        while outer is not None:
            name = next((n for n, value in outer.f_locals.items() if value is array), name)
            outer = outer.f_back
        array.names[frame.f_code] = name
    return array.names[frame.f_code]


def as_tuple(index):
    """What stands between the brackets of X[...], as a tuple."""
    return index if isinstance(index, tuple) else (index,)


def refuse_negative(index):
    """Raise NegativeIndex if any of the numbers is."""
    for i in index:
        if i < 0:
            raise NegativeIndex(f"index {tuple(map(int, index))}")


class SharedArray:
    """A shared array. Reads NaN where nothing was staged."""

    def __init__(self, shape, dtype, watch):
        self.array = np.full(shape, np.nan, dtype) if np.dtype(dtype).kind == "f" else np.zeros(shape, dtype)
        self.shape, self.dtype, self.watch = self.array.shape, self.array.dtype, watch
        self.ndim = self.array.ndim
        self.touched = {}  # element -> (epoch, [(thread, line, writes, atomic)])
        self.names = {}  # code that touches it -> what the kernel calls it

    def note(self, index, writes):
        """Note the access, and whether it conflicts with another since the last barrier."""
        thread, (frame, in_fours, atomic) = threading.current_thread(), kernel_frame()
        line = frame.f_lineno
        self.watch.note("shared", self, writes, frame, in_fours, index)
        epoch = self.watch.note_order(thread, line)
        since, accesses = self.touched.get(index, (None, ()))
        if since != epoch:
            accesses = []
            self.touched[index] = (epoch, accesses)
        access = thread.thread_id, line, writes, atomic
        if access in accesses:  # as in a loop: what it conflicts with is known
            return
        for other, other_line, other_writes, other_atomic in accesses:
            if other != thread.thread_id and (writes or other_writes) and not (atomic and other_atomic):
                name = name_of(self, frame)
                self.watch.conflicts.add((epoch, name, line, writes, other_line, other_writes))
        accesses.append(access)

    def __getitem__(self, index):
        index = as_tuple(index)
        refuse_negative(index)
        if len(index) < self.ndim:
            return ArrayRow(self, index)
        if is_outside(self, index):
            return self.dtype.type(np.nan if self.dtype.kind == "f" else 0)
        value = self.array[index]
        self.note(index, False)
        return value

    def __setitem__(self, index, value):
        index = as_tuple(index)
        if len(index) < self.ndim:
            raise TypeError("a kernel stores single elements, such as As[ty, tx], never whole rows")
        refuse_negative(index)
        if not is_outside(self, index):
            self.array[index] = value
            self.note(index, True)
