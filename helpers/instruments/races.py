"""Watches CUDA kernels in Numba's simulator: races in shared memory, and barriers that not all threads reach.

The simulator alone would only return wrong numbers, and not every time. Here a shared array notes who
touched which element between two barriers. That record depends on the kernel, not on the order in which
the simulator happens to run its threads, so the verdict is the same each time.
"""

import sys
import threading
from contextlib import contextmanager

import numpy as np


class Watch:
    """Collects what `watching()` sees.

    races       {(array name, line, line, what)}; a thread runs the first line before the second
    divergent   {line} of barriers that only some threads of a block reached
    aliased     {line} on which two shared arrays are made: the simulator gives both the same memory
    """

    def __init__(self):
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


class WatchedArray:
    """A shared array that notes each access. Reads NaN where nothing was staged."""

    def __init__(self, shape, dtype, watch):
        self.array = np.full(shape, np.nan, dtype) if np.dtype(dtype).kind == "f" else np.zeros(shape, dtype)
        self.shape, self.dtype, self.watch = self.array.shape, self.array.dtype, watch
        self.touched = {}  # element -> (epoch, [(thread, line, writes)])

    def note(self, index, writes):
        if any(i < 0 for i in np.atleast_1d(index)):
            raise IndexError(f"index {index} is negative")  # NumPy would wrap around; a GPU does not
        thread, frame = threading.current_thread(), sys._getframe(2)
        line = frame.f_lineno
        with self.watch.lock:
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
                    name = next((n for n, v in frame.f_locals.items() if v is self), "a shared array")
                    self.watch.conflicts.add((epoch, name, line, writes, other_line, other_writes))
            accesses.append((thread.thread_id, line, writes))

    def __getitem__(self, index):
        value = self.array[index]
        self.note(index, False)
        return value

    def __setitem__(self, index, value):
        self.array[index] = value
        self.note(index, True)


class ElementArray:
    """A global array as a GPU sees it: single elements, no negative index, no slices."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, tuple(array.shape), array.dtype
        self.ndim, self.size = len(self.shape), int(np.prod(self.shape))

    def __len__(self):
        return self.shape[0]

    def single(self, index):
        index = index if isinstance(index, tuple) else (index,)
        if len(index) != self.ndim or not all(isinstance(i, (int, np.integer)) for i in index):
            raise TypeError("a kernel reads and writes single elements, such as A[row, k], never whole rows or columns")
        if any(not 0 <= i < n for i, n in zip(index, self.shape)):
            raise IndexError(f"index {index} is outside {self.shape}")
        return index

    def __getitem__(self, index):
        return self.array[self.single(index)]

    def __setitem__(self, index, value):
        self.array[self.single(index)] = value


@contextmanager
def watching():
    """Within it, every launch of a simulated kernel is watched; yields the `Watch`."""
    from numba.cuda.simulator import kernel as simulator
    from numba.cuda.simulator import kernelapi
    from numba.cuda.simulator.kernelapi import numpy_support, types

    watch = Watch()
    shared, local, sync = kernelapi.FakeCUDAShared.array, kernelapi.FakeCUDALocal.array, simulator.BlockThread.syncthreads
    launch = simulator.FakeCUDAKernel.__call__
    created = {}

    def shared_array(self, shape, dtype, alignment=None):
        frame = sys._getframe(1)
        key = (id(self), frame.f_code, frame.f_lineno, tuple(threading.current_thread().blockIdx))
        with watch.lock:
            if key not in created:
                created[key] = frame.f_lasti, WatchedArray(shape, as_dtype(dtype), watch)
            made_at, array = created[key]
            if made_at != frame.f_lasti:
                watch.aliased.add(frame.f_lineno)
        return array

    def as_dtype(dtype):
        return numpy_support.as_dtype(dtype) if isinstance(dtype, types.Type) else np.dtype(dtype)

    def local_array(self, shape, dtype, alignment=None):
        array = np.empty(shape, as_dtype(dtype))
        if array.dtype.kind == "f":
            array.fill(np.nan)  # what was never set must not pass for a zero
        return array

    def syncthreads(self):
        frame = sys._getframe(2)  # past the simulator's cuda.syncthreads, in the kernel
        watch.barrier(self, frame.f_lineno)
        sync(self)

    def call(self, *args):
        launch(self, *(ElementArray(a) if hasattr(a, "shape") else a for a in args))
        watch.close_launch(int(np.prod(self.block_dim)))
        created.clear()

    kernelapi.FakeCUDAShared.array, kernelapi.FakeCUDALocal.array = shared_array, local_array
    simulator.BlockThread.syncthreads, simulator.FakeCUDAKernel.__call__ = syncthreads, call
    try:
        yield watch
    finally:
        kernelapi.FakeCUDAShared.array, kernelapi.FakeCUDALocal.array = shared, local
        simulator.BlockThread.syncthreads, simulator.FakeCUDAKernel.__call__ = sync, launch
