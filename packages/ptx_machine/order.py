"""What orders the accesses of threads, besides barriers: releases, acquires and fences, by PTX's memory model.

A thread that releases a word publishes what it knows to be done: its own accesses until now, those of its block until
the block's last barrier, and what it has acquired itself. Who reads what was released, and acquires, knows it from then
on; a block's barrier tells it to all of the block. A fence before a write that is strong (volatile, relaxed, atomic)
makes a release of it, a fence behind a strong read an acquire. Scopes are kept: what a fence of a block (`.cta`)
publishes, other blocks do not learn. Source: NVIDIA's PTX ISA, "Memory Consistency Model".

All times are numbers of accesses, as `Launch.history` counts them.
"""

import numpy as np

from .warps import WARP

BLOCK = 1 << 40  # added to a block's number: all its threads
KINDS = ("known", "published cta", "published gpu", "observed cta", "observed gpu")
SCOPES = ("cta", "gpu")


class Clock:
    """Until when accesses are known to be done: of threads, by their numbers, and of blocks, by BLOCK + number."""

    def __init__(self, keys, times):
        self.keys, self.times = keys, times

    def until(self, keys):
        """The time for each key, 0 where nothing is known."""
        at = np.minimum(np.searchsorted(self.keys, keys), self.keys.size - 1)
        return np.where(self.keys[at] == keys, self.times[at], 0)


def clock(entries):
    """The `Clock` of {key: time}."""
    keys = np.array(sorted(entries), np.int64)
    return Clock(keys, np.array([entries[key] for key in keys.tolist()], np.int64))


def merged(*clocks):
    """What any of these clocks knows; None for a clock that knows nothing."""
    some = list({id(one): one for one in clocks if one is not None}.values())
    if len(some) < 2:
        return some[0] if some else None
    keys, place = np.unique(np.concatenate([one.keys for one in some]), return_inverse=True)
    times = np.zeros(keys.size, np.int64)
    np.maximum.at(times, place, np.concatenate([one.times for one in some]))
    return Clock(keys, times)


class Order:
    """What each thread of a launch knows by releases and acquires.

    own     {kind: {thread: Clock}}, for all KINDS; of a thread that is not there, what its block has in `blocks`
    blocks  {kind: {block: Clock}}
    last    {(thread, scope, whether it acquired): what it found released when it read a word last}
    words   {(memory, unit): {"gpu" or a block: Clock}}: what was released with a word, to whom
    """

    def __init__(self, slots):
        self.slots = slots
        self.own, self.blocks = ({kind: {} for kind in KINDS} for _ in range(2))
        self.words, self.last = {}, {}

    def of(self, kind, thread):
        """The `Clock` of that kind of a thread, or None."""
        return self.own[kind].get(thread) or self.blocks[kind].get(thread // self.slots)

    def add(self, kind, thread, *clocks):
        """Let a thread's clock of that kind know what these know, too."""
        if (new := merged(self.of(kind, thread), *clocks)) is not None:
            self.own[kind][thread] = new

    def covers(self, thread, before, times, strong=False):
        """Where a thread knows that accesses of threads `before` at these times are done; bool (n,).

        strong  whether it reads them by a strong read: then it need only have observed what was released with them
        """
        known = self.of("known", thread)
        if strong:
            known = merged(known, self.of("observed gpu", thread))
        if known is None:
            return np.zeros(before.size, bool)
        return np.maximum(known.until(before), known.until(BLOCK + before // self.slots)) >= times

    def knowing(self):
        """Whether any thread has acquired or observed anything."""
        return any(place[kind] for place in (self.own, self.blocks) for kind in ("known", "observed gpu"))

    def done(self, thread, now, barrier, warp):
        """The `Clock` of what a thread knows to be done at a time.

        barrier  when it passed its block's last barrier; warp: until when it knows its warp's threads, (32,) or None
        """
        entries = {BLOCK + thread // self.slots: barrier}
        if warp is not None:
            first = thread // WARP * WARP
            entries |= {first + lane: int(until) for lane, until in enumerate(warp) if until}
        return merged(clock(entries | {thread: now}), self.of("known", thread))

    def fence(self, thread, scope, done):
        """A thread's fence: what it observed is known, what it has done goes out with its next strong writes."""
        for kind in SCOPES[: SCOPES.index(scope) + 1]:
            self.add("known", thread, self.of(f"observed {kind}", thread))
        done = merged(done, self.of("known", thread))
        for kind in SCOPES[: SCOPES.index(scope) + 1]:
            self.add(f"published {kind}", thread, done)

    def write(self, thread, word, scope, changes, done=None):
        """A thread's strong write to a word; `done` where it is a release; `changes` where it reads the word, too."""
        block = thread // self.slots
        out = merged(self.of("published gpu", thread), done if scope == "gpu" else None)
        near = merged(self.of("published cta", thread), done)
        if scope == "cta":
            out, near = None, merged(out, near)
        held = self.words.get(word, {}) if changes else {}
        if out is not None or near is not None:
            held = held | {"gpu": merged(held.get("gpu"), out), block: merged(held.get(block), near)}
        if held:
            self.words[word] = held
        else:
            self.words.pop(word, None)

    def read(self, thread, word, scope, acquires):
        """A thread's strong read of a word."""
        held = self.words.get(word)
        if not held or self.last.get((thread, scope, acquires)) is held:
            return  # nothing was released, or nothing since it asked last
        self.last[thread, scope, acquires] = held
        block = thread // self.slots
        near = held.get(block)
        seen = merged(held.get("gpu"), near) if scope == "gpu" else near
        self.add("observed gpu", thread, seen)
        self.add("observed cta", thread, near)
        if acquires:
            self.add("known", thread, seen)

    def together(self, block, threads=None, done=()):
        """A barrier of a block, or of some of its threads: each knows what any of them knew, and had `done`."""
        for kind in KINDS:
            own, blocks = self.own[kind], self.blocks[kind]
            if threads is not None:
                new = merged(*(self.of(kind, thread) for thread in threads), *(done if kind == "known" else ()))
                if new is not None:
                    own.update(dict.fromkeys(threads, new))
            elif own:
                first = block * self.slots
                clocks = [own.pop(thread, None) for thread in range(first, first + self.slots)]
                if (new := merged(blocks.get(block), *clocks)) is not None:
                    blocks[block] = new
