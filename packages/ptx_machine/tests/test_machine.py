"""The machine on programs written by hand: what they compute, what is counted, and what is found."""

import numpy as np
import pytest

import ptx_machine
from ptx_machine import machine

HEAD = """.version 8.0
.target sm_80
.address_size 64
"""
BY_HAND = """
.visible .entry by_hand(.param .u64 input, .param .u64 output)
{{
	.reg .pred %p<9>;
	.reg .f32 %f<9>;
	.reg .b16 %rs<9>;
	.reg .b32 %r<9>;
	.reg .b64 %rd<9>;
	ld.param.u64 %rd1, [input];
	ld.param.u64 %rd2, [output];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, 4;
	add.s64 %rd1, %rd1, %rd3;
	add.s64 %rd2, %rd2, %rd3;
{body}
	st.global.f32 [%rd2], %f1;
	ret;
}}
"""


def by_hand(body, threads=32, more="", blocks=1, limit=100_000):
    """(run, the output, the input): thread x has an input at %rd1, and its %f1 becomes the output."""
    a = np.random.default_rng(4).random(threads, np.float32)
    a.flags.writeable = False
    args, names = [a, np.full(threads, np.nan, np.float32)], {0: "a", 1: "out"}
    text = HEAD + more + BY_HAND.format(body=body)
    run = ptx_machine.run(text, (blocks,), (threads,), args, "by_hand", names, limit)
    return run, run.arrays[1], a


def kinds(run):
    return {finding.kind for finding in run.findings}


# ------------------------------------------------------------------------------- paths


def test_threads_that_part_meet_again_and_guards_hold():
    run, out, a = by_hand("""
        and.b32 %r2, %r1, 1;
        setp.eq.u32 %p1, %r2, 0;
        mov.f32 %f2, 0f3F800000;
        @!%p1 bra odd;
        mov.f32 %f2, 0f40000000;
        bra.uni both;
    odd:
        mov.f32 %f2, 0f40400000;
    both:
        ld.global.f32 %f1, [%rd1];
        mul.f32 %f1, %f1, %f2;
        @%p1 add.f32 %f1, %f1, 0f3F800000;
        @!%p1 neg.f32 %f1, %f1;""")
    odd = np.arange(32) % 2 == 1
    assert run and np.array_equal(out, np.where(odd, -3 * a, 2 * a + np.float32(1)))
    assert [one.instructions for one in run.requests] == [1, 1]  # the warp's threads load and store together
    assert run.executed["other float"] == 32 + 16 + 16 and run.executed["branch"] == 32 + 16 + 32


@pytest.mark.parametrize("way", ["@%p1 bra both", "brx.idx %r3, ways"])
@pytest.mark.parametrize("wide", [4, 4096])  # threads, whose arithmetic is done in another way
def test_threads_meet_again_in_the_middle_of_arithmetic(monkeypatch, way, wide):
    monkeypatch.setattr(machine, "WIDE", wide)
    run, out, _ = by_hand(f"""
        setp.lt.u32 %p1, %r1, 9;
        selp.u32 %r3, 1, 0, %p1;
    ways: .branchtargets few, both;
        {way};
    few:
        add.u32 %r1, %r1, 100;
    both:
        cvt.rn.f32.u32 %f1, %r1;
        neg.f32 %f1, %f1;""")
    assert run and np.array_equal(-out, np.arange(32) + 100 * (np.arange(32) >= 9))
    assert {*run.by_line.values()} == {1}  # the warp does each line once
    assert run.executed["integer arithmetic"] == 4 * 32 + 32 + 23 and run.executed["other float"] == 2 * 32


def test_a_line_counts_for_the_warps_that_do_it():
    run, _, _ = by_hand(
        """
        shr.u32 %r2, %r1, 5;
        setp.eq.u32 %p1, %r2, 1;
        mov.f32 %f1, 0f00000000;
        @%p1 bra over;
        neg.f32 %f1, %f1;
    over:""",
        threads=96,
    )
    assert run and sorted(run.by_line.values()) == [2, *[3] * (len(run.by_line) - 1)]  # the first and the last


def test_each_thread_leaves_a_loop_when_it_is_done():
    run, out, a = by_hand(
        """
        mov.u32 %r2, 0;
        mov.f32 %f1, 0f00000000;
    again:
        ld.global.f32 %f2, [%rd1];
        fma.rn.f32 %f1, %f2, 0f40000000, %f1;
        add.s32 %r2, %r2, 1;
        setp.le.u32 %p1, %r2, %r1;
        @%p1 bra again;""",
        threads=40,
    )
    times = np.arange(1, 41)
    assert run and run.executed["FMA"] == times.sum() and np.allclose(out, 2 * a * times)
    load, store = run.requests
    assert (load.instructions, store.instructions) == (32 + 40, 2)  # two warps
    assert (load.bytes, store.bytes) == (4 * times.sum(), 160)


def test_an_endless_loop_is_a_hang_and_a_trap_an_error():
    run, out, _ = by_hand("again: bra again;", limit=50)
    (hang,) = run.findings
    assert hang.kind == "hang" and hang.text == "bra again" and np.isnan(out).all()
    assert "nothing changes any more" in hang.message
    run, out, _ = by_hand("setp.ge.u32 %p1, %r1, 30;\n@%p1 exit;\nmov.f32 %f1, 0f00000000;")
    assert run and run.executed["branch"] == 2 + 30 and np.count_nonzero(np.isnan(out)) == 2
    run, out, _ = by_hand("setp.ge.u32 %p1, %r1, 30;\n@%p1 trap;\nmov.f32 %f1, 0f00000000;")
    (error,) = run.findings
    assert error.kind == "error" and error.message == "thread (30, 0) of block (0, 0) gives up (2 times)"
    assert np.isnan(out).tolist() == [False] * 30 + [True] * 2


def test_a_barrier_holds_a_block_until_all_have_come():
    body = """
        .shared .align 4 .b8 here[256];
        ld.global.f32 %f1, [%rd1];
        mov.u64 %rd4, here;
        add.s64 %rd5, %rd4, %rd3;
        st.shared.f32 [%rd5], %f1;
        bar.sync 0;
        xor.b32 %r2, %r1, 63;
        mul.wide.u32 %rd6, %r2, 4;
        add.s64 %rd4, %rd4, %rd6;
        ld.shared.f32 %f1, [%rd4];"""
    run, out, a = by_hand(body, threads=64)
    assert run and np.array_equal(out, a[::-1]) and run.executed["barrier"] == 64
    assert (run.moved("shared"), run.wavefronts, run.bank_conflicts) == ("256 bytes loaded, 256 stored", 4, 0)
    run, _, _ = by_hand(body.replace("bar.sync 0;", ""), threads=64)
    (race,) = run.findings
    assert race.kind == "race" and race.text == "ld.shared.f32 %f1, [%rd4]" and race.line == 28
    assert "element 63 of here" in race.message and race.message.endswith("(64 times)") and race.times == 64
    later, earlier = race.accesses
    assert (later.act, earlier.act, later.arrays, earlier.memory) == ("load", "store", ("here",), "shared")
    assert [*later.threads, *earlier.threads] == [0, 63] and [*later.offsets, *earlier.offsets] == [252, 252]
    assert later.line == race.line and earlier.line == race.other and not race.several
    some = body.replace("bar.sync", "setp.lt.u32 %p1, %r1, 60;\n@%p1 bar.sync")
    run, _, _ = by_hand(some + "\nbar.sync 0;", threads=64)
    (divergent,) = (one for one in run.findings if one.kind == "divergent barrier")
    assert divergent.message == (
        "only 60 of the 64 threads of block (0, 0) reach this barrier; 4 wait at line 30 of the PTX"
    )
    run, _, _ = by_hand(body.replace("st.shared.f32 [%rd5], %f1;", ""), threads=64)
    assert kinds(run) == {"uninitialised"} and np.isnan(run.arrays[1]).all()


# ------------------------------------------------------------------------------- memory


def test_a_shared_array_is_checked_and_what_memory_an_address_means():
    run, out, a = by_hand("""
        .shared .align 8 .b8 here[128];
        .local .align 4 .b8 mine[8];
        ld.global.f32 %f1, [%rd1];
        mov.u64 %rd4, here;
        add.s64 %rd4, %rd4, %rd3;
        st.f32 [%rd4], %f1;
        bar.sync 0;
        mov.u64 %rd5, mine;
        ld.shared.v2.f32 {%f1, %f2}, [here+8];
        st.v2.f32 [%rd5], {%f1, %f2};
        ld.local.f32 %f1, [%rd5+4];""")
    assert run and (out == a[3]).all() and run.moved("shared") == "256 bytes loaded, 128 stored"
    for wrong, kind, words in (
        ("here+4", "misaligned", "moves 8 bytes at no multiple of 8"),
        ("here+128", "out of bounds", "loads 8 bytes outside every array of shared memory, 0 bytes past the end"),
        ("here+-8", "out of bounds", "memory, 8 bytes before here (32 times)"),
    ):
        run, out, _ = by_hand(f"""
        .shared .align 8 .b8 here[128];
        ld.shared.v2.f32 {{%f1, %f2}}, [{wrong}];""")
        found = {finding.kind: finding.message for finding in run.findings}
        assert words in found[kind] and found[kind].startswith("thread (0, 0) of block (0, 0) "), found
        assert np.isnan(out).all()
    run, _, _ = by_hand("""
        .shared .align 8 .b8 here[128];
        mov.u64 %rd4, here;
        cvt.u64.u32 %rd5, %r1;
        add.s64 %rd4, %rd4, %rd5;
        ld.shared.f32 %f1, [%rd4];""")
    said = [finding.message for finding in run.findings if finding.kind == "misaligned"]
    assert said == ["thread (1, 0) of block (0, 0) moves 4 bytes at no multiple of 4 (24 times)"]


def test_addresses_of_several_memories_may_stand_in_one_instruction():
    run, out, a = by_hand("""
        .shared .align 4 .b8 here[128];
        mov.u64 %rd4, here;
        mov.f32 %f1, 0f40E00000;
        setp.eq.u32 %p1, %r1, 0;
        @%p1 st.shared.f32 [%rd4], %f1;
        selp.b64 %rd4, %rd4, %rd1, %p1;
        ld.f32 %f1, [%rd4];""")
    assert run and out[0] == 7 and np.array_equal(out[1:], a[1:])


def test_a_race_of_several_threads_names_none_with_itself():
    run, _, _ = by_hand(
        """
        .shared .align 4 .b8 here[4];
        ld.global.f32 %f1, [%rd1];
        mov.u64 %rd4, here;
        setp.eq.u32 %p1, %r1, 0;
        @%p1 st.shared.f32 [%rd4], %f1;
        bar.sync 0;
        ld.shared.f32 %f2, [%rd4];
        setp.eq.u32 %p1, %r1, 31;
        @%p1 st.shared.f32 [%rd4], %f1;""",
        threads=64,
    )
    (race,) = run.findings
    assert "thread (31, 0) of block (0, 0) writes element 0 of here, which another thread than (31, 0)" in race.message


def test_stores_to_global_memory_are_watched():
    store, first = "st.global.f32 [%rd2], %f1;\n", "mov.u64 %rd4, %rd2;\nsub.s64 %rd2, %rd2, %rd3;\n"
    load = "ld.global.f32 %f1, [%rd1];\n"
    run, out, a = by_hand(load + store)
    assert run and (run.stores[1] == 2).all() and not run.stores[0].any() and np.array_equal(out, a)
    run, out, _ = by_hand(load + first)  # all threads store to one element
    assert "writes out[0], which thread" in run.findings[0].message and kinds(run) == {"race"}
    assert run.stores[1].tolist() == [32] + [0] * 31
    pairs = "setp.gt.u32 %p1, %r1, 5;\nand.b32 %r2, %r1, 1;\nsetp.eq.and.u32 %p1, %r2, 0, %p1;\n"
    run, *_ = by_hand(load + store + pairs + "@%p1 st.global.v2.f32 [%rd2], {%f1, %f1};\n")
    assert run.findings[0].message.startswith("thread (6, 0) of block (0, 0) writes out[7], which thread (7, 0)"), run
    run, out, _ = by_hand("mov.f32 %f1, 0f3F800000;\n" + first)  # all store the same
    assert run and out[0] == 1
    run, _, _ = by_hand("mov.f32 %f1, 0f3F800000;\n" + first + "ld.global.f32 %f2, [%rd2];")  # but somebody has read it
    assert kinds(run) == {"race"}
    run, _, _ = by_hand(load + first + "ld.global.f32 %f2, [%rd2];", blocks=2, threads=1)
    assert kinds(run) == {"race"}  # blocks have no order
    run, out, a = by_hand(load + "st.global.f32 [%rd1], %f1;")
    (finding,) = run.findings
    assert (finding.kind, finding.text) == ("writes to an input", "st.global.f32 [%rd1], %f1")
    assert finding.message == "thread (0, 0) of block (0, 0) stores to a (32 times)" and not run.stores[0].any()
    run, out, _ = by_hand(load + "add.s64 %rd2, %rd2, 4;")
    (finding,) = run.findings
    assert finding.kind == "out of bounds" and finding.message.startswith("thread (31, 0)") and np.isnan(out[0])
    (access,) = finding.accesses
    assert (access.arrays, access.act, [*access.threads], [*access.offsets]) == (("out",), "store", [31], [128])
    assert finding.message.endswith("stores 4 bytes outside every array of global memory, 0 bytes past the end of out")


def test_atomic_additions_are_no_race_and_count_as_one_store():
    more = "ld.global.f32 %f1, [%rd1];\nsub.s64 %rd4, %rd2, %rd3;\nred.global.add.f32 [%rd4], %f1;\nret;"
    text, a = HEAD + BY_HAND.format(body=more), np.arange(40, dtype=np.float32)
    run = ptx_machine.run(text, (2,), (20,), [a[:20].copy(), np.zeros(20, np.float32)])
    assert run and run.arrays[1].tolist() == [2 * sum(range(20))] + [0] * 19 and run.executed["atomic"] == 40
    assert run.stores[1].tolist() == [1] + [0] * 19 and run.requests[1].act == "atomic"


def test_parts_of_a_word_are_told_apart():
    """Single bytes: two threads may write to one word, and a race is seen by the byte."""
    text = (
        HEAD
        + """
    .entry bytes(.param .u64 in, .param .u64 out, .param .u32 apart)
    {
        .reg .b16 %rs<3>; .reg .b32 %r<4>; .reg .b64 %rd<6>;
        ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; ld.param.u32 %r2, [apart];
        mov.u32 %r1, %tid.x; cvt.u64.u32 %rd3, %r1; add.s64 %rd1, %rd1, %rd3;
        mul.lo.u32 %r3, %r1, %r2; cvt.u64.u32 %rd4, %r3; add.s64 %rd2, %rd2, %rd4;
        ld.global.s8 %rs1, [%rd1]; neg.s16 %rs2, %rs1; st.global.u8 [%rd2], %rs2;
        ret;
    }"""
    )
    values = np.array([-3, 5, 127, -128, 0, 1], np.int8)
    run = ptx_machine.run(text, (1,), (6,), [values, np.zeros(6, np.int8), 1])
    assert run and np.array_equal(run.arrays[1], -values) and run.stores[1].tolist() == [1] * 6
    run = ptx_machine.run(text, (1,), (6,), [values, np.zeros(6, np.int8), 0])
    assert kinds(run) == {"race"} and "argument 1[0]" in run.findings[0].message


# ------------------------------------------------------------------------------- launches

PLACES = (
    HEAD
    + """
.entry places(.param .u64 out)
{
    .reg .b32 %r<13>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, %tid.z;
    mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ctaid.y; mov.u32 %r5, %ctaid.z;
    mov.u32 %r6, %ntid.x; mov.u32 %r7, %ntid.y; mov.u32 %r8, %nctaid.x; mov.u32 %r9, %nctaid.y;
    // The number of the thread among all threads of all blocks, and then a number that names its six places.
    mad.lo.u32 %r10, %r5, %r9, %r4; mad.lo.u32 %r10, %r10, %r8, %r3;
    mov.u32 %r11, %ntid.z; mul.lo.u32 %r11, %r11, %r7; mul.lo.u32 %r11, %r11, %r6; mul.lo.u32 %r10, %r10, %r11;
    mad.lo.u32 %r12, %r2, %r7, %r1; mad.lo.u32 %r12, %r12, %r6, %r0; add.u32 %r10, %r10, %r12;
    mul.wide.u32 %rd2, %r10, 4; add.s64 %rd1, %rd1, %rd2;
    mad.lo.u32 %r0, %r2, 100, %r0; mad.lo.u32 %r0, %r1, 10, %r0; mad.lo.u32 %r0, %r5, 100000, %r0;
    mad.lo.u32 %r0, %r4, 10000, %r0; mad.lo.u32 %r0, %r3, 1000, %r0;
    st.global.u32 [%rd1], %r0;
    ret;
}"""
)


@pytest.mark.parametrize("grid, block", [((3,), (5,)), ((2, 3), (4, 2)), ((2, 3, 2), (4, 2, 3))])
def test_threads_and_blocks_along_one_two_and_three_axes(grid, block):
    sides = [(*side, 1, 1)[:3] for side in (block, grid)]
    x, y, z, cx, cy, cz = np.meshgrid(*map(np.arange, (*sides[0], *sides[1])), indexing="ij")
    value = x + 10 * y + 100 * z + 1000 * cx + 10_000 * cy + 100_000 * cz
    expected = value.transpose(5, 4, 3, 2, 1, 0).ravel()
    run = ptx_machine.run(PLACES, grid, block, [np.zeros(expected.size, np.uint32)])
    assert run and np.array_equal(run.arrays[0], expected)
    run = ptx_machine.run(PLACES, grid, block, [np.zeros(expected.size - 1, np.uint32)])
    (finding,) = run.findings
    last = [", ".join(str(n - 1) for n in (*side, 1)[: max(2, len(side))]) for side in (block, grid)]
    assert finding.message.startswith(f"thread ({last[0]}) of block ({last[1]}) stores")


def test_arguments_of_any_type_by_position():
    text = (
        HEAD
        + """
    .entry mixed(.param .u64 .ptr .global .align 4 out, .param .f32 x, .param .f64 y, .param .s32 n, .param .b32 bits,
                 .param .u8 small, .param .align 4 .u64 long)
    {
        .reg .b16 %rs<2>; .reg .b32 %r<3>; .reg .f32 %f<4>; .reg .f64 %fd<3>; .reg .b64 %rd<4>;
        ld.param.u64 %rd1, [out]; ld.param.f32 %f1, [x]; ld.param.f64 %fd1, [y]; ld.param.u32 %r1, [n];
        ld.param.b32 %r2, [bits]; ld.param.u8 %rs1, [small]; ld.param.u64 %rd2, [long];
        st.global.f32 [%rd1], %f1; st.global.f64 [%rd1+8], %fd1; st.global.u32 [%rd1+16], %r1;
        st.global.b32 [%rd1+20], %r2; st.global.u16 [%rd1+24], %rs1; st.global.u64 [%rd1+32], %rd2;
        ret;
    }"""
    )

    def given(*args):
        run = ptx_machine.run(text, (1,), (1,), [np.zeros(40, np.uint8), *args])
        return run.arrays[0]

    out = given(1.5, np.float32(-2), -7, np.float32(0.1), 200, 2**64 - 1)
    read = [out[a:b].view(kind)[0] for a, b, kind in ((0, 4, "f4"), (8, 16, "f8"), (16, 20, "i4"), (20, 24, "f4"),
                                                      (24, 26, "u2"), (32, 40, "u8"))]  # fmt: skip
    assert read == [1.5, -2, -7, np.float32(0.1), 200, 2**64 - 1]
    assert given(2, 3, np.uint8(4), True, 0, 0)[:4].view("f4") == 2
    fine = [1.5, 2.5, -7, 0, 200, 1]
    for position, wrong, error, words in (
        (2, "1", TypeError, "argument 2 \\(y\\) is '1'; the kernel takes a number of type .f64 there"),
        (3, 1.5, TypeError, "argument 3 \\(n\\) is 1.5; the kernel takes a number of type .s32"),
        (3, 1 << 32, ValueError, "argument 3 \\(n\\) is 4294967296, which has no place"),
        (3, -(1 << 31) - 1, ValueError, "argument 3"),
        (4, np.float64(0.1), TypeError, "argument 4"),
        (4, 0.1, TypeError, "argument 4"),
        (5, -129, ValueError, "argument 5"),
        (1, np.zeros(2), TypeError, "argument 1 \\(x\\) is an array; the kernel takes a number of type .f32"),
    ):
        with pytest.raises(error, match=words):
            given(*[wrong if place == position else value for place, value in enumerate(fine, 1)])
    with pytest.raises(TypeError, match="mixed takes 7 arguments; 2 are given"):
        given(1.5)


def test_the_same_array_twice_is_one_and_the_callers_stay_as_they_are():
    text = (
        HEAD
        + """
    .entry twice(.param .u64 a, .param .u64 b)
    {
        .reg .f32 %f<3>; .reg .b64 %rd<3>;
        ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];
        mov.f32 %f1, 0f40000000; st.global.f32 [%rd1], %f1; ld.global.f32 %f2, [%rd2+4]; st.global.f32 [%rd2], %f2;
        ret;
    }"""
    )
    a = np.array([[1], [5]], np.float32)
    run = ptx_machine.run(text, (1,), (1,), [a, a])
    assert len(run.arrays) == 1 and run.arrays[0].tolist() == [[5], [5]] and run.stores[0].tolist() == [[2], [0]]
    run = ptx_machine.run(text, (1,), (1,), [a, a.copy()])
    assert [one.tolist() for one in run.arrays] == [[[2], [5]], [[5], [5]]] and a.tolist() == [[1], [5]]
    with pytest.raises(ValueError, match="argument 0 is an array of Python objects"):
        ptx_machine.run(text, (1,), (1,), [np.array([object()]), a])


@pytest.mark.parametrize(
    "more, error, words",
    [
        ({"grid": 4}, TypeError, "grid=4; give a tuple of one to three integers"),
        ({"grid": (1, 0)}, ValueError, r"grid=\(1, 0\); give a tuple"),
        ({"block": (1, 1, 1, 1)}, ValueError, "block="),
        ({"block": (1.0,)}, TypeError, "block="),
        ({"block": ()}, ValueError, "block="),
        ({"block": (32, 33)}, ValueError, "has 1056 threads; a block has 1024 at most"),
    ],
)
def test_what_is_no_launch_is_refused(more, error, words):
    launch = {"grid": (1,), "block": (1,), "args": [np.zeros(1, np.uint32)]} | more
    with pytest.raises(error, match=words):
        ptx_machine.run(PLACES, **launch)


def test_many_blocks_run_one_after_the_other_with_the_same_result(monkeypatch):
    monkeypatch.setattr("ptx_machine.launch.LANES", 16)  # two blocks at a time
    run = ptx_machine.run(PLACES, (3, 3), (4, 2), [np.zeros(72, np.uint32)])
    assert run and (run.stores[0] == 1).all() and run.arrays[0][-1] == 22013
    assert run.executed["global store"] == 72 and run.requests[0].instructions == 9
    # A block of eight threads is a warp of its own.
    assert 8 * sum(run.by_line.values()) == run.instructions and run.by_line[run.requests[0].line] == 9
    uncounted = ptx_machine.run(PLACES, (3, 3), (4, 2), [np.zeros(72, np.uint32)], requests=False)
    assert uncounted.requests == () and uncounted.executed == run.executed
    assert np.array_equal(uncounted.arrays, run.arrays) and np.array_equal(uncounted.stores, run.stores)


def test_a_run_adds_up_what_its_lines_asked_for():
    rows = [("global", "load", 8, 100, 32, 8), ("shared", "load", 10, 7, 25, 10), ("shared", "store", 4, 3, 9, 4)]
    rows += [("shared", "atomic", 2, 2, 2, 2), ("global", "store", 1, 5, 1, 1)]
    requests = tuple(ptx_machine.Requests(number, "", *row, 0, 0) for number, row in enumerate(rows))
    run = ptx_machine.Run((), (), {"FMA": 64, "branch": 32, "other": 0}, {}, requests, ())
    assert (run.sectors, run.wavefronts, run.bank_conflicts, run.instructions) == (33, 36, 20, 96)
    assert repr(run).splitlines() == [
        "              64  FMA",
        "              32  branch",
        "  global: 100 bytes loaded, 5 stored, 33 sectors",
        "  shared: 7 bytes loaded, 3 stored, 36 wavefronts, 20 of them for conflicts",
        "  no finding",
    ]
    wrong = (ptx_machine.Finding("race", "two threads", 3, "ld"), ptx_machine.Finding("unwritten", "never"))
    run = ptx_machine.Run((), (), {}, {}, (), wrong)
    assert not run and "shared" not in repr(run) and "no finding" not in repr(run)
    assert repr(run).endswith("\n  race: two threads\n    line 3 of the PTX: ld\n  unwritten: never")
