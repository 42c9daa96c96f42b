"""Watches CUDA kernels in Numba's simulator: every access, races, and barriers that not all threads reach.

The simulator alone would only return wrong numbers, and not every time. Here arrays note who touched which
element, at which line, between which two barriers. That record depends on the kernel, not on the order in which
the simulator happens to run its threads, so the verdict is the same each time.
"""

import sys
import threading
from collections import namedtuple
from contextlib import contextmanager

import numpy as np

from .. import wide

# One access to one element. `index` counts elements from the array's start. `round` says how often the thread had run
# that line: threads of a warp run in step, so accesses of equal line and round are one instruction of the warp. `phase`:
# how many barriers it had passed. `part`: 0 to 3 within a load of four, else 0; the four are one instruction.
Access = namedtuple("Access", "memory array writes line block thread index round phase part")
INSIDE = (__file__, wide.__file__)  # frames of these stand between a kernel and the array it touches


class Watch:
    """Collects what `watching()` sees.

    accesses    a list of `Access`, if asked for
    shapes      {array name: shape}, of the arrays in it
    counts      {(memory, writes): accesses}, memory "global" or "shared"
    races       {(array name, line, line, what)}; a thread runs the first line before the second
    divergent   {line} of barriers that only some threads of a block reached
    aliased     {line} on which two shared arrays are made: the simulator gives both the same memory
    """

    def __init__(self, keep_accesses=False):
        self.accesses = [] if keep_accesses else None
        self.shapes = {}
        self.counts = {(memory, writes): 0 for memory in ("global", "shared") for writes in (False, True)}
        self.rounds = {}  # (block, thread, code, line) -> times run
        self.races = set()
        self.divergent = set()
        self.aliased = set()
        self.lock = threading.Lock()
        self.clear()

    def clear(self):
        self.barriers = {}  # block -> {thread: barriers passed}
        self.barrier_line = {}  # block -> line of its last barrier
        self.order = {}  # (epoch, thread) -> lines in the order they first touched shared memory
        self.conflicts = set()  # (epoch, array name, line, writes, other line, other writes)

    def barrier(self, thread, line):
        block = tuple(thread.blockIdx)
        with self.lock:
            passed = self.barriers.setdefault(block, {})
            passed[thread.thread_id] = passed.get(thread.thread_id, 0) + 1
            self.barrier_line[block] = line

    def epoch(self, thread):
        """Between which two barriers of which block the thread is now."""
        block = tuple(thread.blockIdx)
        return block, self.barriers.get(block, {}).get(thread.thread_id, 0)

    def note(self, memory, array, writes, frame, in_fours, index):
        """Count one access; the caller holds the lock."""
        self.counts[memory, writes] += 1
        if self.accesses is not None:
            thread = threading.current_thread()
            block, line = tuple(thread.blockIdx), frame.f_lineno
            name, flat = name_of(array, frame), int(np.ravel_multi_index(index, array.shape))
            before = self.rounds[block, thread.thread_id, frame.f_code, line] - 1
            self.shapes[name] = tuple(map(int, array.shape))
            self.accesses.append(Access(memory, name, writes, line, block, thread.thread_id, flat, before, self.epoch(thread)[1],
                                        flat % 4 if in_fours else 0))

    def trace_lines(self, frame, event, arg):
        """For threading.settrace: count how often each thread runs each line of its kernel."""
        thread = threading.current_thread()
        if not hasattr(thread, "blockIdx") or frame.f_code.co_filename in INSIDE:
            return None

        def line_event(frame, event, arg):
            if event == "line":
                key = tuple(thread.blockIdx), thread.thread_id, frame.f_code, frame.f_lineno
                self.rounds[key] = self.rounds.get(key, 0) + 1
            return line_event

        return line_event

    def close_launch(self, threads):
        """Judge what a launch with that many threads a block left behind, and start afresh."""
        for block, passed in self.barriers.items():
            if len(passed) < threads or len(set(passed.values())) > 1:
                self.divergent.add(self.barrier_line[block])
        for epoch, name, line, writes, other, other_writes in self.conflicts:
            in_order = next(
                (o for (e, _), o in self.order.items() if e == epoch and line in o and other in o), [line, other]
            )
            accesses = sorted([(line, writes), (other, other_writes)], key=lambda a: in_order.index(a[0]))
            what = {
                (True, False): "threads read what others are still writing to",
                (False, True): "threads overwrite what others are still reading from",
                (True, True): "two threads write to the same element of",
            }[tuple(writes for _, writes in accesses)]
            self.races.add((name, accesses[0][0], accesses[1][0], what))
        self.clear()


class GlobalArray:
    """A, B or C as a GPU sees it: single elements, no negative index, no slices."""

    def __init__(self, array, watch):
        self.array, self.shape, self.dtype, self.watch = array, tuple(array.shape), array.dtype, watch
        self.ndim, self.size = len(self.shape), int(np.prod(self.shape))

    def __len__(self):
        return self.shape[0]

    def single(self, index, writes):
        if len(index) != self.ndim or not all(isinstance(i, (int, np.integer)) for i in index):
            raise TypeError("a kernel reads and writes single elements, such as A[row, k], never whole rows or columns")
        refuse_negative(index)
        if any(i >= n for i, n in zip(index, self.shape)):
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
    return index if isinstance(index, tuple) else (index,)


def refuse_negative(index):
    if any(i < 0 for i in index):
        raise NegativeIndex(f"index {tuple(map(int, index))}")


class SharedArray:
    """A shared array. Reads NaN where nothing was staged."""

    def __init__(self, shape, dtype, watch):
        self.array = np.full(shape, np.nan, dtype) if np.dtype(dtype).kind == "f" else np.zeros(shape, dtype)
        self.shape, self.dtype, self.watch = self.array.shape, self.array.dtype, watch
        self.touched = {}  # element -> (epoch, [(thread, line, writes)])

    def note(self, index, writes):
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


@contextmanager
def watching(keep_accesses=False):
    """Within it, every launch of a simulated kernel is watched; yields the `Watch`."""
    from numba.cuda.simulator import kernel as simulator
    from numba.cuda.simulator import kernelapi
    from numba.cuda.simulator.kernelapi import numpy_support, types

    watch = Watch(keep_accesses)
    shared, local, sync = kernelapi.FakeCUDAShared.array, kernelapi.FakeCUDALocal.array, simulator.BlockThread.syncthreads
    launch = simulator.FakeCUDAKernel.__call__
    created = {}

    def as_dtype(dtype):
        return numpy_support.as_dtype(dtype) if isinstance(dtype, types.Type) else np.dtype(dtype)

    def shared_array(self, shape, dtype, alignment=None):
        frame = sys._getframe(1)
        place = (frame.f_code, tuple(threading.current_thread().blockIdx))
        with watch.lock:
            if created.setdefault((place, frame.f_lineno), frame.f_lasti) != frame.f_lasti:
                watch.aliased.add(frame.f_lineno)
            key = (place, frame.f_lineno, frame.f_lasti)
            if key not in created:
                created[key] = SharedArray(shape, as_dtype(dtype), watch)
        return created[key]

    def local_array(self, shape, dtype, alignment=None):
        array = np.empty(shape, as_dtype(dtype))
        if array.dtype.kind == "f":
            array.fill(np.nan)  # what was never set must not pass for a zero
        return array

    def syncthreads(self):
        watch.barrier(self, sys._getframe(2).f_lineno)  # past the simulator's cuda.syncthreads, in the kernel
        sync(self)

    def call(self, *args):
        if self._device:  # called by a kernel, not launched
            return launch(self, *args)
        launch(self, *(GlobalArray(a, watch) if getattr(a, "ndim", 0) else a for a in args))
        watch.close_launch(int(np.prod(self.block_dim)))
        created.clear()

    kernelapi.FakeCUDAShared.array, kernelapi.FakeCUDALocal.array = shared_array, local_array
    simulator.BlockThread.syncthreads, simulator.FakeCUDAKernel.__call__ = syncthreads, call
    if keep_accesses:
        threading.settrace(watch.trace_lines)
    try:
        yield watch
    finally:
        threading.settrace(None)
        kernelapi.FakeCUDAShared.array, kernelapi.FakeCUDALocal.array = shared, local
        simulator.BlockThread.syncthreads, simulator.FakeCUDAKernel.__call__ = sync, launch
