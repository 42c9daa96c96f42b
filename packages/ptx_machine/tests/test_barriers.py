"""Barriers of a part of a block, by their numbers. Source: NVIDIA's PTX ISA, `bar`."""

import numpy as np
import pytest

import ptx_machine

KERNEL = """.version 8.0
.target sm_80
.address_size 64
.shared .align 4 .b8 s[512];
.visible .entry k(.param .u64 o)
{{
.reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [o]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;
shl.b32 %r2, %r1, 2; mov.u32 %r3, s; add.u32 %r3, %r3, %r2; setp.lt.u32 %p1, %r1, 64;
{body}
ret;
}}
"""
# Threads 0 to 63 fill, 64 to 127 empty; each pair of warps has a barrier of its own, or they hand over by two.
PAIRS = """
shr.u32 %r4, %r1, 6; add.u32 %r4, %r4, 1;
st.shared.u32 [%r3], %r1; bar.sync %r4, 64; xor.b32 %r5, %r2, 252; mov.u32 %r6, s; add.u32 %r6, %r6, %r5;
ld.shared.u32 %r7, [%r6]; st.global.u32 [%rd1], %r7;"""
HAND_OVER = """
@!%p1 bra E;
mov.u32 %r8, 0;
F: bar.sync 2, 128; add.u32 %r9, %r1, %r8; st.shared.u32 [%r3], %r9; bar.arrive 1, 128;
add.u32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, 3; @%p2 bra F; ret;
E: mov.u32 %r8, 0; mov.u32 %r10, 0; bar.arrive 2, 128;
G: bar.sync 1, 128; ld.shared.u32 %r9, [%r3+-256]; add.u32 %r10, %r10, %r9;
add.u32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, 3; @!%p2 bra H; bar.arrive 2, 128; bra G;
H: st.global.u32 [%rd1], %r10;"""


def ran(body, **more):
    return ptx_machine.run(KERNEL.format(body=body), (2,), (128,), [np.zeros(128, np.uint32)], **more)


def test_barriers_with_numbers_hold_as_many_threads_as_they_say():
    run = ran(PAIRS)
    assert run and run.arrays[0].tolist() == [*range(63, -1, -1), *range(127, 63, -1)]
    run = ran(HAND_OVER)
    assert run and run.arrays[0][64:].tolist() == [3 * n + 3 for n in range(64)]
    run = ran("bar.sync 0, 128; bar.sync 3;")
    assert run


@pytest.mark.parametrize(
    "body, old, new",
    [
        (PAIRS, "bar.sync %r4, 64;", ""),
        (PAIRS, "xor.b32 %r5, %r2, 252", "xor.b32 %r5, %r2, 508"),  # the other pair's
        (HAND_OVER, "bra H; bar.arrive 2, 128;", "bra H;"),
        (HAND_OVER, "F: bar.sync 2, 128;", "F:"),
        (HAND_OVER, "bar.sync 1, 128;", ""),
    ],
)
def test_too_few_of_them_are_a_race_or_hold_for_ever(body, old, new):
    assert old in body
    kinds = {one.kind for one in ran(body.replace(old, new), seconds=60).findings}
    assert kinds & {"race", "divergent barrier"}


def test_a_barrier_that_too_few_come_to_says_how_many():
    finding = ran("@%p1 bar.sync 5, 96;").findings[0]
    assert finding.kind == "divergent barrier"
    assert finding.message.startswith("64 of 96 threads have come to barrier 5 of block (0, 0), and no more do")


# Block 1 waits for a flag of block 0, which passes a barrier meanwhile; what block 1 has read before is not forgotten.
WHILE_ANOTHER_WAITS = """
mov.u32 %r5, %ctaid.x; setp.eq.u32 %p2, %r5, 0; ld.param.u64 %rd3, [o];
st.shared.u32 [%r3], %r1; bar.sync 0; ld.shared.u32 %r7, [%r3]; @%p2 bra F;
W: ld.volatile.global.u32 %r8, [%rd3]; setp.ne.u32 %p3, %r8, 1; @%p3 bra W;
xor.b32 %r6, %r2, 4; mov.u32 %r9, s; add.u32 %r6, %r6, %r9; st.shared.u32 [%r6], 1000; ret;
F: bar.sync 0; st.volatile.global.u32 [%rd3], 1;"""


def test_a_barrier_of_one_block_leaves_what_another_has_read():
    [finding] = ran(WHILE_ANOTHER_WAITS).findings
    text = "thread (0, 0) of block (1, 0) writes element 1 of s, which thread (1, 0) of block (1, 0) read at"
    assert finding.kind == "race" and finding.message.startswith(text), finding


HALVES = "@%p1 bra F; st.shared.u32 [%r3+-256], 1; ret; F: st.shared.u32 [%r3], %r1;"


def test_of_two_halves_of_a_block_each_has_its_own_threads():
    [finding] = ran(HALVES).findings
    one, other = finding.message.split(", which ")
    assert {one[:14], other[:14]} == {"thread (64, 0)", "thread (0, 0) "}, finding
