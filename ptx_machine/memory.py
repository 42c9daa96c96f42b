"""The memories of the PTX machine: arrays at addresses with gaps between, and who touched which word when.

Addresses are invented. Between any two arrays lie addresses of nothing, so that a small mistake in an index leaves
its array.
"""

import bisect

import numpy as np

from .gpus import WARP

SECTOR = 32  # bytes: the least that global memory moves
BANKS = 32  # words of 4 bytes that shared memory serves at once
SEVERAL = 0xFFFFFFFF  # in place of a thread's number: more than one of them
NEVER = -1
NO_NUMBER = 0x7FFFFFFF  # as float32: what nobody has set


class Memory:
    """Arrays of 32-bit words: of shared memory a copy for each block, of local memory for each thread, of global one.

    arrays  list of (name, address, bytes)
    words   uint32, all copies one behind the other
    """

    def __init__(self, arrays, copies=1):
        self.names, self.addresses, self.bytes = (
            (list(column) for column in zip(*arrays, strict=True)) if arrays else ([], [], [])
        )
        self.first = np.cumsum([0, *(-(-size // 4) for size in self.bytes)])
        self.size = int(self.first[-1])  # words of one copy
        self.words = np.full(self.size * copies, NO_NUMBER, np.uint32)

    def find(self, address, width):
        """(word, inside): where each access of `width` bytes begins in a copy, and whether it lies in one array.

        address (n,) uint64. `inside` is None if all do; word (n,) int64 is 0 where one does not.
        """
        number = bisect.bisect_right(self.addresses, int(address[0])) - 1  # threads mostly touch the same array
        if number >= 0 and self.bytes[number] >= width:
            offset = address - np.uint64(self.addresses[number])
            if offset.max() <= self.bytes[number] - width:
                return (offset >> np.uint64(2)).astype(np.int64) + self.first[number], None
        if not self.names:
            return np.zeros(address.size, np.int64), np.zeros(address.size, bool)
        number = np.maximum(np.searchsorted(np.array(self.addresses, np.uint64), address, "right") - 1, 0)
        offset = address - np.array(self.addresses, np.uint64)[number]  # huge for an address below the first
        size = np.array(self.bytes, np.uint64)[number]
        inside = (offset < size) & (offset + np.uint64(width) <= size)
        return np.where(inside, (offset >> np.uint64(2)).astype(np.int64) + self.first[number], 0), inside

    def element(self, word):
        """(name, index): the array and the float32 in it that a word of a copy is."""
        number = int(np.searchsorted(self.first, word, "right")) - 1
        return self.names[number], int(word - self.first[number])


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


# --------------------------------------------------------------- what a warp asks for at once


def by_warp(values, slots, warps):
    """Values of threads, (n,) or (n, w), by warps: (warps, 32 * w) int64, -1 for threads that take no part."""
    values = values.reshape(values.shape[0], -1)
    table = np.full((warps * WARP, values.shape[1]), NEVER, np.int64)
    table[slots] = values
    return table.reshape(warps, -1)


def distinct(rows):
    """Each row in order, and where a value stands for the first time in its row; -1 counts for nothing."""
    rows = np.sort(rows, axis=1)
    first = rows >= 0
    first[:, 1:] &= rows[:, 1:] != rows[:, :-1]
    return rows, first


def sectors(address, width, slots, warps):
    """(warp instructions, sectors of 32 bytes that they touch, the fewest that could hold as much)."""
    rows, first = distinct(by_warp(address // width, slots, warps))
    of_sector = rows * width // SECTOR
    new = first.copy()
    new[:, 1:] &= (of_sector[:, 1:] != of_sector[:, :-1]) | (rows[:, :-1] < 0)
    fewest = -(-first.sum(axis=1) * width // SECTOR)
    return int((rows[:, -1] >= 0).sum()), int(new.sum()), int(fewest.sum())


def rounds(address, width, slots, warps):
    """(warp instructions, rounds of the banks that they take, the fewest that could serve as much).

    A bank serves one word at a time; threads that ask for the same word are served together. A warp's request of 4
    bytes a thread is served at once; of 8 bytes, half a warp at a time; of 16 bytes, a quarter: so that no more than
    32 words are asked for together. Sources: NVIDIA, GTC 2019, talk S9593, "Shared memory" (phases of 8 threads for
    128-bit accesses); github.com/NVIDIA/cutlass, issue 328; CUDA C++ Programming Guide, "Compute Capability 7.x", for
    4 bytes.
    """
    words = address[:, None] // 4 + np.arange(max(1, width // 4))
    table = by_warp(words, slots, warps)
    asked = table.reshape(-1, BANKS)
    rows, first = distinct(asked)
    place = np.arange(len(rows))[:, None] * BANKS + rows % BANKS
    busy = np.bincount(place[first], minlength=rows.size).reshape(rows.shape).max(axis=1)
    return int((table >= 0).any(axis=1).sum()), int(busy.sum()), int((busy > 0).sum())
