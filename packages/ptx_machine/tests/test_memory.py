"""Addresses, and who touched what when."""

import numpy as np

from ptx_machine import memory as module
from ptx_machine.memory import OF_WARP, STRONG, THREAD, TIME, WEAK, Memory, Notes, Touching


def touching(*threads, now, passed=0, kind=WEAK, ordered=None):
    """Threads that touch a word each, after a barrier that all of their block passed at that time."""
    stamps = np.array(threads) + (now << TIME)
    bounds = np.full(len(threads), passed + 1) << TIME
    return Touching(stamps, bounds, kind, ordered, lambda before: np.zeros(before.size, bool))


def notes(near=True):
    return Notes(np.zeros(8, np.uint32), 32, near)


def test_races_are_seen_between_the_same_barriers_only():
    word, one = np.array([5]), np.ones(2, np.uint32)
    seen = notes()
    assert seen.read(word, touching(1, now=1))[2].all()  # nobody wrote it
    assert seen.write(word, touching(2, now=2), one[:1])[0].all()  # thread 1 has just read it
    seen.cells[5] = 1
    assert not seen.write(word, touching(3, now=3), one[:1])[0].any()  # what it holds
    assert not seen.write(word, touching(2, now=5, passed=4), 2 * one[:1])[0].any()
    assert not seen.read(word, touching(2, now=6, passed=4))[0].any()  # one's own
    assert seen.read(word, touching(3, now=7, passed=4))[0].all()
    assert not seen.read(word, touching(3, now=9, passed=8))[0].any()
    seen = notes()
    assert seen.write(np.array([1, 1]), touching(0, 1, now=1), np.arange(2, dtype=np.uint32))[0].any()  # at once
    assert not seen.write(np.array([6, 6]), touching(0, 1, now=1), one)[0].any()  # the same number
    assert not seen.read(np.array([6, 6]), touching(0, 1, now=2))[0].any()
    assert seen.read(np.array([6]), touching(2, now=2))[0].all()
    seen.read(np.array([2, 2]), touching(0, 1, now=2))
    assert seen.write(np.array([2]), touching(1, now=3), one[:1])[0].all()  # the other reader is not forgotten
    seen.read(np.array([3]), touching(0, now=2))
    seen.read(np.array([3]), touching(1, now=3))
    assert seen.write(np.array([3]), touching(1, now=4), one[:1])[0].all()  # nor one that read before
    seen.read(np.array([4]), touching(0, now=3))
    seen.read(np.array([7]), touching(0, now=4))
    assert not seen.write(np.array([0]), touching(1, now=5), one[:1])[0].any()  # a word that nobody reads
    assert seen.write(np.array([0, 4]), touching(1, 1, now=6), one)[0].tolist() == [False, True]
    assert seen.write(np.array([7]), touching(1, now=7), one[:1])[0].all()
    across = notes(near=False)
    across.write(word, touching(1, now=1), one[:1])
    assert across.write(word, touching(40, now=9, passed=8), one[:1])[0].all()


def test_strong_accesses_race_with_weak_ones_only():
    word, one = np.array([5]), np.ones(1, np.uint32)
    seen = notes(near=False)
    assert not seen.write(word, touching(1, now=1, kind=STRONG), changes=True)[0].any()
    assert not seen.write(word, touching(40, now=2, kind=STRONG), changes=True)[0].any()
    assert not seen.read(word, touching(70, now=3, kind=STRONG))[0].any()
    assert not seen.write(word, touching(2, now=4, kind=STRONG), changes=True)[0].any()  # which the 70th has read
    assert seen.read(word, touching(40, now=5))[0].all()  # others have changed it, too
    assert seen.write(word, touching(1, now=6, kind=STRONG), one)[0].all()  # that one was weak


def test_only_so_many_loads_are_put_off_and_none_is_lost(monkeypatch):
    monkeypatch.setattr(module, "MOST_PUT_OFF", 3 * module.A_LOAD)
    seen, word = notes(), np.array([5])
    for now in range(1, 5):
        seen.read(word, touching(1, now=now))
    assert len(seen.put_off) == 1
    seen.forget_loads()  # at a barrier that no thread of this test has passed: what was noted before stays
    assert seen.write(word, touching(2, now=5), np.ones(1, np.uint32))[0].all()
    seen = notes()
    for words in (np.arange(module.A_LOAD) % 8, word):  # a wide load before a narrow one counts as wide
        seen.read(words, touching(1, now=6))
    assert not seen.put_off


def test_loads_are_noted_in_their_order_wide_ones_too(monkeypatch):
    monkeypatch.setattr(module, "WIDE", 2)
    seen, word = notes(near=False), np.array([5])
    seen.read(word, touching(1, now=1))
    seen.read(word, touching(1, now=2))
    seen.read(np.array([4, 5, 6]), touching(2, 2, 2, now=3))
    seen.read(word, touching(3, now=4))
    assert not seen.write(np.array([7]), touching(3, now=5), np.ones(1, np.uint32))[0].any()
    assert seen.readers[[4, 5]].tolist() == [2 + (3 << TIME), 2 + (3 << TIME) | OF_WARP], "thread 3 is still put off"
    race, last = seen.write(word, touching(4, now=6), np.ones(1, np.uint32))
    assert race.all() and last[0] & THREAD == 3


def test_what_a_reader_learns_later_orders_no_load_before():
    seen, word, known = notes(), np.array([5]), []
    for thread, kind in ((1, WEAK), (2, STRONG)):
        seen.read(
            word, touching(thread, now=thread, kind=kind, ordered=lambda before, _: np.isin(before & THREAD, known))
        )
    known.append(1)  # which the second reader has waited for, and the writer has not
    assert seen.write(word, touching(3, now=3, kind=STRONG), changes=True)[0].all()


def test_an_access_must_lie_in_one_array():
    memory = Memory([("first", 1 << 20, 64), ("second", 1 << 21, 20)])
    one, two = 1 << 20, 1 << 21
    address = np.array([one, one + 60, one + 64, one - 4, two + 16, two + 20, 0], np.uint64)
    place, inside = memory.find(address, 4)
    assert inside.tolist() == [True, True, False, False, True, False, False]
    assert place[[0, 1, 4]].tolist() == [0, 60, 80]
    assert memory.find(address[4:5], 8)[1].tolist() == [False]
    assert memory.find(address[:2], 4)[1] is None and memory.array_at(80) == (1, 16)
    assert memory.find(address[[0, 4]], 4)[1] is None, "in two arrays, and in none of them outside"
    assert Memory([]).find(address, 4)[1].tolist() == [False] * 7


def test_what_lies_nowhere_holds_no_number_and_is_nobodys():
    memory = Memory([("only", 1 << 20, 8)], copies=2)
    memory.cells["u32"][:4] = 1, 2, 3, 4  # the second copy begins 16 bytes behind the first
    place = np.array([0, 16])
    memory.lead_nowhere(place, np.array([True, False]))
    memory.cells["f32"][place // 4] = 0
    assert memory.size == 16 and place.tolist() == [0, 32] and memory.cells["u32"][:4].tolist() == [0, 2, 3, 4]
    memory.lead_nowhere(place, np.array([True, False]))
    assert np.isnan(memory.cells["f32"][8])
