"""The memories of the PTX machine: arrays at addresses with gaps between, and who touched which word when.

Addresses are invented. Between any two arrays lie addresses of nothing, so that a small mistake in an index leaves
its array.
"""

import bisect
import itertools

import numpy as np

from .arithmetic import IN_MEMORY
from .warps import WARP, WIDE

WIDEST = 16  # bytes that one access may move; each array begins on a multiple of it
THREAD = (1 << 30) - 1  # the bits of a stamp, see `Notes`
OF_WARP, OF_BLOCK, SEVERAL = 1 << 30, 2 << 30, 3 << 30
SEVERAL_THREADS = THREAD | SEVERAL
KIND, TIME, ON_ITS_WAY = 32, 34, 1 << 62
MOST_PUT_OFF = 1 << 21  # words of loads that are not noted yet: 50 MB
A_LOAD = 64  # words, as much memory as one such load takes besides
ALIKE = 16  # stores of several threads to one word that are remembered
WEAK, VOLATILE, STRONG, IN_BLOCK = range(4)
NO_NUMBER = 0x7FFFFFFF  # as float32: what nobody has set


class Views(dict):
    """{type: the same bits as an array of that type}; `made`, a function of the type, makes each when asked for."""

    def __init__(self, made):
        self.made = made

    def __missing__(self, kind):
        self[kind] = self.made(kind)
        return self[kind]


class Memory:
    """Arrays at addresses: of shared memory a copy for each block, of local memory for each thread, of global one.

    A place counts bytes: from the beginning of a copy, or of the first copy.

    arrays   list of (name, address, bytes), by rising addresses
    size     bytes of one copy; an array of no axes, which NumPy takes faster than a number
    starts   [(address, place in a copy)] of each array, likewise
    cells    {type: all copies as one array of that type}, `Views`
    nowhere  the place of a few bytes behind all copies, for accesses outside of every array
    """

    def __init__(self, arrays, copies=1):
        self.names, self.addresses, self.bytes = ([array[i] for array in arrays] for i in range(3))
        sizes = (-(-size // WIDEST) * WIDEST for size in self.bytes)
        self.first = np.array([*itertools.accumulate(sizes, initial=0)], np.int64)
        self.size = np.array(self.first[-1])
        self.starts = [(np.array(one, np.uint64), np.array(self.first[n])) for n, one in enumerate(self.addresses)]
        self.nowhere = self.size * copies
        words = np.full((self.nowhere + WIDEST) // 4, NO_NUMBER, np.uint32)
        self.cells = Views(lambda kind: words.view(IN_MEMORY[kind]))

    def find(self, address, width):
        """(place, inside): where accesses begin in a copy, 0 outside, and which lie in one array, None if all do."""
        number = bisect.bisect_right(self.addresses, int(address[0])) - 1  # threads mostly touch the same array
        if number >= 0 and self.bytes[number] >= width:
            base, first = self.starts[number]
            offset = address - base
            if offset[offset.argmax()] <= self.bytes[number] - width:
                return offset.view(np.int64) + first, None
        if not self.names:
            return np.zeros(address.size, np.int64), np.zeros(address.size, bool)
        addresses, sizes = np.array(self.addresses, np.uint64), np.array(self.bytes, np.uint64)
        number = np.maximum(np.searchsorted(addresses, address, "right") - 1, 0)
        offset, size = address - addresses[number], sizes[number]  # huge for an address below the first
        inside = (offset < size) & (offset + np.uint64(width) <= size)
        return np.where(inside, offset.view(np.int64) + self.first[number], 0), None if inside.all() else inside

    def lead_nowhere(self, place, inside):
        """Let the accesses outside of every array touch bytes that nobody else uses, and that hold no number."""
        place[~inside] = self.nowhere
        self.cells["b32"][self.nowhere // 4 :] = NO_NUMBER

    def array_at(self, place):
        """(number, offset): the array that a place of a copy lies in, and how many bytes behind its beginning."""
        number = int(np.searchsorted(self.first, place, "right")) - 1
        return number, int(place - self.first[number])


class Notes:
    """Who wrote and who read each word last, and when. Finds races and reads of what nobody wrote.

    A stamp says who and when; 0 is nobody. Its lower 30 bits are a thread's number, with room for whole warps in each
    block. Above them stands whether there were several (`OF_WARP`, `OF_BLOCK`, `SEVERAL`), the last of which it names;
    then how they did it (WEAK, VOLATILE, STRONG, or IN_BLOCK: strong for threads of their block only); then the time,
    and whether a copy is still on its way.

    Two threads race for a word if one of them writes, nothing orders the two accesses, and not both are strong. What
    orders them: a barrier of the block between, for threads of a block; one of the warp, for threads of a warp; what
    `order.Order` knows. That they are of one warp is no excuse: nothing promises that a warp's threads go in step. To
    store what a word holds, or what another thread stores with the same instruction, is no race.

    Of several readers that nothing orders, one stamp is left: a flag that orders the last of them orders all.

    Who reads matters only to those who store there later. So where only barriers order accesses, loads are put off
    until somebody stores to one of these words: mostly for ever. Those of different words are then noted together.
    Wide loads of words that threads of several blocks touch are not put off: to hold them would take longer.

    cells    the words' values, unsigned
    slots    numbers of a block's threads
    near     whether only threads of one block touch the same words
    put_off  [[(words, `Touching`)]], loads that are not noted yet, in groups without a common word; `awaiting`, int32,
             each word's last group, from 1 on; `taken`, how many words they take, with `A_LOAD` for each load
    """

    def __init__(self, cells, slots, near):
        self.cells, self.slots, self.near, self.copies = cells, slots, near, False
        self.writers, self.readers = np.zeros((2, cells.size), np.int64)
        self.put_off, self.taken, self.awaiting = [], 0, np.zeros(cells.size, np.int32)
        self.alike = {}  # {time: threads}, the last of those when several stored the same to one word

    def unordered(self, before, by):
        """Where nothing orders an earlier access before this one by another thread; bool. `by`: `Touching`."""
        if not (self.near or np.count_nonzero(before)):
            return np.zeros(before.size, bool)
        open_ = before >= by.bounds if self.near else before != 0
        if not np.count_nonzero(open_):
            return open_
        open_ &= (before ^ by.stamps) & SEVERAL_THREADS != 0
        if not self.near and np.count_nonzero(open_):
            far = (before & THREAD) // self.slots != (by.stamps & THREAD) // self.slots
            open_ &= far | (before & SEVERAL == SEVERAL) | (before >= by.bounds)
        if self.copies:
            open_ |= before >= ON_ITS_WAY
        if np.count_nonzero(open_):
            if by.ordered:
                some = np.flatnonzero(open_ & (before < ON_ITS_WAY))
                open_[some] = ~by.ordered(before[some], some)
            for when, threads in self.alike.items():  # it is none of their business who of them was the last
                open_ &= (before >> TIME != when) | ~np.isin(by.stamps & THREAD, threads)
        return open_

    def strong(self, before, by):
        """Where an earlier access and this one are both strong: those do not race; bool."""
        kinds = before >> KIND & 3
        same = (before & THREAD) // self.slots == (by.stamps & THREAD) // self.slots
        both = (kinds > WEAK) & (same | (kinds != IN_BLOCK)) & (by.kind > WEAK)
        if by.kind == IN_BLOCK:
            both &= same
        if by.kind == VOLATILE:  # but not within a warp whose threads do this together, and count on going in step
            others = (before ^ by.stamps) & THREAD != 0
            both &= ~((kinds == VOLATILE) & others & of_one_warp(before, by.stamps) & by.among(before))
        return both

    def both(self, some, others):
        """A stamp for threads of either; of the time of `others`, and as weak as the weaker."""
        near = (some & THREAD) // self.slots == (others & THREAD) // self.slots
        level = np.where(of_one_warp(some, others), OF_WARP, np.where(near, OF_BLOCK, SEVERAL))
        kinds = np.where((some >> KIND & 3 == WEAK) | (others >> KIND & 3 == WEAK), 0, 3 << KIND)
        return (others & (~(3 << KIND) | kinds)) | np.maximum(level, some & SEVERAL)

    def names(self, some, others):
        """Where a stamp of threads that touch a word at once stands for another of these, too; bool."""
        near = (some & THREAD) // self.slots == (others & THREAD) // self.slots
        level = some & SEVERAL
        return (
            (some == others)
            | ((level == OF_WARP) & of_one_warp(some, others))
            | ((level == OF_BLOCK) & near)
            | (level == SEVERAL)
        )

    def note(self, held, words, stamps):
        """Note several threads at once; of those at one word, one stamp that stands for all."""
        held[words] = stamps
        lost = held[words] != stamps
        if np.count_nonzero(lost):
            held[words[lost]] = self.both(held[words[lost]], stamps[lost])
            for _ in range(2):  # of several such, one has its way: once more for other warps, and for other blocks
                now = held[words]
                missing = ~self.names(now, stamps)
                if not missing.any():
                    break
                held[words[missing]] = self.both(now[missing], stamps[missing])

    def read(self, words, by):
        """Note loads. Returns (race, last, unwritten): where they race, with which stamps, and where nobody wrote."""
        if by.ordered or (words.size > WIDE and not self.near):
            self.note_loads()
            self.note_load(words, by)
        else:
            if not self.put_off or np.count_nonzero(self.awaiting[words] == len(self.put_off)):
                self.put_off.append([])
            self.put_off[-1].append((words, by))
            self.awaiting[words] = len(self.put_off)
            self.taken += words.size + A_LOAD
            if self.taken > MOST_PUT_OFF:
                self.note_loads()
        last = self.writers[words]
        race = self.unordered(last, by)
        if np.count_nonzero(race):
            race &= ~self.strong(last, by) | (last >= ON_ITS_WAY)
        return race, last, None if np.count_nonzero(last) == last.size else last == 0

    def note_loads(self):
        """Note the loads that were put off."""
        for loads in self.put_off:
            words = np.concatenate([some for some, _ in loads])
            stamps, bounds = (np.concatenate([getattr(by, what) for _, by in loads]) for what in ("stamps", "bounds"))
            self.note_load(words, Touching(stamps, bounds, WEAK, None, None))
            self.awaiting[words] = 0
        self.put_off, self.taken = [], 0

    def note_load(self, words, by):
        """Note a load, for those who store there later."""
        before = self.readers[words]
        others, stamps = self.unordered(before, by), by.stamps
        if np.count_nonzero(others):
            stamps = np.where(others, self.both(before, stamps), stamps)
        self.note(self.readers, words, stamps)

    def forget_loads(self):
        """Forget the loads that were put off: all threads have passed a barrier since, and nothing races with them."""
        self.put_off, self.taken, self.awaiting[:] = [], 0, 0

    def write(self, words, by, values=None, copied=False, changes=False):
        """Note stores, copies on their way, or atomics; returns where they race, bool, and with which stamps."""
        if self.put_off and np.count_nonzero(self.awaiting[words]):
            self.note_loads()
        last, readers = self.writers[words], self.readers[words]
        race = self.unordered(last, by)
        if np.count_nonzero(race):
            race &= ~self.strong(last, by) | (last >= ON_ITS_WAY)
        late = self.unordered(readers, by)
        if np.count_nonzero(late):
            late &= ~self.strong(readers, by)
            last = np.where(late & ~race, readers, last)
            race |= late
        if copied:
            self.copies, stamps = True, by.stamps | ON_ITS_WAY
            self.writers[words] = stamps
            other = self.writers[words]
            return race | (other != stamps), np.where(race, last, other)
        if changes:
            open_ = self.unordered(self.writers[words], by)
            self.note(self.writers, words, np.where(open_, self.both(self.writers[words], by.stamps), by.stamps))
            return race, last
        if np.count_nonzero(race):
            race &= (self.cells[words] != values) | (last >= ON_ITS_WAY)
        self.writers[words] = by.stamps
        other = self.writers[words]
        if np.count_nonzero(other != by.stamps) and by.kind in (WEAK, VOLATILE):
            self.cells[words] = values  # of several stores to a word in one instruction, one remains
            differ = self.cells[words] != values
            last = np.where(differ & ~race, other, last)
            race |= differ
            if not differ.all():
                self.alike[int(by.stamps[0] >> TIME)] = by.stamps & THREAD
                if len(self.alike) > ALIKE:
                    del self.alike[next(iter(self.alike))]
        return race, last

    def arrive(self, words, asked, stamps):
        """Note that copies have come, those of stamps `asked`: as if their threads had stored there now."""
        came = self.writers[words] == asked | ON_ITS_WAY
        self.writers[words[came]] = stamps[came]


class Touching:
    """Threads that touch words now, one row a word.

    stamps, bounds  of each: see `Notes`; what came before `bounds` came before its block's last barrier
    kind            WEAK, VOLATILE, STRONG or IN_BLOCK
    ordered         asked for earlier stamps and their rows: where something but a block's barrier orders them; None
                    where nothing can
    among           asked for earlier stamps: where that thread takes part now
    """

    def __init__(self, stamps, bounds, kind, ordered, among):
        self.stamps, self.bounds, self.kind = stamps | kind << KIND if kind else stamps, bounds, kind
        self.ordered, self.among = ordered, among


def of_one_warp(some, others):
    """Where both stamps are of threads of one warp; bool."""
    return (some & THREAD) // WARP == (others & THREAD) // WARP
