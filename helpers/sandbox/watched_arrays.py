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


class WatchedArray:
    """An array as a GPU sees it: single elements, no negative index, no slices. A subclass notes who touches which."""

    example = "A[row, k]"  # of a single element
    unread = np.nan  # what is read outside of it

    def __init__(self, array, watch):
        self.array, self.watch = array, watch
        self.shape, self.dtype, self.ndim, self.size = array.shape, array.dtype, array.ndim, array.size
        self.names = {}  # code that touches it -> what the kernel calls it
        self.touched = {}  # element -> who did

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, index):
        index = as_tuple(index)
        if len(index) < self.ndim and all(isinstance(i, (int, np.integer)) for i in index):
            return ArrayRow(self, index)
        return self.array[index] if self.noted(index, False) else self.dtype.type(self.unread)

    def __setitem__(self, index, value):
        index = as_tuple(index)
        if self.noted(index, True, value):
            self.array[index] = value

    def noted(self, index, writes, value=None):
        """Note the access; one outside by its line only. Returns whether it is inside. Raises what else is wrong."""
        if len(index) != self.ndim or not all(isinstance(i, (int, np.integer)) for i in index):
            raise TypeError(f"a kernel reads and writes single elements, such as {self.example}, never whole rows")
        if min(index) < 0:
            raise NegativeIndex(f"index {tuple(map(int, index))}")
        if any(i >= n for i, n in zip(index, self.shape, strict=True)):
            self.watch.outside.add(line_outside())
            return False
        self.note(index, writes, value)
        return True


class GlobalArray(WatchedArray):
    """A, B or C. `place`: which of the launch's arguments it is."""

    def __init__(self, array, watch, place):
        super().__init__(array, watch)
        self.place, self.read = place, False
        self.notes_reads = place in watch.note_reads_of
        self.name = None  # known once it is noted who touches it

    def note(self, index, writes, value):
        """Count the access; note a write, and if asked to a read, in `touched`.

        That is {element: {(line, writes, atomic, value written): {(block, phase, thread)}}}.
        """
        self.watch.note("global", self, writes, index)
        if not (writes or self.notes_reads):
            self.read = True
            return
        thread, (frame, _, atomic) = threading.current_thread(), kernel_frame()
        self.name = self.name or name_of(self, frame)
        epoch = self.watch.note_order(thread, frame.f_lineno)
        # Two threads that write the same number do no harm. NaN is such a number, too, so its bytes are compared.
        written = np.asarray(value, self.dtype).tobytes() if writes and not atomic else None
        access = frame.f_lineno, writes, atomic, written
        self.touched.setdefault(tuple(map(int, index)), {}).setdefault(access, set()).add((*epoch, thread.thread_id))


class SharedArray(WatchedArray):
    """A shared array. Reads NaN where nothing was staged."""

    example = "As[ty, tx]"

    def __init__(self, shape, dtype, watch):
        self.unread = np.nan if dtype.kind == "f" else 0
        super().__init__(np.full(shape, self.unread, dtype), watch)

    def note(self, index, writes, value):
        """Note the access, and whether it conflicts with another since the last barrier.

        `touched` is {element: (epoch, [(thread, line, writes, atomic)])}.
        """
        self.watch.note("shared", self, writes, index)
        thread, (frame, _, atomic) = threading.current_thread(), kernel_frame()
        line = frame.f_lineno
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


def line_outside():
    """The kernel's own line that uses an index outside an array just now, also where a function does it there."""
    frame = own = kernel_frame()[0]
    not_its_own = (simulators_own()[0], numba_internals.__file__, threading.__file__, *INSIDE)
    while frame := frame.f_back:
        if not frame.f_code.co_filename.startswith(not_its_own):
            own = frame
    return own.f_lineno


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
