"""Who touched which element on the PTX machine, in words: what it found is made here."""

import numpy as np
import pytest

from kernel_judge.touched import Launched, outside_on_ptx, race_on_ptx, unset_on_ptx
from ptx_machine.results import Access, Finding

LAUNCHED = Launched({"s": ("As", (4, 5), 4), "C": ("C", None, 4), "A": ("A", (3, 2), 4)}, (4, 2), (2, 3))


def access(act, *threads, block=0, array="s", offsets=(8,), size=4):
    numbers = np.array(threads, np.int32)
    blocks = np.full(len(threads), block, np.int32)
    return Access(1, 1, "", "", act, blocks, numbers, blocks, (array,), 0 * numbers, np.array(offsets), size)


def found(kind, *accesses, **more):
    return Finding(kind, "", accesses=accesses, **more)


@pytest.mark.parametrize(
    "later, earlier, more, lines, said",
    [
        (
            access("load", 5),
            access("store", 0),
            {},
            (2, 4),
            "threads read what others are still writing to As with no barrier between: thread (1, 1) of block (0, 0) "
            "reads As[0, 2], which thread (0, 0) of block (0, 0) wrote, and nothing orders the two",
        ),
        (access("store", 5), access("load", 0), {}, (4, 2), "threads overwrite what others are still reading from As"),
        (access("store", 5), access("store", 0), {}, (2, 4), "write to the same element of As with no barrier between"),
        (access("store", 5), access("store", 0), {}, (2, 2), "threads write to the same element of As: thread"),
        (access("load", 5), access("atomic", 0), {}, (2, 2), "threads touch the same element of As with no barrier be"),
        (access("meet", 5), access("store", 0), {}, (2, 4), "threads touch the same element of As with no barrier be"),
        (
            access("store", 5, block=3),
            access("store", 0),
            {},
            (2, 4),
            "of As in different blocks, which no barrier keeps in order: thread (1, 1) of block (1, 1) writes As[0, 2]",
        ),
        (access("store", 5, block=3), access("store", 0), {}, (2, 2), "element of As, in different blocks: thread"),
        (
            access("load", 5),
            access("store", 0),
            {"several": True},
            (2, 4),
            "which thread (0, 0) of block (0, 0) and ot",
        ),
        (access("load", 5), access("store", 5), {"several": True}, (2, 4), "which another thread than (1, 1) of block"),
        (access("load", 5), access("store", 0), {"times": 7}, (2, 4), "nothing orders the two (7 times)"),
        (
            access("load", 5, array="C"),
            access("store", 0, array="C"),
            {},
            (2,),
            "thread (1, 1) of block (0, 0) reads C[2]",
        ),
    ],
)
def test_a_race_is_told_with_both_threads_and_what_would_order_them(later, earlier, more, lines, said):
    race = race_on_ptx(found("race", later, earlier, **more), LAUNCHED, lines)
    assert said in race.message and race.kind == "race" and race.lines == lines
    drawn = race.drawn and (race.drawn.array, race.drawn.shape, race.drawn.elements)
    assert drawn == (None if later.arrays == ("C",) else ("As", (4, 5), (2,)))


def test_what_lies_outside_is_told_and_drawn_from_the_first_to_the_last():
    load = access("load", 1, 2, array="A", offsets=(16, 24), size=8)
    outside = outside_on_ptx(found("out of bounds", load), LAUNCHED, (3,))
    assert outside.message == "thread (1, 0) of block (0, 0) loads past the end of A" and outside.lines == (3,)
    assert outside.drawn.elements == (6, 7)  # of 4, 5, 6 and 7 those that lie there
    before = outside_on_ptx(found("out of bounds", access("store", 0, array="A", offsets=(-4,))), LAUNCHED, ())
    assert before.message == "thread (0, 0) of block (0, 0) stores before A" and before.drawn.elements == (-1,)


def test_what_no_thread_has_written_is_told_by_its_element():
    unset = unset_on_ptx(found("uninitialised", access("load", 6, offsets=(28,))), LAUNCHED, (9,))
    assert unset.message == "thread (2, 1) of block (0, 0) reads As[1, 2], which no thread has written"
    assert unset.kind == "uninitialised" and unset.drawn is None
