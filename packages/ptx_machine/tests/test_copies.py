"""Asynchronous copies: what they bring, and who touches a place too early. Source: NVIDIA's PTX ISA, `cp.async`."""

import numpy as np
import pytest

import ptx_machine

KERNEL = """.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 tile[];
.visible .entry copies(.param .u64 input, .param .u64 output)
{{
	.reg .pred %p<9>;
	.reg .b32 %r<20>;
	.reg .b64 %rd<9>;
	ld.param.u64 %rd1, [input];
	ld.param.u64 %rd2, [output];
	mov.u32 %r1, %tid.x;
	shl.b32 %r2, %r1, 4;
	cvt.u64.u32 %rd3, %r2;
	add.s64 %rd1, %rd1, %rd3;
	add.s64 %rd2, %rd2, %rd3;
	mov.u32 %r3, tile;
	add.s32 %r4, %r3, %r2;  // a thread's own 16 bytes
	xor.b32 %r5, %r2, 16;
	add.s32 %r6, %r3, %r5;  // its neighbour's
{body}
	st.global.v4.b32 [%rd2], {{%r10, %r11, %r12, %r13}};
	ret;
}}
"""
READ_OWN, READ_OTHER = (f"ld.shared.v4.b32 {{%r10, %r11, %r12, %r13}}, [%r{n}];" for n in (4, 6))
COPY = "cp.async.cg.shared.global [%r4], [%rd1], 16;"
COMMIT, WAIT, ALL, BARRIER = ("cp.async.commit_group;", "cp.async.wait_group 0;", "cp.async.wait_all;", "bar.sync 0;")


def copied(*lines, shared=64 * 16 * 2):
    """(run, output, input) of 64 threads that have 4 words of each."""
    words = np.arange(1, 64 * 4 + 1, dtype=np.uint32).reshape(64, 4)
    words.flags.writeable = False
    text = KERNEL.format(body="\n".join(lines))
    run = ptx_machine.run(text, (1,), (64,), [words, np.zeros((64, 4), np.uint32)], shared=shared)
    return run, run.arrays[1], words


@pytest.mark.parametrize(
    "lines, neighbours",
    [
        ((COPY, COMMIT, WAIT, READ_OWN), False),
        ((COPY, ALL, READ_OWN), False),  # no group is needed
        ((COPY, COMMIT, WAIT, BARRIER, READ_OTHER), True),
        ((COPY, COMMIT, WAIT, BARRIER, READ_OTHER, BARRIER, COPY), True),
        ((COPY, COMMIT, ALL, "bar.warp.sync -1;", READ_OTHER), True),
    ],
)
def test_copies_that_are_waited_for_bring_their_bytes(lines, neighbours):
    run, got, words = copied(*lines)
    assert run and np.array_equal(got, words[np.arange(64) ^ 1] if neighbours else words)


@pytest.mark.parametrize(
    "lines",
    [
        (COPY, COMMIT, READ_OWN),  # no wait
        (COPY, COMMIT, BARRIER, READ_OTHER),
        (COPY, WAIT, READ_OWN),  # in no group
        (COPY, COMMIT, "cp.async.wait_group 1;", READ_OWN),  # one may still be on its way
        (COPY, COMMIT, WAIT, READ_OTHER),  # no barrier behind the wait
        (COPY, COMMIT, BARRIER, WAIT, READ_OTHER),
        (COPY, COMMIT, WAIT, BARRIER, READ_OTHER, COPY),  # again, before the neighbour has read for sure
        (COPY, COMMIT, WAIT, BARRIER, READ_OTHER, "st.shared.b32 [%r4], %r1;"),
        (COPY, COMMIT, "st.shared.b32 [%r4], %r1;", WAIT, READ_OWN),
        (COPY, COMMIT, COPY, COMMIT, WAIT, READ_OWN),  # two to one place
    ],
)
def test_what_touches_a_place_too_early_is_a_race(lines):
    run, *_ = copied(*lines)
    assert "race" in {one.kind for one in run.findings} <= {"race", "uninitialised"}


def test_before_the_wait_the_place_holds_what_it_held():
    run, got, _ = copied(
        "mov.u32 %r10, 7;", "st.shared.v4.b32 [%r4], {%r10, %r10, %r10, %r10};", COPY, COMMIT, READ_OWN
    )
    assert (got == 7).all() and "while an asynchronous copy to it is on its way" in run.findings[0].message


def test_of_several_groups_the_last_may_be_on_their_way():
    second = "add.s32 %r7, %r4, 1024;", "cp.async.cg.shared.global [%r7], [%rd1], 16;", COMMIT
    run, got, words = copied(COPY, COMMIT, *second, "cp.async.wait_group 1;", READ_OWN)
    assert run and np.array_equal(got, words)
    run, *_ = copied(
        COPY, COMMIT, *second, "cp.async.wait_group 1;", "ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r7];"
    )
    assert {one.kind for one in run.findings} >= {"race"}
    empty = copied(COPY, COMMIT, COMMIT, COMMIT, "cp.async.wait_group 2;", READ_OWN)  # groups may hold nothing
    assert empty[0] and np.array_equal(empty[1], words)


def test_each_thread_counts_its_own_groups():
    lines = (
        "setp.lt.u32 %p1, %r1, 40;",
        f"@%p1 {COPY}",
        f"@%p1 {COMMIT}",
        f"@!%p1 {COPY}",
        COMMIT,
        "cp.async.wait_group 1;",
        READ_OWN,
    )
    run, got, words = copied(*lines)
    assert np.array_equal(got[:40], words[:40]) and not np.array_equal(got[40:], words[40:])
    assert "race" in {one.kind for one in run.findings}


@pytest.mark.parametrize("width", [4, 8, 16])
def test_bytes_behind_what_is_read_become_zeros(width):
    for many in range(width + 1):
        fill = "mov.u32 %r10, -1;", "st.shared.v4.b32 [%r4], {%r10, %r10, %r10, %r10};"
        copy = f"cp.async.ca.shared.global [%r4], [%rd1], {width}, {many};"
        run, got, words = copied(*fill, copy, COMMIT, WAIT, READ_OWN)
        expected = np.full((64, 16), 0xFF, np.uint8)
        expected[:, :width] = 0
        expected[:, :many] = words.view(np.uint8).reshape(64, 16)[:, :many]
        assert run and np.array_equal(got.view(np.uint8).reshape(64, 16), expected), many


def test_what_is_not_read_may_lie_outside_and_the_rest_may_not():
    run, got, _ = copied(
        "add.s64 %rd1, %rd1, 1048576;", "cp.async.cg.shared.global [%r4], [%rd1], 16, 0;", COMMIT, WAIT, READ_OWN
    )
    assert run and (got == 0).all()
    run, *_ = copied("add.s64 %rd1, %rd1, 16;", COPY, COMMIT, WAIT, READ_OWN)
    assert {one.kind for one in run.findings} == {"out of bounds"} and "thread (63, 0)" in run.findings[0].message
    run, *_ = copied(COPY, COMMIT, WAIT, READ_OWN, shared=63 * 16)
    assert {one.kind for one in run.findings} == {"out of bounds"} and "of shared memory" in run.findings[0].message
    run, *_ = copied("add.s32 %r4, %r4, 4;", COPY, COMMIT, WAIT, "mov.u32 %r10, 0;")
    assert {one.kind for one in run.findings} == {"misaligned"}


def test_copies_are_counted_on_both_sides():
    run, *_ = copied(COPY, COMMIT, WAIT, READ_OWN)
    load, store = (one for one in run.requests if one.text.startswith("cp.async"))
    assert (load.memory, load.act, load.bytes, load.pieces) == ("global", "load", 1024, 32)
    assert (store.memory, store.act, store.bytes, store.pieces, store.fewest) == ("shared", "store", 1024, 8, 8)
    assert run.executed["asynchronous copy"] == 64


@pytest.mark.parametrize(
    "line", ["cp.async.bulk.shared.global [%r4], [%rd1], 16, [%r5];", "cp.async.ca.shared.global [%r4], [%rd1], 12;"]
)
def test_other_copies_are_refused(line):
    with pytest.raises(ptx_machine.PTXError, match=f"line 21 .*{line.split()[0]}"):
        copied(line)
