"""The exercise whose answer is a step of SUMMA: right numbers after each panel, and no byte but SUMMA's."""

import pytest

from helpers.exercises.many_devices import judge_panel_step


def panels_of(me, k0, k1, left, top):
    a, b = me.of_A[left], me.of_B[top]
    panel_A = me.row.bcast(me.A[:, k0 - a : k1 - a] if me.j == left else None, root=left)
    return panel_A, me.column.bcast(me.B[k0 - b : k1 - b] if me.i == top else None, root=top)


def step(me, *panel):
    a, b = panels_of(me, *panel)
    me.C += a @ b
    a[:] = 0  # what came is the rank's own


def test_a_right_step_is_right():
    report = judge_panel_step(step)
    assert report, report


def stub(me, k0, k1, left, top):
    """Not yet."""


def overwrites(me, *panel):
    a, b = panels_of(me, *panel)
    me.C[:] = a @ b


def whole_blocks(me, k0, k1, left, top):
    a, b = me.row.bcast(me.A, root=left), me.column.bcast(me.B, root=top)
    me.C += a[:, k0 - me.of_A[left] :][:, : k1 - k0] @ b[k0 - me.of_B[top] :][: k1 - k0]


def owners_call(me, k0, k1, left, top):
    if me.j == left:
        a, b = panels_of(me, k0, k1, left, top)
    me.C += a @ b


def owner_does_not_call(me, k0, k1, left, top):
    me.C += (me.A[:, k0:k1] if me.j == left else me.row.bcast(None, root=left)) @ me.B[k0:k1]


@pytest.mark.parametrize(
    "wrong, says",
    [
        (stub, "not yet. It does nothing so far."),
        (overwrites, "panel k0, k1 = 3, 4: C of rank (0, 0) holds the product of these two panels alone"),
        (
            whole_blocks,
            "bytes: on 2 x 2 ranks, with M, N, K = 4, 6, 8, at the panel k0, k1 = 0, 3: "
            "rank (0, 0) got 32 bytes along its row, not 24: bcast gave shapes [(2, 4)], the panel has (2, 3)",
        ),
        (owners_call, "rank (0, 1) got 0 bytes along its row, not 24: bcast gave shapes []"),
        (owner_does_not_call, "rank (0, 0) got 0 bytes along its row, not 24"),
        (lambda me, *panel: me.row.bcast(me.A, root=1 - me.j), "it waits along its row for the panel of number 1"),
        (lambda me, *panel: me.row.bcast(None, root=0), "root is 0, so this rank of the row is the owner"),
        (lambda me, *panel: panels_of(me, *panel) and exit(3), "rank (0, 0) raises SystemExit: 3"),
        (lambda me, *panel: setattr(me, "C", panels_of(me, *panel)), "C of rank (0, 0) is wrong, though as many bytes"),
    ],
)
def test_a_wrong_step_is_told_what_is_wrong(wrong, says):
    report = judge_panel_step(wrong)
    assert not report and says in repr(report), report
