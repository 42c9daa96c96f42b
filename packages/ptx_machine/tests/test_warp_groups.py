"""Products of warp groups, `wgmma.mma_async`, of matrices that lie in shared memory in each of its layouts.

The layouts here are the manual's "Canonical Layouts", with NVIDIA's own words for a swizzle: 2 ** 4 bytes stay
together, and the bits three above them are added to their place.
"""

import ml_dtypes
import numpy as np
import pytest

import ptx_machine

TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32}
BITS = {0: 0, 1: 3, 2: 2, 3: 1}  # of a swizzle, by its number in a descriptor: of lines of 16, 128, 64 and 32 bytes
KERNEL = """.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 held[];
.visible .entry k(.param .u64 image, .param .u64 descriptors, .param .u64 sums) {
.reg .pred %p<3>; .reg .b32 %i, %n, %s, %t<8>, %a<4>; .reg .f32 %d<128>; .reg .b64 %q, %o, %x, %y<9>;
ld.param.u64 %q, [image]; cvta.to.global.u64 %q, %q;
mov.u32 %i, %tid.x; mov.u32 %s, held;
COPY:
setp.ge.u32 %p1, %i, PIECES;
@%p1 bra COPIED;
mul.wide.u32 %o, %i, 16; add.u64 %o, %o, %q;
ld.global.v4.b32 {%t1, %t2, %t3, %t4}, [%o];
mad.lo.u32 %n, %i, 16, %s;
st.shared.v4.b32 [%n], {%t1, %t2, %t3, %t4};
add.u32 %i, %i, THREADS;
bra COPY;
COPIED:
fence.proxy.async.shared::cta;
bar.sync 0;
ld.param.u64 %x, [descriptors]; cvta.to.global.u64 %x, %x;
FRAGMENTS
setp.ne.u32 %p0, 0, 0;
wgmma.fence.sync.aligned;
PRODUCTS
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
ld.param.u64 %q, [sums]; cvta.to.global.u64 %q, %q;
mov.u32 %i, %tid.x; mul.wide.u32 %o, %i, BYTES; add.u64 %q, %q, %o;
STORES
ret;
}"""


def places(rows, depth, size, swizzle, by_depth, lead, stride):
    """The byte at which element (row, of the depth) lies: int64 (rows, depth). The strides, too, are bytes."""
    line, one = 1 << BITS[swizzle], 16 // size  # pieces of 16 bytes a line, numbers a piece
    row, deep = np.ogrid[:rows, :depth]
    if by_depth:
        piece = deep // one
        place = row % 8 * line * 16 + row // 8 * stride + deep % one * size
        place = place + piece * (16 if swizzle else lead)
    elif swizzle:
        place = row % one * size + row // one % line * 16 + row // (one * line) * lead
        place = place + deep % 8 * line * 16 + deep // 8 * stride
    else:
        place = row % one * size + row // one * stride + deep % 8 * 16 + deep // 8 * lead
    return place ^ (place >> 7 & line - 1) << 4


def laid(matrix, swizzle, by_depth):
    """(the bytes of shared memory that hold a matrix (rows, depth), the strides that its descriptor names)."""
    (rows, depth), size = matrix.shape, matrix.itemsize
    line = 16 << BITS[swizzle]
    if by_depth:
        lead, stride = (rows * 16, 128) if not swizzle else (16, 8 * line)
    elif swizzle:  # lines of one depth beside each other, then those of the next rows
        lead, stride = depth * line, 8 * line
    else:
        lead, stride = 128 * (rows * size // 16), 128
    place = places(rows, depth, size, swizzle, by_depth, lead, stride)
    assert np.unique(place).size == place.size
    image = np.zeros(-(-int(place.max() + size) // 1024) * 1024, np.uint8)
    image[(place[..., None] + np.arange(size)).reshape(-1)] = matrix.reshape(-1, 1).view(np.uint8).reshape(-1)
    return image, lead, stride


def descriptor(start, lead, stride, swizzle):
    return start >> 4 | lead >> 4 << 16 | stride >> 4 << 32 | swizzle << 62


def ran(kind, columns, swizzle, along, in_registers=False, more=0, change=lambda text: text, signs="1, 1"):
    """(run, C, A @ B.T) of a product of A (64, depth) by B (columns, depth), `along` (A's, B's) the depth or not."""
    rng, dtype, threads = np.random.default_rng(columns), TYPES[kind], 128 + more
    size = np.dtype(dtype).itemsize
    depth = max(2, 1 << BITS[swizzle]) * 16 // size
    a, b = (rng.integers(-4, 5, (rows, depth)).astype(dtype) for rows in (64, columns))
    (image_a, *strides_a), (image_b, *strides_b) = laid(a, swizzle, along[0]), laid(b, swizzle, along[1])
    lines = 16 << BITS[swizzle]
    steps, step = depth * size // 32, [32 if by_depth else 2 * 8 * lines for by_depth in along]
    asked = [
        [descriptor(n * step[0], *strides_a, swizzle), descriptor(image_a.size + n * step[1], *strides_b, swizzle)]
        for n in range(steps)
    ]
    sums = ", ".join(f"%d{n}" for n in range(columns // 2))
    ways = "" if kind == "tf32" else ", ".join(["", *(str(int(not one)) for one in along[in_registers:])])
    shape = f"m64n{columns}k{32 // size}.f32.{kind}.{kind}"
    products = "\n".join(
        f"wgmma.mma_async.sync.aligned.{shape} {{{sums}}}, {'{%a0, %a1, %a2, %a3}' if in_registers else f'%y{2 * n}'}, "
        f"%y{2 * n + 1}, %p0, {signs}{ways};\nsetp.eq.u32 %p0, 0, 0;" for n in range(steps)
    )  # fmt: skip
    loads = "\n".join(f"ld.global.u64 %y{n}, [%x+{8 * n}];" for n in range(2 * steps))
    if in_registers:  # thread n of a warp holds rows n // 4 and 8 more, words n % 4 and 4 more
        word = a[:, : 32 // size].copy().view(np.uint32).reshape(4, 2, 8, 2, 4)  # warp, half, row, part, word
        held = np.ascontiguousarray(word.transpose(0, 2, 4, 3, 1).reshape(128, 4))
        steps, products = 1, products.splitlines()[0]
        loads += "\nmov.u32 %i, %tid.x; mul.wide.u32 %o, %i, 16; add.u64 %o, %o, %x;"
        loads += f"\nld.global.v4.b32 {{%a0, %a1, %a2, %a3}}, [%o+{16 * len(asked)}];"
        asked = np.concatenate([np.uint64(asked).ravel(), held.view(np.uint64).ravel()])
        a, b = a[:, : 32 // size], b[:, : 32 // size]
    stores = "\n".join(f"st.global.f32 [%q+{4 * n}], %d{n};" for n in range(columns // 2))
    image = np.concatenate([image_a, image_b])
    text = KERNEL
    for word, value in dict(PIECES=image.size // 16, THREADS=threads, FRAGMENTS=loads, PRODUCTS=products,
                            BYTES=2 * columns, STORES=stores).items():  # fmt: skip
        text = text.replace(word, str(value))
    args = [image, np.uint64(asked).ravel(), np.full((threads, columns // 2), np.nan, np.float32)]
    run = ptx_machine.run(change(text), (2 if more else 1,), (threads,), args, shared=image.size)
    parts = run.arrays[2][:128].reshape(4, 8, 4, columns // 8, 2, 2)  # warp, row, pair, eight columns, half, of a pair
    return run, parts.transpose(0, 4, 1, 3, 2, 5).reshape(64, columns), a.astype(float) @ b.astype(float).T


ALONG = [(True, True), (True, False), (False, True), (False, False)]
CASES = [("f16", 64, swizzle, along) for swizzle in BITS for along in ALONG]
CASES += [("tf32", 64, swizzle, ALONG[0]) for swizzle in BITS]
CASES += [("bf16", 128, 1, ALONG[0]), ("f16", 8, 0, ALONG[3]), ("f16", 8, 1, ALONG[2])]  # other numbers of columns


@pytest.mark.parametrize("kind, columns, swizzle, along", CASES)
def test_products_are_exact_in_every_layout(kind, columns, swizzle, along):
    run, got, exact = ran(kind, columns, swizzle, along)
    assert run, run
    assert np.array_equal(got, exact)


@pytest.mark.parametrize("kind, columns", [("f16", 256), ("tf32", 32)])
def test_a_may_be_held_in_registers(kind, columns):
    run, got, exact = ran(kind, columns, 1, (True, True), in_registers=True)
    assert run, run
    assert np.array_equal(got, exact)


def test_two_blocks_may_have_a_warp_beside_the_group():
    leaves = "setp.ne.u32 %p0, 0, 0;\nmov.u32 %n, %tid.x;\nsetp.ge.u32 %p1, %n, 128;\n@%p1 ret;"
    change = lambda text: text.replace("setp.ne.u32 %p0, 0, 0;", leaves)  # noqa: E731
    run, got, exact = ran("f16", 64, 1, (True, True), more=32, change=change)
    assert run and np.array_equal(got, exact), run


def test_signs_of_both_and_sums_that_are_begun_anew():
    run, got, exact = ran("f16", 64, 1, (True, True), signs="-1, 1")
    assert run and np.array_equal(got, -exact)
    run, got, _ = ran("f16", 64, 1, (True, True), change=lambda text: text.replace("setp.eq.u32 %p0, 0, 0;", ""))
    assert run and not np.array_equal(got, exact)  # of the last step only


def test_what_it_asks_of_shared_memory_is_counted():
    """Of each step 64 rows of A and 64 columns of B, 32 bytes each; a wavefront brings 128 bytes."""
    run, *_ = ran("f16", 64, 1, (True, True))
    read = [one for one in run.requests if one.text.startswith("wgmma")]
    assert [(one.memory, one.act, one.bytes, one.pieces, one.fewest) for one in read] == [
        ("shared", "load", 2 * 64 * 32, 2 * 16, 2 * 16)
    ] * 4
    assert run.executed["matrix"] == 4 * 128 and {run.by_line[one.line] for one in read} == {4}
    plain, *_ = ran("f16", 64, 0, (True, True))
    assert plain.bank_conflicts == 0


FAULTS = {
    "no barrier": (lambda text: text.replace("bar.sync 0;", ""), "race", "wrote"),
    "a warp stays away": (
        lambda text: text.replace("setp.ne.u32 %p0, 0, 0;", "setp.ne.u32 %p0, 0, 0;\nmov.u32 %n, %warpid;\n"
                                  "setp.eq.u32 %p1, %n, 3;\n@%p1 ret;"),
        "divergent barrier", "do not come"),
    "a thread stores where it has read": (
        lambda text: text.replace("wgmma.wait", "mov.u32 %i, %tid.x;\nsetp.lt.u32 %p1, %i, 8;\n"
                                  "mad.lo.u32 %n, %i, 144, %s;\n@%p1 st.shared.b32 [%n], %i;\nwgmma.wait"),
        "race", "wrote"),
    "shared memory that nobody wrote": (lambda text: text.replace("st.shared.v4", "@%p1 st.shared.v4"),
                                        "uninitialised", "no thread has written"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault):
    change, kind, said = FAULTS[fault]
    run, *_ = ran("f16", 64, 1, (True, True), change=change)
    assert any(one.kind == kind and said in one.message and "wgmma" in one.text for one in run.findings), run


@pytest.mark.parametrize(
    "old, new",
    [
        (".f32.f16.f16", ".f16.f16.f16"),
        ("m64n64k16", "m64n60k16"),
        ("m64n64k16", "m64n64k8"),
        ("%p0, 1, 1, 0, 0", "%p0, 1, 1, 0"),
        ("%p0, 1, 1, 0, 0", "%p0, 2, 1, 0, 0"),
        ("wgmma.mma_async.sync", "wgmma.mma_async.sp.sync"),
    ],
)
def test_other_forms_are_refused_with_their_line(old, new):
    with pytest.raises(ptx_machine.PTXError, match=r"line \d+ of the PTX.*wgmma"):
        ran("f16", 64, 1, (True, True), change=lambda text: text.replace(old, new, 1))


def test_a_second_array_of_shared_memory_is_refused():
    """A descriptor has only 18 bits of an address, and arrays lie further apart here."""

    def change(text):
        return text.replace("bar.sync 0;", "st.shared.b32 [other], 0;\nbar.sync 0;").replace(
            ".visible", ".shared .align 4 .b8 other[64];\n.visible"
        )

    with pytest.raises(ptx_machine.PTXError, match=r"2 arrays there.*Make them one"):
        ran("f16", 64, 1, (True, True), change=change)
