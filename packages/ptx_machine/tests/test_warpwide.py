"""What a warp's threads do together, against NVIDIA's PTX ISA, whose formulas are unrolled here."""

import ml_dtypes
import numpy as np
import pytest

import ptx_machine
from ptx_machine import PTXError

LANES = range(32)
KERNEL = """.version 8.6
.target sm_90
.address_size 64
.visible .entry together(.param .u64 input, .param .u64 output)
{{
	.reg .pred %p<9>;
	.reg .b32 %r<60>;
	.reg .f32 %f<9>;
	.reg .b64 %rd<9>;
	{declared}
	ld.param.u64 %rd1, [input];
	ld.param.u64 %rd2, [output];
	mov.u32 %r50, %tid.x;
	mul.wide.u32 %rd3, %r50, {taken};
	add.s64 %rd1, %rd1, %rd3;
	mul.wide.u32 %rd4, %r50, {given};
	add.s64 %rd2, %rd2, %rd4;
{body}
	ret;
}}
"""


def together(body, words, many, declared="", threads=None):
    """(run, results uint32 (threads, many)): thread n has row n of `words` in %r0 and so on, its results in %r20 on."""
    words = np.ascontiguousarray(words).view(np.uint32)
    taken = words.shape[1]
    loads = "\n".join(f"ld.global.b32 %r{n}, [%rd1+{4 * n}];" for n in range(taken))
    stores = "\n".join(f"st.global.b32 [%rd2+{4 * n}], %r{20 + n};" for n in range(many))
    text = KERNEL.format(declared=declared, taken=4 * taken, given=4 * many, body=f"{loads}\n{body}\n{stores}")
    run = ptx_machine.run(text, (1,), (threads or len(words),), [words, np.zeros((len(words), many), np.uint32)])
    return run, run.arrays[1]


# ------------------------------------------------------------------------------- shuffles, votes


def by_manual(mode, lane, b, c):
    """(the lane that is read, the predicate), as the manual's pseudo-code of `shfl.sync` has it."""
    bval, cval, mask = b & 31, c & 31, c >> 8 & 31
    most, least = (lane & mask) | (cval & ~mask), lane & mask
    if mode == "up":
        j = lane - bval
        inside = j >= most
    elif mode == "down":
        j = lane + bval
        inside = j <= most
    elif mode == "bfly":
        j = lane ^ bval
        inside = j <= most
    else:
        j = least | (bval & ~mask)
        inside = j <= most
    return (j if inside else lane), inside


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_shuffles(mode):
    values = np.random.default_rng(1).integers(0, 1 << 32, (32, 1), dtype=np.uint64).astype(np.uint32)
    for width in (2, 8, 32):
        c = (32 - width) << 8 | (0 if mode == "up" else 31)
        for b in (0, 1, 3, 7, 16, 31):
            body = f"shfl.sync.{mode}.b32 %r20|%p1, %r0, {b}, {c}, -1;\nselp.b32 %r21, 1, 0, %p1;"
            run, got = together(body, values, 2)
            for lane in LANES:
                source, inside = by_manual(mode, lane, b, c)
                assert got[lane].tolist() == [values[source, 0], inside], (width, b, lane)
            assert run


def test_votes_and_sums_of_threads_that_a_mask_names():
    values = np.random.default_rng(2).integers(0, 1 << 31, (32, 1)).astype(np.uint32)
    body = """
        and.b32 %r1, %r0, 1;
        setp.eq.u32 %p1, %r1, 1;
        setp.lt.u32 %p2, %r50, 12;
        @!%p2 bra others;
        vote.sync.ballot.b32 %r20, %p1, 0x00000FFF;
        redux.sync.add.u32 %r21, %r0, 0x00000FFF;
        redux.sync.min.s32 %r22, %r0, 0x00000FFF;
        vote.sync.any.pred %p3, %p1, 0x00000FFF;
        vote.sync.all.pred %p4, %p1, 0x00000FFF;
        bra.uni both;
    others:
        vote.sync.ballot.b32 %r20, !%p1, 0xFFFFF000;
        redux.sync.xor.b32 %r21, %r0, 0xFFFFF000;
        redux.sync.max.u32 %r22, %r0, 0xFFFFF000;
        vote.sync.uni.pred %p3, %p2, 0xFFFFF000;
        vote.sync.all.pred %p4, %p2, 0xFFFFF000;
    both:
        selp.b32 %r23, 1, 0, %p3;
        selp.b32 %r24, 1, 0, %p4;"""
    run, got = together(body, values, 5)
    values = values[:, 0].astype(np.int64)
    some, others = [sum(int(values[n] & 1) << n for n in range(*part)) for part in ((0, 12), (12, 32))]
    first = [some, values[:12].sum() % 2**32, values[:12].min(), some > 0, some == 0xFFF]
    last = [0xFFFFF000 - others, np.bitwise_xor.reduce(values[12:]), values[12:].max(), 1, 0]
    assert run and (got[:12] == first).all() and (got[12:] == last).all()


def test_who_has_the_same_number():
    values = np.random.default_rng(3).integers(0, 5, (32, 1)).astype(np.uint32)
    body = """
        match.any.sync.b32 %r20, %r0, -1;
        match.all.sync.b32 %r21|%p1, %r0, -1;
        mov.u32 %r1, 7;
        match.all.sync.b32 %r22|%p2, %r1, -1;
        selp.b32 %r23, 1, 0, %p1;
        selp.b32 %r24, 1, 0, %p2;"""
    run, got = together(body, values, 5)
    same = [sum(1 << n for n in LANES if values[n] == values[lane]) for lane in LANES]
    assert run and got[:, 0].tolist() == same and (got[:, 1:] == [0, 0xFFFFFFFF, 0, 1]).all()


def test_a_thread_that_takes_no_part_gives_no_number():
    body = """
        mov.u32 %r20, 1;
        setp.ge.u32 %p1, %r50, 8;
        @%p1 bra end;
        shfl.sync.down.b32 %r20, %r0, 4, 31, 0x000000FF;
        mov.u32 %r21, %r50;
    end:"""
    values = np.arange(32, dtype=np.uint32)[:, None]
    run, got = together(body, values, 1)
    (finding,) = run.findings
    words = ("thread (4, 0) of block (0, 0) asks for the number of thread 8", "and uses it at line")
    assert finding.kind == "uninitialised" and all(one in finding.message for one in words)
    assert got[:4, 0].tolist() == [4, 5, 6, 7] and np.isnan(got[4:8].view(np.float32)).all()


def test_threads_wait_for_those_that_the_mask_names_and_no_others():
    late = """
        mov.u32 %r20, 0;
        setp.eq.u32 %p1, %r50, 5;
        @!%p1 bra meet;
        mov.u32 %r0, 100;
    meet:
        shfl.sync.idx.b32 %r20, %r0, 5, 31, -1;"""
    values = np.arange(32, dtype=np.uint32)[:, None]
    run, got = together(late, values, 1)
    assert run and (got == 100).all()
    some = "setp.lt.u32 %p1, %r50, 5;\n@%p1 exit;\nshfl.sync.idx.b32 %r20, %r0, 9, 31, -1;"
    run, got = together(some, values, 1)  # who has left is not waited for
    assert run and (got[5:] == 9).all() and (got[:5] == 0).all()
    part = "setp.lt.u32 %p1, %r50, 5;\n@%p1 shfl.sync.idx.b32 %r20, %r0, 3, 31, -1;\nbar.sync 0;"
    run, _ = together(part, values, 1)
    assert {one.kind for one in run.findings} == {"divergent barrier"}
    assert "threads of its warp that do not come" in run.findings[0].message


@pytest.mark.parametrize(
    "asks", ["bar.warp.sync {};", "shfl.sync.down.b32 %r20, %r0, 1, 31, {};", "vote.sync.ballot.b32 %r20, %p1, {};"]
)
@pytest.mark.parametrize("mask, outside", [("0xffff", 0), ("0xff", 8), ("0xfffffffe", 1)])
def test_a_thread_is_in_the_mask_that_it_gives(asks, mask, outside):
    """PTX ISA: "The behavior is undefined if the executing thread is not in the membermask"."""
    body = "mov.u32 %r20, 0; setp.eq.u32 %p1, %r0, 0; " + asks.format(mask)
    run, _ = together(body, np.zeros((16, 1)), 1)
    told = [one.message for one in run.findings if one.kind == "error"]
    first = 8 if mask == "0xff" else 0
    text = f"thread ({first}, 0) of block (0, 0) takes part with a mask in which it is not, {mask}"
    assert told == ([text + f" ({outside} times)" * (outside > 1)] if outside else [])


def test_a_barrier_of_a_warp_orders_its_threads_and_no_others():
    body = """
        mov.u32 %r1, words;
        shl.b32 %r2, %r50, 2;
        add.s32 %r3, %r1, %r2;
        xor.b32 %r4, %r2, 4;
        add.s32 %r4, %r1, %r4;
        st.shared.b32 [%r3], %r0;
        {barrier}
        ld.shared.b32 %r20, [%r4];
        ld.shared.b32 %r5, [%r3];
        {second}
        st.shared.b32 [%r3], %r20;"""
    words = np.arange(64, dtype=np.uint32)[:, None]
    shared = ".shared .align 4 .b8 words[256];"
    of_warp, nothing = "bar.warp.sync -1;", ""
    for barrier, second, right in ((of_warp, of_warp, True), (nothing, of_warp, False), (of_warp, nothing, False)):
        run, got = together(body.format(barrier=barrier, second=second), words, 1, shared)
        assert bool(run) == right and {one.kind for one in run.findings} <= {"race"}
    assert np.array_equal(got[:, 0], np.arange(64) ^ 1)
    volatile = body.replace("d.shared", "d.volatile.shared").replace("t.shared", "t.volatile.shared")
    run, _ = together(volatile.format(barrier=nothing, second=of_warp), words, 1, shared)
    assert {one.kind for one in run.findings} == {"race"}  # that a warp goes in step is no promise
    assert together(volatile.format(barrier=of_warp, second=of_warp), words, 1, shared)[0]
    far = body.replace("%r2, 4", "%r2, 128")  # the other warp's
    run, _ = together(far.format(barrier=of_warp, second=of_warp), words, 1, shared)
    assert {one.kind for one in run.findings} >= {"race"}
    run, _ = together(far.format(barrier="bar.sync 0;", second="bar.sync 0;"), words, 1, shared)
    assert run


# ------------------------------------------------------------------------------- matrices


def group(lane):
    return lane >> 2


def in_group(lane):
    return lane % 4


# Of each shape and type: the row and column of element i of A, B and C that a thread holds; from the manual's sections
# "Matrix Fragments for mma.m16n8k4", "m16n8k8", "m16n8k16" and "m16n8k32".
C = (lambda n, i: (group(n) + 8 * (i >= 2), in_group(n) * 2 + (i & 1)), 4)
FRAGMENTS = {
    ("f16", 16): (
        (lambda n, i: (group(n) + 8 * (i & 2 > 0), in_group(n) * 2 + (i & 1) + 8 * (i >= 4)), 8),
        (lambda n, i: (in_group(n) * 2 + (i & 1) + 8 * (i >= 2), group(n)), 4),
    ),
    ("f16", 8): (
        (lambda n, i: (group(n) + 8 * (i >= 2), in_group(n) * 2 + (i & 1)), 4),
        (lambda n, i: (in_group(n) * 2 + i, group(n)), 2),
    ),
    ("tf32", 4): ((lambda n, i: (group(n) + 8 * i, in_group(n)), 2), (lambda n, i: (in_group(n), group(n)), 1)),
    ("tf32", 8): (
        (lambda n, i: (group(n) + 8 * (i & 1), in_group(n) + 4 * (i >= 2)), 4),
        (lambda n, i: (in_group(n) + 4 * i, group(n)), 2),
    ),
    ("s8", 16): (
        (lambda n, i: (group(n) + 8 * (i >= 4), in_group(n) * 4 + (i & 3)), 8),
        (lambda n, i: (in_group(n) * 4 + (i & 3), group(n)), 4),
    ),
    ("s8", 32): (
        (lambda n, i: (group(n) + 8 * (i & 4 > 0), in_group(n) * 4 + (i & 3) + 16 * (i >= 8)), 16),
        (lambda n, i: (in_group(n) * 4 + (i & 3) + 16 * (i >= 4), group(n)), 8),
    ),
}
FRAGMENTS |= {("bf16", depth): FRAGMENTS["f16", depth] for depth in (8, 16)}
FRAGMENTS |= {(kind, depth): FRAGMENTS["s8", depth] for kind in ("u8", "e4m3", "e5m2") for depth in (16, 32)}
BYTES = {"f16": np.float16, "tf32": np.float32, "s8": np.int8, "u8": np.uint8, "s32": np.int32, "f32": np.float32}
BYTES |= {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}


def bits(values, kind):
    """As a register holds them: float32 values that are exact in that type."""
    if kind == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    return values.astype(BYTES[kind])


def held(matrix, fragment):
    """(32, words): what each thread holds of a matrix, as words of its registers."""
    place, many = fragment
    rows, columns = np.moveaxis(np.array([[place(n, i) for i in range(many)] for n in LANES]), -1, 0)
    return np.ascontiguousarray(matrix[rows, columns]).view(np.uint32)


def product(kind, depth, sums, a, b, c):
    """C as `mma.sync` gives it, for matrices of numbers as float64."""
    of_a, of_b = FRAGMENTS[kind, depth]
    words = [held(bits(a, kind), of_a), held(bits(b, kind), of_b), held(bits(c, sums), C)]
    names, at = [], 0
    for some in words:
        names.append(", ".join(f"%r{at + n}" for n in range(some.shape[1])))
        at += some.shape[1]
    of_c = words[2].shape[1]
    to = ", ".join(f"%r{20 + n}" for n in range(of_c))
    name = f"mma.sync.aligned.m16n8k{depth}.row.col.{sums}.{kind}.{kind}.{sums}"
    body = f"{name} {{{to}}}, {{{names[0]}}}, {{{names[1]}}}, {{{names[2]}}};"
    run, got = together(body, np.concatenate(words, axis=1), of_c)
    assert run and run.executed["matrix"] == 32
    result = np.zeros((16, 8), BYTES[sums])
    place, many = C
    for lane in LANES:
        for i, value in enumerate(np.ascontiguousarray(got[lane]).view(BYTES[sums])):
            assert i < many
            result[place(lane, i)] = value
    return result


CASES = [(kind, depth, "s32" if kind in ("s8", "u8") else "f32") for kind, depth in FRAGMENTS]


@pytest.mark.parametrize("kind, depth, sums", [*CASES, ("f16", 8, "f16"), ("f16", 16, "f16")])
def test_matrix_products(kind, depth, sums):
    rng = np.random.default_rng(4)
    low = 0 if kind == "u8" else -8
    a, b, c = rng.integers(low, 8, (16, depth)), rng.integers(low, 8, (depth, 8)), rng.integers(-8, 8, (16, 8))
    if kind == "e5m2":  # which has no 5 and no 7
        a, b = (np.where(np.abs(side) > 4, side // 2 * 2, side) for side in (a, b))
    got = product(kind, depth, sums, *(side.astype(np.float64) for side in (a, b, c)))
    assert np.array_equal(got, a @ b + c)  # exact in every type


def test_what_is_no_number_in_a_matrix_product_stays_so():
    a, b, c = np.ones((16, 16)), np.ones((16, 8)), np.zeros((16, 8))
    a[0, 0], a[1, 1], b[1, 1] = np.inf, np.nan, -np.inf
    got = product("f16", 16, "f32", a, b, c)
    assert got[0, 0] == np.inf and np.isnan(got[0, 1]) and got[2, 1] == -np.inf and got[2, 0] == 16
    assert (got[1].view(np.uint32) == 0x7FFFFFFF).all()


@pytest.mark.parametrize("rows, depth", [(8, 4), (16, 8)])
def test_matrices_of_float64(rows, depth):
    """The manual's pictures: groupID is lane // 4, threadID_in_group lane % 4."""
    rng, lane, high = np.random.default_rng(3), np.arange(32), rows // 8
    a, b, c = rng.standard_normal((rows, depth)), rng.standard_normal((depth, 8)), rng.standard_normal((rows, 8))
    taken = [a[lane // 4 + 8 * (r % high), lane % 4 + 4 * (r // high)] for r in range(rows * depth // 32)]
    taken += [b[lane % 4 + 4 * r, lane // 4] for r in range(depth // 4)]
    taken += [c[lane // 4 + 8 * (r // 2), 2 * (lane % 4) + r % 2] for r in range(2 * high)]
    got = ptx_machine.warpwide.multiply_doubles(rows, depth)(np.ones((1, 32), bool), *(one[None] for one in taken))
    for r, one in enumerate(got):
        exact = (a @ b + c)[lane // 4 + 8 * (r // 2), 2 * (lane % 4) + r % 2]
        assert np.allclose(one[0], exact, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("many", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_matrices_are_loaded_as_the_manual_has_it(many, transposed):
    """Thread n names row n % 8 of matrix n // 8; it gets row n // 4, elements 2 * (n % 4) and the next, of each."""
    rng = np.random.default_rng(6)
    memory = rng.permutation(32 * 8).astype(np.uint16).reshape(32, 8)  # rows of 16 bytes, in the order of threads
    rows = rng.permutation(32)  # where thread n finds the row that it names
    words = np.concatenate([memory.view(np.uint32), rows[:, None].astype(np.uint32)], axis=1)
    to = ", ".join(f"%r{20 + n}" for n in range(many))
    body = f"""
        mov.u32 %r10, tile;
        shl.b32 %r11, %r50, 4;
        add.s32 %r11, %r10, %r11;
        st.shared.v4.b32 [%r11], {{%r0, %r1, %r2, %r3}};
        bar.sync 0;
        shl.b32 %r12, %r4, 4;
        add.s32 %r12, %r10, %r12;
        ldmatrix.sync.aligned.m8n8.x{many}{".trans" * transposed}.shared.b16 {{{to}}}, [%r12];"""
    run, got = together(body, words, many, ".shared .align 16 .b8 tile[512];")
    assert run
    for lane in LANES:
        for matrix in range(many):
            whole = memory[rows[8 * matrix : 8 * matrix + 8]]
            whole = whole.T if transposed else whole
            pair = whole[lane // 4, 2 * (lane % 4) : 2 * (lane % 4) + 2]
            assert np.array_equal(got[lane, matrix : matrix + 1].view(np.uint16), pair), (lane, matrix)
    load = next(one for one in run.requests if one.text.startswith("ldmatrix"))
    assert (load.memory, load.act, load.bytes) == ("shared", "load", many * 128) and load.instructions == 1
    generic = body.replace(".shared.b16", ".b16").replace("[%r12]", "[%rd8]")
    generic = generic.replace("        ldmatrix", "        cvt.u64.u32 %rd8, %r12;\n        ldmatrix")
    run, again = together(generic, words, many, ".shared .align 16 .b8 tile[512];")
    assert run and np.array_equal(again, got)
    run, _ = together(generic.replace("[%rd8]", "[%rd1]"), words, many, ".shared .align 16 .b8 tile[512];")
    assert "out of bounds" in {one.kind for one in run.findings}
    run, _ = together(body.replace("bar.sync 0;", ""), words, many, ".shared .align 16 .b8 tile[512];")
    assert {one.kind for one in run.findings} == {"race"}


@pytest.mark.parametrize("many", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_matrices_are_stored_as_the_manual_has_it(many, transposed):
    """Thread n names row n % 8 of matrix n // 8; it gives elements 2 * (n % 4) and the next of row n // 4 of each."""
    rng = np.random.default_rng(7)
    rows = rng.permutation(32)  # where the row goes that thread n names
    given = rng.permutation(1 << 16)[: 32 * 2 * many].astype(np.uint16).reshape(32, 2 * many)
    words = np.concatenate([given.view(np.uint32), rows[:, None].astype(np.uint32)], axis=1)
    body = f"""
        mov.u32 %r10, tile;
        shl.b32 %r11, %r{many}, 4;
        add.s32 %r11, %r10, %r11;
        shl.b32 %r12, %r50, 4;
        add.s32 %r12, %r10, %r12;
        mov.u32 %r13, 0;
        st.shared.v4.b32 [%r12], {{%r13, %r13, %r13, %r13}};
        bar.sync 0;
        stmatrix.sync.aligned.m8n8.x{many}{".trans" * transposed}.shared.b16
            [%r11], {{{", ".join(f"%r{n}" for n in range(many))}}};
        bar.sync 0;
        ld.shared.v4.b32 {{%r20, %r21, %r22, %r23}}, [%r12];"""
    run, got = together(body, words, 4, ".shared .align 16 .b8 tile[512];")
    assert run
    expected = np.zeros((32, 8), np.uint16)
    for matrix in range(many):
        whole = given[:, 2 * matrix : 2 * matrix + 2].reshape(8, 8)
        expected[rows[8 * matrix : 8 * matrix + 8]] = whole.T if transposed else whole
    assert np.array_equal(got, expected.view(np.uint32))
    store = next(one for one in run.requests if one.text.startswith("stmatrix"))
    assert (store.memory, store.act, store.bytes) == ("shared", "store", many * 128) and store.instructions == 1
    run, _ = together(body.replace("bar.sync 0;\n        ld", "ld"), words, 4, ".shared .align 16 .b8 tile[512];")
    assert {one.kind for one in run.findings} == {"race"}


def test_a_warp_that_is_not_whole_multiplies_no_matrices():
    words = np.zeros((32, 10), np.uint32)
    body = """
        mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r20, %r21, %r22, %r23}, {%r0, %r1, %r2, %r3}, {%r4, %r5},
            {%r6, %r7, %r8, %r9};"""
    assert together(body, words, 4)[0]
    run, _ = together(body, words, 4, threads=20)
    assert {one.kind for one in run.findings} == {"divergent barrier"}


@pytest.mark.parametrize(
    "name",
    [
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%r0}, {%r1}, {%r2}, {%r3}",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r0, %r1}, {%r2, %r3}, {%r4}, {%r5, %r6}",
        "ldmatrix.sync.aligned.m8n16.x1.shared.b16 {%r0}, [%r1]",
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0}, [%r1]",
        "stmatrix.sync.aligned.m16n8.x1.shared.b8 [%r1], {%r0}",
        "shfl.sync.left.b32 %r0, %r1, 1, 31, -1",
        "redux.sync.mul.u32 %r0, %r1, -1",
        "vote.sync.most.pred %p1, %p2, -1",
        "match.some.sync.b32 %r0, %r1, -1",
    ],
)
def test_what_is_not_known_is_refused(name):
    with pytest.raises(PTXError, match=f"line 22 .*{name.split()[0]}"):
        together(f"{name};", np.zeros((32, 4), np.uint32), 1)
