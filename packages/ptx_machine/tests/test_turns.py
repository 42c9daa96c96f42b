"""Threads that wait for others: each gets its turn, and what never ends is told from what takes long."""

import numpy as np
import pytest

import ptx_machine

KERNEL = """.version 8.0
.target sm_80
.address_size 64
.shared .align 4 .b8 s[64];
.visible .entry k(.param .u64 o)
{{
.reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [o]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r9, %nctaid.x;
{body}
ret;
}}
"""
LOCKED = """
L: atom.global.cas.b32 %r3, [%rd1], 0, 1; setp.ne.u32 %p2, %r3, 0; @%p2 bra L; membar.gl;
ld.global.u32 %r4, [%rd1+4]; add.u32 %r4, %r4, 1; st.global.u32 [%rd1+4], %r4;
membar.gl; atom.global.exch.b32 %r5, [%rd1], 0;"""
COUNTING = LOCKED.replace("@%p2 bra L;", "add.u32 %r8, %r8, 1; @%p2 bra L;")
FLAG = """
setp.eq.u32 %p1, %r2, 0; @%p1 bra W;
L: ld.acquire.gpu.global.u32 %r3, [%rd1]; setp.eq.u32 %p2, %r3, 0; @%p2 bra L;
ld.global.u32 %r4, [%rd1+4]; ld.global.u32 %r5, [%rd1]; st.global.u32 [%rd1+8], %r4; ret;
W: mov.u32 %r3, 7; st.global.u32 [%rd1+4], %r3; st.release.gpu.global.u32 [%rd1], %r3;"""
# Each block waits for the one before it, takes its sum, and gives on its own: the end of a decoupled look-back.
LOOK_BACK = """
setp.ne.u32 %p1, %r1, 0; @%p1 ret; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd3, %rd1, %rd2; mov.u32 %r4, 0;
setp.eq.u32 %p2, %r2, 0; @%p2 bra G;
L: ld.volatile.global.u32 %r4, [%rd3+-4]; setp.eq.u32 %p3, %r4, 0; @%p3 bra L;
G: add.u32 %r4, %r4, 1; st.volatile.global.u32 [%rd3], %r4;"""
BACKWARDS = LOOK_BACK.replace("mul.wide", "sub.u32 %r7, %r9, %r2; sub.u32 %r2, %r7, 1; mul.wide")

# A maximum by compare-and-swap, as Numba makes it, and a shuffle, for which all wait who have left the loop.
HIGHEST = """
ld.volatile.global.u32 %r3, [%rd1];
L: setp.ge.u32 %p1, %r3, %r1; @%p1 bra S; atom.global.cas.b32 %r3, [%rd1], %r3, %r1; bra L;
S: shfl.sync.down.b32 %r4|%p2, %r1, 1, 31, -1; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;
st.global.u32 [%rd3+4], %r4;"""

# The first thread of each block waits for the block before, the others for that thread; blocks stand at two barriers.
IN_A_ROW = """
setp.ne.u32 %p1, %r1, 0; setp.eq.or.u32 %p1, %r2, 0, %p1; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd3, %rd1, %rd2;
@%p1 bra S;
L: atom.global.add.u32 %r3, [%rd3+-4], 0; setp.eq.u32 %p2, %r3, 0; @%p2 bra L;
S: WAIT; bar.sync 0; setp.ne.u32 %p1, %r1, 0; @%p1 ret; atom.global.add.u32 %r4, [%rd3], 1;"""


def ran(body, grid, block, size=64, **more):
    return ptx_machine.run(KERNEL.format(body=body), (grid,), (block,), [np.zeros(size, np.uint32)], **more)


@pytest.mark.parametrize("body", [LOCKED, COUNTING])
@pytest.mark.parametrize("grid, block", [(4, 1), (1, 12), (3, 4)])
def test_a_lock_lets_everybody_in(body, grid, block):
    run = ran(body, grid, block)
    assert run and run.arrays[0][:2].tolist() == [0, grid * block]


def test_a_flag_and_a_look_back_reach_their_end(monkeypatch):
    run = ran(FLAG, 2, 1)
    assert run and run.arrays[0][:3].tolist() == [7, 7, 7]
    for lanes in (1 << 15, 64):  # all blocks side by side, and two at a time
        monkeypatch.setattr("ptx_machine.launch.LANES", lanes)
        for body in (LOOK_BACK, BACKWARDS):
            run = ran(body, 20, 32)
            assert run and sorted(run.arrays[0][:20].tolist()) == list(range(1, 21))


@pytest.mark.parametrize("wait", ["bar.sync 0", "bar.warp.sync -1", "bar.sync 1, 64"])
def test_who_waits_beside_a_thread_that_asks_for_a_flag_is_not_missed(wait):
    run = ran(IN_A_ROW.replace("WAIT", wait), 4, 64)
    assert run and run.arrays[0][:4].tolist() == [1, 1, 1, 1], run


def test_a_shuffle_waits_for_threads_that_a_loop_keeps():
    run = ran(HIGHEST, 1, 32)
    assert run and run.arrays[0][:33].tolist() == [31, *range(1, 32), 31]


def test_a_flag_within_a_block_orders_no_other_block():
    for word in ("acquire", "release"):
        assert {one.kind for one in ran(FLAG.replace(f"{word}.gpu", f"{word}.cta"), 2, 1).findings} == {"race"}


def test_who_waits_for_ever_is_found_at_once_and_who_takes_long_by_the_limit():
    run = ran("L: ld.volatile.global.u32 %r3, [%rd1]; setp.eq.u32 %p2, %r3, 0; @%p2 bra L;", 2, 32, seconds=1e9)
    (hang,) = run.findings
    assert hang.kind == "hang" and "nothing changes any more" in hang.message and "thread (0, 0)" in hang.message
    both = FLAG.replace("W: mov", "W: ld.volatile.global.u32 %r6, [%rd1+12]; setp.eq.u32 %p4, %r6, 0; @%p4 bra W; mov")
    run = ran(both, 2, 1, seconds=1e9)  # each waits for the other
    assert [one.kind for one in run.findings] == ["hang", "hang"]
    endless = "L: add.u32 %r3, %r3, 1; bra L;"
    (hang,) = ran(endless, 1, 1, seconds=0.05).findings
    many = ran("mov.u32 %r3, 1;", 70, 1024, seconds=1e-9).findings  # of which none takes long
    assert [one.kind for one in many] == ["out of time"]
    assert hang.kind == "out of time" and "after 0.05 seconds" in hang.message and "seconds=0.5" in hang.message
    late, same = (ran(endless, 1, 1, work=500) for _ in "12")
    assert late.findings == same.findings and late.findings[0].kind == "out of time" and late.work == same.work >= 500
    (hang,) = ran(endless, 1, 1, limit=500).findings
    assert hang.kind == "hang" and "limit=500" in hang.message
