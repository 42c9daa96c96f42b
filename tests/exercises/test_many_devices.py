"""The exercise whose answer is a step of SUMMA: right numbers after each panel, and no byte but SUMMA's."""

from itertools import product

import numpy as np
import pytest

from helpers.exercises import judge_panel_step, many_devices
from helpers.many import bytes_moved


def panels_of(me, k0, k1, left, top):
    a, b = me.of_A[left], me.of_B[top]
    panel_A = me.row.bcast(me.A[:, k0 - a : k1 - a] if me.j == left else None, root=left)
    return panel_A, me.column.bcast(me.B[k0 - b : k1 - b] if me.i == top else None, root=top)


def step(me, k0, k1, left, top):
    panel_A, panel_B = panels_of(me, k0, k1, left, top)
    me.C += panel_A @ panel_B


def columns_first(me, k0, k1, left, top):
    """B first, C bound anew, and an argument from all: MPI does not look at what the others pass."""
    b = me.column.bcast(me.B[k0 - me.of_B[me.i] : k1 - me.of_B[me.i]], top)
    a = me.row.bcast(me.A[:, k0 - me.of_A[me.j] : k1 - me.of_A[me.j]], left)
    me.C = me.C + np.einsum("ik,kj->ij", a, b)


def one_by_one(me, k0, k1, left, top):
    """A panel for each k: the same bytes in more messages."""
    for k in range(k0, k1):
        step(me, k, k + 1, left, top)


def changes_what_came(me, k0, k1, left, top):
    a, b = panels_of(me, k0, k1, left, top)
    C = a @ b
    a[:], b[:] = 0, 0
    me.C += C


@pytest.mark.parametrize("right", [step, columns_first, one_by_one, changes_what_came])
def test_a_right_step_is_right(right):
    report = judge_panel_step(right)
    assert report, report


def overwrites(me, *panel):
    a, b = panels_of(me, *panel)
    me.C[:] = a @ b


def from_me(me, k0, k1, left, top):
    step(me, k0, k1, me.j, me.i)


def owner_alone(me, k0, k1, left, top):
    if me.j == left and me.i == top:
        step(me, k0, k1, left, top)


def owners_do_not_call(me, k0, k1, left, top):
    a, b = me.of_A[left], me.of_B[top]
    panel_A = me.A[:, k0 - a : k1 - a] if me.j == left else me.row.bcast(None, root=left)
    me.C += panel_A @ (me.B[k0 - b : k1 - b] if me.i == top else me.column.bcast(None, root=top))


def whole_blocks(me, k0, k1, left, top):
    a, b = me.of_A[left], me.of_B[top]
    block_A, block_B = me.row.bcast(me.A, root=left), me.column.bcast(me.B, root=top)
    me.C += block_A[:, k0 - a : k1 - a] @ block_B[k0 - b : k1 - b]


def twice(me, *panel):
    panels_of(me, *panel)
    step(me, *panel)


def no_offset(me, k0, k1, left, top):
    me.C += me.row.bcast(me.A[:, k0:k1], root=left) @ me.column.bcast(me.B[k0:k1], root=top)


def ends_of_B(me, k0, k1, left, top):
    a, deep = me.of_A[left], k1 - k0
    me.C += me.row.bcast(me.A[:, k0 - a : k1 - a], root=left) @ me.column.bcast(me.B[-deep:], root=top)


def only_owners_call(me, k0, k1, left, top):
    if me.j == left:
        panel_A = me.row.bcast(me.A[:, k0 - me.of_A[left] : k1 - me.of_A[left]], root=left)
    if me.i == top:
        panel_B = me.column.bcast(me.B[k0 - me.of_B[top] : k1 - me.of_B[top]], root=top)
    me.C += panel_A @ panel_B


def stub(me, k0, k1, left, top):
    """Not yet."""


@pytest.mark.parametrize(
    "wrong, says",
    [
        (stub, "not yet"),
        (overwrites, "Both panels came as they should."),
        (from_me, "two ranks name different roots: 0 and 1"),
        (owner_alone, "Nothing came along column 1 of the ranks, where B's panel is due"),
        (owners_do_not_call, "which sends nothing"),
        (whole_blocks, "bytes: "),
        (twice, "bytes: "),
        (no_offset, "Along row 0 of the ranks came an array of (2, 0); A's panel is (2, 2)"),
        (
            lambda me, k0, k1, left, top: me.row.bcast(me.A, root=left) @ me.column.bcast(me.B[:1], root=top),
            "Along row 0 of the ranks came an array of (2, 4); A's panel is (2, 3)",
        ),
        (ends_of_B, "What came along column 0 of the ranks has the shape of B's panel, and other numbers"),
        (only_owners_call, "It has not called bcast along its row and along its column"),
        (lambda me, *panel: me.row.bcast(me.A, root=5), "root is 5; the ranks of a row are 0 to 1"),
        (lambda me, *panel: me.row.bcast(None, root=0), "this rank of the row is the owner, and it passes NoneType"),
        (lambda me, *panel: exit(3), "raises SystemExit: 3"),
        (lambda me, *panel: setattr(me, "C", None), "is None, and should be (2, 3)"),
        (lambda me, *panel: setattr(me, "C", me.C.astype(float)), "is float64, and should be float32"),
        (lambda me: [], "TypeError"),
    ],
)
def test_a_wrong_step_is_told_what_is_wrong(wrong, says):
    report = judge_panel_step(wrong)
    assert not report and says in repr(report), report


def test_the_verdict_is_the_same_each_time():
    for wrong in (from_me, owners_do_not_call, lambda me, *panel: 1 / 0):
        assert len({repr(judge_panel_step(wrong)) for _ in range(5)}) == 1


def test_a_step_that_never_ends_is_given_up(monkeypatch):
    monkeypatch.setattr(many_devices, "PATIENCE", 0.05)
    goes_on = [True]

    def never(me, *panel):
        while goes_on[0]:
            pass

    report = judge_panel_step(never)
    goes_on[0] = False
    assert "error: " in repr(report) and "has not ended" in repr(report), report


def test_the_bytes_of_all_steps_are_those_of_the_formula(monkeypatch):
    worlds, one_step = [], many_devices.one_step
    monkeypatch.setattr(many_devices, "one_step", lambda *given: worlds.append(one_step(*given)) or worlds[-1])
    assert many_devices.wrong_product(step, (3, 2), (19, 17, 25)) is None
    for place in product(range(3), range(2)):
        counted = tuple(sum(getattr(world, of)[place] for world, *_ in worlds) for of in ("received", "sent"))
        assert counted == bytes_moved(19, 17, 25, 3, 2, *place)
