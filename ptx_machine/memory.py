"""The memories of the PTX machine: arrays at addresses with gaps between, and who touched which word when.

Addresses are invented. Between any two arrays lie addresses of nothing, so that a small mistake in an index leaves
its array.
"""

import bisect

import numpy as np

from .arithmetic import IN_MEMORY

WIDEST = 16  # bytes that one access may move; each array begins on a multiple of it
SEVERAL = 0xFFFFFFFF  # in place of a thread's number: more than one of them
NEVER = -1
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

    A stamp says who and when: a thread's number in the lower 32 bits, above it how many barriers it has passed. Two
    threads of one block race for a word if they touch it between the same barriers and one of them writes. That they
    may be of one warp is no excuse: nothing promises that a warp's threads go in step. Threads of different blocks
    race whenever they do so.

    threads  of a block, where blocks share these words; None where each has its own
    """

    def __init__(self, words, threads=None):
        self.writers = np.full(words, NEVER, np.int64)
        self.readers = np.full(words, NEVER, np.int64)
        self.threads = threads

    def together(self, before, stamps):
        """Where nothing orders an earlier access before this one by another thread; bool."""
        same = (before >> 32) == (stamps >> 32)
        if self.threads:
            block, other = (stamps & SEVERAL) // self.threads, (before & SEVERAL) // self.threads
            same |= (before != NEVER) & (block != other)
        return same & (before != stamps)

    def untouched(self, words):
        """Where nobody has read or written yet; bool."""
        return (self.writers[words] == NEVER) & (self.readers[words] == NEVER)

    def read(self, words, stamps):
        """Note loads. Returns (race, unwritten), each bool."""
        last = self.writers[words]
        before = self.readers[words]
        others = self.together(before, stamps)
        noted = np.where(others, stamps | SEVERAL, stamps)
        self.readers[words] = noted
        lost = self.readers[words] != noted  # another thread of the same instruction read that word, too
        if lost.any():
            self.readers[words[lost]] = stamps[lost] | SEVERAL
        return self.together(last, stamps), last == NEVER

    def write(self, words, stamps):
        """Note stores. Returns where they race; bool."""
        race = self.together(self.writers[words], stamps) | self.together(self.readers[words], stamps)
        self.writers[words] = stamps
        return race | (self.writers[words] != stamps)
