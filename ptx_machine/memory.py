"""The memories of the PTX machine: arrays at addresses with gaps between, and who touched which word when.

Addresses are invented. Between any two arrays lie addresses of nothing, so that a small mistake in an index leaves
its array.
"""

import bisect

import numpy as np

from .arithmetic import IN_MEMORY
from .warps import WARP

WIDEST = 16  # bytes that one access may move; each array begins on a multiple of it
NEVER = -1
THREAD, ANY_THREAD = (1 << 30) - 1, (1 << 31) - 1  # the bits of a stamp, see `Seen`
OF_WARP, OF_BLOCK, SEVERAL = 1 << 31, 3 << 30, (1 << 32) - 1
WARPS_BARRIERS, BLOCKS_BARRIERS, ON_ITS_WAY = 32, 46, 1 << 62
NO_NUMBER = 0x7FFFFFFF  # as float32: what nobody has set


class Memory:
    """Arrays at addresses: of shared memory a copy for each block, of local memory for each thread, of global one.

    A place counts bytes: from the beginning of a copy, or of the first copy.

    arrays   list of (name, address, bytes), by rising addresses
    size     bytes of one copy
    cells    {type: all copies as one array of that type}; all of them are views of the same bytes
    nowhere  the place of a few bytes behind all copies, for accesses outside of every array
    """

    def __init__(self, arrays, copies=1):
        self.names, self.addresses, self.bytes = ([array[i] for array in arrays] for i in range(3))
        self.first = np.cumsum([0, *(-(-size // WIDEST) * WIDEST for size in self.bytes)])
        self.size = int(self.first[-1])
        self.nowhere = self.size * copies
        words = np.full((self.nowhere + WIDEST) // 4, NO_NUMBER, np.uint32)
        self.cells = {kind: words.view(dtype) for kind, dtype in IN_MEMORY.items()}

    def find(self, address, width):
        """(place, inside): where each access of `width` bytes begins in a copy, and whether it lies in one array.

        address (n,) uint64. `inside` is None if all do; place (n,) int64 is 0 where one does not.
        """
        number = bisect.bisect_right(self.addresses, int(address[0])) - 1  # threads mostly touch the same array
        if number >= 0 and self.bytes[number] >= width:
            offset = address - np.uint64(self.addresses[number])
            if offset.max() <= self.bytes[number] - width:
                return offset.view(np.int64) + self.first[number], None
        if not self.names:
            return np.zeros(address.size, np.int64), np.zeros(address.size, bool)
        addresses, sizes = np.array(self.addresses, np.uint64), np.array(self.bytes, np.uint64)
        number = np.maximum(np.searchsorted(addresses, address, "right") - 1, 0)
        offset, size = address - addresses[number], sizes[number]  # huge for an address below the first
        inside = (offset < size) & (offset + np.uint64(width) <= size)
        return np.where(inside, offset.view(np.int64) + self.first[number], 0), inside

    def lead_nowhere(self, place, inside):
        """Let the accesses outside of every array touch bytes that nobody else uses, and that hold no number."""
        place[~inside] = self.nowhere
        self.cells["b32"][self.nowhere // 4 :] = NO_NUMBER

    def array_at(self, place):
        """(number, offset): the array that a place of a copy lies in, and how many bytes behind its beginning."""
        number = int(np.searchsorted(self.first, place, "right")) - 1
        return number, int(place - self.first[number])


class Seen:
    """Who wrote and who read each word last, and between which barriers. Finds races and reads of what nobody wrote.

    A stamp says who and when. Its lower 30 bits are a thread's number, with room for whole warps in each block; above
    them stands whether it is several threads' (`OF_WARP`, `OF_BLOCK`, `SEVERAL`), then how many barriers its warp has
    passed since its block's last one, how many its block has, and whether a copy is still on its way.

    Two threads of one block race for a word if they touch it between the same barriers and one of them writes. That
    they may be of one warp is no excuse: nothing promises that a warp's threads go in step, only a barrier of their
    warp does. Threads of different blocks race whenever they do so; and whoever touches what a copy is on its way to.

    block  numbers of a block's threads, where blocks share these words; None where each has its own
    warps  whether warps have barriers of their own
    """

    def __init__(self, words, block=None, warps=False):
        self.writers = np.full(words, NEVER, np.int64)
        self.readers = np.full(words, NEVER, np.int64)
        self.block, self.warps, self.copies = block, warps, False

    def together(self, before, stamps):
        """Where nothing orders an earlier access before this one by another thread; bool."""
        same = (before >> BLOCKS_BARRIERS) == (stamps >> BLOCKS_BARRIERS)
        if self.warps:
            same &= ((before >> WARPS_BARRIERS) == (stamps >> WARPS_BARRIERS)) | ~of_one_warp(before, stamps)
        if self.block:
            same |= (before != NEVER) & ~self.of_one_block(before, stamps)
        same &= before != stamps
        if self.copies:
            same |= before >= ON_ITS_WAY
        return same

    def of_one_block(self, some, others):
        """Where both are of threads of one block; bool."""
        return (some & THREAD) // self.block == (others & THREAD) // self.block

    def both(self, some, others):
        """A stamp for threads of either; of the time of `others`."""
        if not self.block and not self.warps:
            return others | SEVERAL
        near = True if self.block is None else self.of_one_block(some, others)
        return others | np.where(of_one_warp(some, others), OF_WARP, np.where(near, OF_BLOCK, SEVERAL))

    def names(self, some, others):
        """Where a stamp of threads that touch a word at once stands for another of these, too; bool."""
        near = True if self.block is None else self.of_one_block(some, others)
        warp, block = some & OF_BLOCK == OF_WARP, some & OF_BLOCK == OF_BLOCK
        return (some == others) | (warp & of_one_warp(some, others)) | (block & near) | (some & SEVERAL == SEVERAL)

    def untouched(self, words):
        """Where nobody has read or written yet; bool."""
        return (self.writers[words] == NEVER) & (self.readers[words] == NEVER)

    def on_the_way(self, words):
        """Where a copy has been asked for and not waited for; bool."""
        return self.writers[words] >= ON_ITS_WAY

    def read(self, words, stamps):
        """Note loads. Returns (race, unwritten), each bool."""
        last = self.writers[words]
        before = self.readers[words]
        others = self.together(before, stamps)
        noted = np.where(others, self.both(before, stamps), stamps)
        self.readers[words] = noted
        lost = self.readers[words] != noted  # another thread of the same instruction read that word, too
        if lost.any():
            self.readers[words[lost]] = self.both(self.readers[words[lost]], stamps[lost])
            for _ in range(2 if self.block or self.warps else 0):  # of several such, one has its way: once more for
                held = self.readers[words]  # other warps, and for other blocks
                missing = ~self.names(held, stamps)
                self.readers[words[missing]] = self.both(held[missing], stamps[missing])
        return self.together(last, stamps), last == NEVER

    def write(self, words, stamps, copied=False):
        """Note stores, or copies that are on their way from now on. Returns where they race; bool."""
        race = self.together(self.writers[words], stamps) | self.together(self.readers[words], stamps)
        if copied:
            self.copies, stamps = True, stamps | ON_ITS_WAY
        self.writers[words] = stamps
        return race | (self.writers[words] != stamps)

    def arrive(self, words, asked, stamps):
        """Note that copies have come, those of stamps `asked`: as if their threads had stored there now."""
        came = self.writers[words] == asked | ON_ITS_WAY
        self.writers[words[came]] = stamps[came]


def of_one_warp(some, others):
    """Where both stamps are of threads of one warp; bool."""
    return (some & ANY_THREAD) // WARP == (others & ANY_THREAD) // WARP


def after_barrier(stamps, of_warp=False):
    """The stamps of threads that pass a barrier, of their block or of their warp. (A count starts again at its end.)"""
    if of_warp:
        passed = ((stamps >> WARPS_BARRIERS) + 1) % (1 << BLOCKS_BARRIERS - WARPS_BARRIERS)
        return stamps >> BLOCKS_BARRIERS << BLOCKS_BARRIERS | passed << WARPS_BARRIERS | stamps & SEVERAL
    passed = ((stamps >> BLOCKS_BARRIERS) + 1) % (1 << 62 - BLOCKS_BARRIERS)
    return passed << BLOCKS_BARRIERS | stamps & SEVERAL
