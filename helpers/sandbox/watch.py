"""Watches CUDA kernels in Numba's simulator: every access, races, and barriers that not all threads reach.

The simulator alone would only return wrong numbers, and not every time. Here arrays note who touched which
element, at which line, between which two barriers. That record depends on the kernel, not on the order in which
the simulator happens to run its threads, so the verdict is the same each time.
"""

import itertools
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

import numpy as np

from ..launch import Kernel, numba_internals
from ..launch.cuda_source import came_as_text
from ..launch.numba_internals import dtype_of, is_device_function, plain_function, simulator_with
from .accesses import Access
from .watched_arrays import INSIDE, GlobalArray, OutsideArray, SharedArray, WatchedArray, kernel_frame, name_of

NOT_KERNELS = (*INSIDE, numba_internals.__file__, threading.__file__)  # what a thread runs besides


class Watch:
    """Collects what `watching()` sees: its shared arrays, barriers and launches take the place of the simulator's own.

    accesses    a list of `Access`, if asked for
    shapes      {array name: shape}, of the arrays in it
    counts      {(memory, writes): accesses}, memory "global" or "shared"
    races       {(array name, line, line, what)}; where one thread runs both, the first line is the one it runs first
    read_and_written  {place among the launch's arguments} of arrays that one launch both read and wrote
    stores      of each launch, {((row, column), (block's x, y))} of plain stores to its third argument, C
    divergent   {line} of barriers that only some threads of a block reached
    aliased     {line} on which two shared arrays are made: the simulator gives both the same memory
    """

    def __init__(self, keep_accesses: bool = False, note_reads_of: Iterable[int] = ()):
        self.accesses = [] if keep_accesses else None
        self.note_reads_of = frozenset(note_reads_of)
        self.shapes = {}
        self.counts = {(memory, writes): 0 for memory in ("global", "shared") for writes in (False, True)}
        self.rounds = {}  # (block, thread, code) -> {line: times run}
        self.races = set()
        self.divergent = set()
        self.aliased = set()
        self.outside = set()  # lines of the kernel that used an index outside an array in this launch
        self.read_and_written = set()
        self.stores = []
        self.clear()

    def clear(self) -> None:
        """Forget what belongs to one launch."""
        self.barriers = defaultdict(Counter)  # block -> {thread: barriers passed}
        self.barrier_line = {}  # block -> line of its last barrier
        self.order = {}  # (epoch, thread) -> lines in the order they first touched memory that is watched for races
        self.conflicts = set()  # (epoch, array name, line, writes, other line, other writes)
        self.created = {}  # (code, block, line, instruction) -> `SharedArray`; (code, block, line) -> the instruction

    def barrier(self, thread: threading.Thread, line: int) -> None:
        """Note that the thread has reached the barrier on that line."""
        block = block_of(thread)
        self.barriers[block][thread.thread_id] += 1
        self.barrier_line[block] = line

    def epoch(self, thread: threading.Thread) -> tuple:
        """Between which two barriers of which block the thread is now."""
        block = block_of(thread)
        return block, self.barriers[block][thread.thread_id]

    def note_order(self, thread: threading.Thread, line: int) -> tuple:
        """Note that the thread now touches memory on that line. Returns its epoch."""
        epoch = self.epoch(thread)
        lines = self.order.setdefault((epoch, thread.thread_id), [])
        if line not in lines:
            lines.append(line)
        return epoch

    def note(self, memory: str, array: WatchedArray, writes: bool, index: tuple) -> None:
        """Count one access, and keep it, if asked for."""
        self.counts[memory, writes] += 1
        if self.accesses is None:
            return
        thread, (frame, in_fours, _) = threading.current_thread(), kernel_frame()
        line, name = frame.f_lineno, name_of(array, frame)
        block, flat = block_of(thread), int(np.ravel_multi_index(tuple(map(int, index)), array.shape))
        self.shapes[name] = array.shape
        times_before = self.rounds[block, thread.thread_id, frame.f_code][line] - 1
        phase, part = self.epoch(thread)[1], flat % 4 if in_fours else 0
        self.accesses.append(
            Access(memory, name, writes, line, block, thread.thread_id, flat, times_before, phase, part)
        )

    def trace_lines(self, frame: FrameType, event: str, arg: object) -> Callable | None:
        """For threading.settrace: count how often each thread runs each line of its kernel."""
        thread = threading.current_thread()
        if frame.f_code.co_filename in NOT_KERNELS or not hasattr(thread, "blockIdx"):
            return None
        times = self.rounds.setdefault((block_of(thread), thread.thread_id, frame.f_code), defaultdict(int))

        def line_event(frame, event, arg):
            if event == "line":
                times[frame.f_lineno] += 1
            return line_event

        return line_event

    def shared_array(self, shape: tuple, dtype: object, alignment: int | None = None) -> object:
        """The block's array that is made at this place of the kernel; its first thread makes it."""
        frame = sys._getframe(1)
        place = (frame.f_code, tuple(threading.current_thread().blockIdx), frame.f_lineno)
        if self.created.setdefault(place, frame.f_lasti) != frame.f_lasti:
            self.aliased.add(frame.f_lineno)
        key = (*place, frame.f_lasti)
        if key not in self.created:
            self.created[key] = SharedArray(shape, dtype_of(dtype), self)
        return self.created[key]

    def syncthreads(self, own: Callable) -> Callable:
        """A barrier that is noted."""

        def syncthreads(thread):
            kernels = sys._getframe(2)  # past this function and the simulator's cuda.syncthreads
            self.barrier(thread, kernels.f_lineno)
            own(thread)

        return syncthreads

    def launch(self, own: Callable) -> Callable:
        """A launch whose arrays are watched."""

        def launch(kernel, *arguments):
            if is_device_function(kernel):  # called by a kernel, not launched
                return own(kernel, *arguments)
            given = [GlobalArray(a, self, n) if getattr(a, "ndim", 0) else a for n, a in enumerate(arguments)]
            try:
                own(kernel, *given)
            finally:  # whatever else went wrong follows from it
                outside, self.outside = self.outside, set()
                if outside:
                    self.clear()
                    raise OutsideArray(min(outside)) from None
            arrays = [a for a in given if isinstance(a, GlobalArray)]
            self.close_launch(int(np.prod(kernel.block_dim)), arrays)
            return None

        return launch

    def close_launch(self, threads: int, arrays: Iterable[GlobalArray] = ()) -> None:
        """Judge what a launch with that many threads a block on those arrays left behind, and start afresh."""
        for block, line in self.barrier_line.items():
            passed = self.barriers[block]
            if len(passed) < threads or len(set(passed.values())) > 1:
                self.divergent.add(line)
        for epoch, name, line, writes, other, other_writes in self.conflicts:
            in_order = self.lines_in_order(line, other, epoch)
            accesses = sorted([(line, writes), (other, other_writes)], key=lambda a: in_order.index(a[0]))
            what = {
                (True, False): "threads read what others are still writing to",
                (False, True): "threads overwrite what others are still reading from",
                (True, True): "two threads write to the same element of",
            }[tuple(writes for _, writes in accesses)]
            # Where two write on one line the kernel may well take a wrong element there, and no barrier is missing.
            apart = "" if line == other and writes and other_writes else " with no barrier between"
            self.races.add((name, accesses[0][0], accesses[1][0], f"{what} {name}{apart}"))
        for array in arrays:
            self.judge_global(array)
        self.clear()

    def lines_in_order(self, line: int, other: int, epoch: tuple | None = None) -> list[int]:
        """The two lines in the order in which some thread ran them in that epoch; in any epoch if none is given."""
        return next(
            (o for (e, _), o in self.order.items() if epoch in (None, e) and line in o and other in o), [line, other]
        )

    def judge_global(self, array: GlobalArray) -> None:
        """Note the races on one array in global memory, and whether this launch both read and wrote it."""
        if array.touched and array.read:
            self.read_and_written.add(array.place)
        if array.place == 2 and array.ndim == 2:
            self.stores.append(
                {
                    (element, block[:2])
                    for element, accesses in array.touched.items()
                    for (_, writes, atomic, _), threads in accesses.items()
                    if writes and not atomic
                    for block, _, _ in threads
                }
            )
        meets = defaultdict(set)  # (line, other line) -> {(whether both write, whether in one block)}
        for accesses in array.touched.values():
            if len(set().union(*accesses.values())) == 1:
                continue  # one thread, between two barriers
            for one, other in itertools.combinations_with_replacement(accesses, 2):
                if at_odds(one, other):
                    in_one = unordered(accesses[one], accesses[other])
                    if in_one or len({block for block, _, _ in accesses[one] | accesses[other]}) > 1:
                        meets[min(one[0], other[0]), max(one[0], other[0])].add((one[1] and other[1], in_one))
        for lines, how in meets.items():
            first, second = sorted(lines, key=self.lines_in_order(*lines).index)
            across = not any(in_one for _, in_one in how)
            if first == second and all(both_write for both_write, _ in how):
                what = f"two threads write different numbers to the same element of {array.name}"
                why = ", in different blocks" if across else ""
            else:
                what = f"two threads touch the same element of {array.name}, one of them writing,"
                why = " in different blocks, which no barrier keeps in order" if across else " with no barrier between"
            self.races.add((array.name, first, second, what + why))


def block_of(thread):
    """The indices (x, y, z) of the thread's block."""
    try:
        return thread.block  # asked for at each access, so it is kept
    except AttributeError:
        thread.block = tuple(thread.blockIdx)
        return thread.block


def at_odds(one, other):
    """Whether two accesses to an element, as `GlobalArray` notes them, are a race if nothing orders them."""
    (_, writes, atomic, value), (_, other_writes, other_atomic, other_value) = one, other
    same = value == other_value if value and other_value else atomic and other_atomic  # a value is a plain write's
    return (writes or other_writes) and not same


def unordered(some, others):
    """Whether two threads of one block, one of `some` and one of `others`, come there between the same barriers."""
    phases = {phase for _, phase, _ in some} & {phase for _, phase, _ in others}
    return any(len({thread for _, at, thread in some | others if at == phase}) > 1 for phase in phases)


def local_array(shape, dtype, alignment=None):
    """A thread's own array."""
    array = np.empty(shape, dtype_of(dtype))
    if array.dtype.kind == "f":
        array.fill(np.nan)  # what was never set must not pass for a zero
    return array


@contextmanager
def watching(keep_accesses: bool = False, note_reads_of: Iterable[int] = ()) -> Iterator[Watch]:
    """A context in which every launch of a simulated kernel is watched; it yields the `Watch`.

    Writes to global memory are watched for races, and reads of the launch's arguments at the places `note_reads_of`.
    The others are read only, and read so often that noting who does would take most of the time.
    """
    watch = Watch(keep_accesses, note_reads_of)
    if keep_accesses:
        threading.settrace(watch.trace_lines)
    try:
        with simulator_with(watch.shared_array, local_array, watch.syncthreads, watch.launch):
            yield watch
    finally:
        threading.settrace(None)


def source_line(k: Kernel, number: int) -> int:
    """A line of the running function as a line of k.source, which may begin at the function itself."""
    if k.dialect != "CUDA":
        return number
    whole_text = came_as_text(k.function) or not k.own
    return number if whole_text else number - plain_function(k.function).__code__.co_firstlineno + 1
