"""Round trips to memory, read from machine code."""

import pytest

from gpu_model.round_trips import order_of, registers, trips


def made(*code, order=None):
    return dict(trips([(text, 0) for text in code], [*range(len(code))] if order is None else order))


def test_who_asks_for_two_numbers_before_it_needs_one_makes_one_round_trip():
    asks = ("LDG.E R4, desc[UR4][R2.64]", "LDG.E R5, desc[UR4][R2.64+0x4]")
    needs = ("STS [R8], R4", "STS [R8+0x4], R5")
    assert made(*asks, *needs) == {2: 1}
    assert made(asks[0], needs[0], asks[1], needs[1]) == {1: 2}
    assert made(asks[0], "NOP", asks[1], "FADD R3, R4, R5") == {1: 1}  # it ends with the last that it needs


def test_a_round_trip_ends_with_the_first_need_of_any_register_that_it_brings():
    assert made("LDG.E R4, [R2.64]", *["FFMA R1, R6, R7, R1"] * 9, "FADD R3, R4, R3") == {10: 1}
    assert made("LDG.E R4, [R2.64]", "FFMA R1, R6, R7, R1", "EXIT") == {}
    assert made("LDG.E.128 R4, [R2.64]", "IADD3 R8, R8, 0x1, RZ", "FADD R1, R7, R1") == {2: 1}
    assert made("LDG.E.64 R4, [R2.64]", "FADD R1, R6, R1") == {}
    # Who writes over a number that has not come waits for it, too.
    assert made("LDG.E R4, [R2.64]", "MOV R4, RZ") == {1: 1}


def test_copies_are_waited_for_by_their_groups():
    copy, end = "LDGSTS.E.BYPASS.128 [R1], [R2.64]", "LDGDEPBAR"
    assert made(copy, end, "DEPBAR.LE SB0, 0x0") == {2: 1}
    # The second was asked for before the wait for the first: it comes soon after it.
    assert made(copy, end, copy, end, "DEPBAR.LE SB0, 0x1", "DEPBAR.LE SB0, 0x0") == {4: 1}
    assert made(copy, end, "DEPBAR.LE SB0, 0x1") == {}


def test_a_warp_goes_round_loops_as_often_as_it_was_counted_and_passes_guards_that_half_of_the_warps_pass():
    assert order_of([(1, 3)], [1, 4, 4, 1]) == [0, 1, 2, 1, 2, 1, 2, 1, 2, 3]
    assert order_of([(0, 5), (1, 3)], [2, 6, 6, 2, 2, 1]) == [0, 1, 2, 1, 2, 1, 2, 3, 4] * 2 + [5]
    assert order_of([(0, 4)], [4, 2, 1, 4]) == [0, 1, 3] * 4


@pytest.mark.parametrize(
    "text, written, read",
    [
        ("FFMA R4, R5, R6.reuse, R4", {4}, {4, 5, 6}),
        ("@!P0 LDG.E.128 R8, desc[UR4][R2.64+0x10]", {8, 9, 10, 11}, {2, 3}),
        ("STS.128 [R20+0x40], R8", set(), {20, 8, 9, 10, 11}),
        ("IMAD.WIDE.U32 R2, R5, UR4, R2", {2, 3}, {5, 2}),
        ("ISETP.GE.AND P0, PT, R0, UR4, PT", set(), {0}),
        ("HMMA.1688.F32.TF32 R4, R8, R12, R4", {4, 5, 6, 7}, {4, 5, 6, 7, 8, 9, 10, 11, 12, 13}),
        ("LDSM.16.M88.4 R4, [R2]", {4, 5, 6, 7}, {2}),
        ("BRA `(.L_x_1)", set(), set()),
    ],
)
def test_registers_that_an_instruction_writes_and_reads(text, written, read):
    assert registers(text) == (written, read)
