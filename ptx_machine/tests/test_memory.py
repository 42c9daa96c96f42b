"""Addresses, and who touched what when."""

import numpy as np

from ptx_machine.memory import BLOCKS_BARRIERS, Memory, Seen


def test_races_are_seen_between_the_same_barriers_only():
    def stamps(*threads, barriers=0):
        return np.array(threads) + (barriers << BLOCKS_BARRIERS)

    word = np.array([5])
    seen = Seen(8)
    assert seen.read(word, stamps(1))[1].all()  # nobody wrote it
    assert seen.write(word, stamps(2)).all()  # thread 1 has just read it
    assert not seen.write(word, stamps(2, barriers=1)).any() and not seen.read(word, stamps(2, barriers=1))[0].any()
    assert not seen.write(word, stamps(2, barriers=1)).any()  # one's own
    seen.write(word, stamps(2))
    assert seen.read(word, stamps(3))[0].all() and not seen.read(word, stamps(3, barriers=1))[0].any()
    seen = Seen(8)
    assert seen.write(np.array([1, 1]), stamps(0, 1)).any()  # in one instruction
    seen.read(np.array([2, 2]), stamps(0, 1))
    assert seen.write(np.array([2]), stamps(1)).all()  # the other reader is not forgotten
    seen.read(np.array([3]), stamps(0))
    seen.read(np.array([3]), stamps(1))
    assert seen.write(np.array([3]), stamps(1)).all()  # nor one that read before
    across = Seen(8, block=4)
    across.write(word, stamps(1))
    assert across.write(word, stamps(6, barriers=3)).all() and not Seen(8).write(word, stamps(6)).any()


def test_an_access_must_lie_in_one_array():
    memory = Memory([("first", 1 << 20, 64), ("second", 1 << 21, 20)])
    one, two = 1 << 20, 1 << 21
    address = np.array([one, one + 60, one + 64, one - 4, two + 16, two + 20, 0], np.uint64)
    place, inside = memory.find(address, 4)
    assert inside.tolist() == [True, True, False, False, True, False, False]
    assert place[[0, 1, 4]].tolist() == [0, 60, 80]
    assert memory.find(address[4:5], 8)[1].tolist() == [False]
    assert memory.find(address[:2], 4)[1] is None and memory.array_at(80) == (1, 16)
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
