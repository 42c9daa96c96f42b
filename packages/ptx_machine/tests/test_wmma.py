"""Products by `nvcuda::wmma`, as NVIDIA's headers and compiler make them: right in every layout, and watched."""

import ml_dtypes
import numpy as np
import pytest

import ptx_machine
from ptx_machine import PTXError, from_cuda

pytest.importorskip("cuda.bindings.nvrtc")
SOURCE = """
    #include <mma.h>
    #include <cuda_bf16.h>
    using namespace nvcuda;
    template <typename P, typename T, typename S, int M, int N, int K, typename LA, typename LB, wmma::layout_t LC>
    __global__ void product(const T* A, const T* B, const S* C, S* D, int wide_a, int wide_b, int wide_c) {
        __shared__ __align__(32) S held[32 * 40];
        wmma::fragment<wmma::matrix_a, M, N, K, P, LA> a;
        wmma::fragment<wmma::matrix_b, M, N, K, P, LB> b;
        wmma::fragment<wmma::accumulator, M, N, K, S> c;
        wmma::load_matrix_sync(a, A, wide_a);
        wmma::load_matrix_sync(b, B, wide_b);
        wmma::load_matrix_sync(c, C, wide_c, LC);
        for (int i = 0; i < a.num_elements; ++i) a.x[i] = a.x[i] + a.x[i];
        for (int i = 0; i < c.num_elements; ++i) c.x[i] = c.x[i] + c.x[i];
        wmma::mma_sync(c, a, b, c);
        wmma::store_matrix_sync(held, c, 40, LC);
        __syncwarp();
        wmma::load_matrix_sync(c, held, 40, LC);
        wmma::store_matrix_sync(D, c, wide_c, LC);
    }"""
KINDS = {  # of A and B, and of C, in C++ and here
    "half": ("half", "float", np.float16, np.float32),
    "half, half": ("half", "half", np.float16, np.float16),
    "__nv_bfloat16": ("__nv_bfloat16", "float", ml_dtypes.bfloat16, np.float32),
    "wmma::precision::tf32": ("float", "float", np.float32, np.float32),
    "signed char": ("signed char", "int", np.int8, np.int32),
    "unsigned char": ("unsigned char", "int", np.uint8, np.int32),
}
LAYOUTS = (("row", "row", "row"), ("row", "col", "col"), ("col", "row", "col"), ("col", "col", "row"))  # each pair once
SHAPES = ((16, 16, 16), (8, 32, 16), (32, 8, 16))


def stored(matrix, layout, more):
    """A matrix as it lies in memory: by rows or by columns, each with `more` numbers of nobody's behind it."""
    lines = matrix if layout == "row" else matrix.T
    return np.ascontiguousarray(np.pad(lines, ((0, 0), (0, more)), constant_values=7))


def ran(kind, shape, layouts, source=SOURCE):
    """(run, D, D as it should be) of one product."""
    of_ab, of_c, type_ab, type_c = KINDS[kind]
    M, N, K = shape
    rng = np.random.default_rng(4)
    draw = lambda *sides: rng.integers(0 if of_ab[0] == "u" else -4, 5, sides)  # noqa: E731
    A, B, C = draw(M, K).astype(type_ab), draw(K, N).astype(type_ab), draw(M, N).astype(type_c)
    given = [stored(matrix, layout, more) for matrix, layout, more in zip((A, B, C), layouts, (16, 16, 8), strict=True)]
    for matrix in given:
        matrix.flags.writeable = False
    names = (f"wmma::{layouts[0]}_major", f"wmma::{layouts[1]}_major", f"wmma::mem_{layouts[2]}_major")
    kernel = f"product<{kind.split(',')[0]}, {of_ab}, {of_c}, {M}, {N}, {K}, {', '.join(names)}>"
    ptx, lowered = from_cuda(source, kernel)
    args = [*given, np.zeros(given[2].shape, type_c), *(matrix.shape[1] for matrix in given)]
    run = ptx_machine.run(ptx, (1,), (32,), args, lowered[kernel])
    got = run.arrays[3][:, :-8]
    exact = 2 * C.astype(np.float64) + 2 * A.astype(np.float64) @ B.astype(np.float64)
    return run, got if layouts[2] == "row" else got.T, exact


@pytest.mark.parametrize("kind", KINDS)
def test_products_of_every_shape_and_layout_are_exact(kind):
    shapes = [(16, 16, 8)] * 2 if "tf32" in kind else SHAPES
    more = [(SHAPES[0], layouts) for layouts in LAYOUTS[1:] if kind == "half"]
    for shape, layouts in [*zip(shapes, LAYOUTS, strict=False), *more]:
        run, got, exact = ran(kind, shape, layouts)
        assert run, run
        assert np.array_equal(got, exact), (shape, layouts)
        assert (run.arrays[3][:, -8:] == 0).all() and run.executed["matrix"] == 32


def test_what_they_ask_of_memory_is_counted():
    run, *_ = ran("half", (16, 16, 16), ("row", "row", "row"))
    asked = {(one.memory, one.act): one for one in run.requests}
    assert asked["global", "store"].bytes == 16 * 16 * 4
    assert asked["shared", "store"].bytes == asked["shared", "load"].bytes == 16 * 16 * 4
    first = run.requests[0]  # A: 16 rows of 32 bytes, which lie 64 bytes apart
    assert (first.act, first.bytes, first.pieces) == ("load", 16 * 16 * 2, 16)


def test_what_is_wrong_with_them_is_found():
    early = SOURCE.replace("__syncwarp();", "").replace(
        "wmma::store_matrix_sync(D", "c.x[0] = held[40 * (threadIdx.x / 2 ^ 1)];\nwmma::store_matrix_sync(D"
    )
    assert {one.kind for one in ran("half", (16, 16, 16), ("row", "row", "row"), early)[0].findings} == {"race"}
    far = SOURCE.replace("D, c, wide_c", "D, c, wide_c + 8")
    run, *_ = ran("half", (16, 16, 16), ("row", "row", "row"), far)
    assert {one.kind for one in run.findings} == {"out of bounds"} and "thread (" in run.findings[0].message
    back = SOURCE.replace("store_matrix_sync(D,", "store_matrix_sync((S*)C,")
    run, *_ = ran("half", (16, 16, 16), ("row", "row", "row"), back)
    assert {one.kind for one in run.findings} == {"writes to an input"}


@pytest.mark.parametrize(
    "old, new",
    [
        ("m16n16k16.f32.f32", "m16n16k16.f32.f64"),
        ("wmma.store.d", "wmma.store.c"),
    ],
)
def test_others_are_refused(old, new):
    kernel = "product<half, half, float, 16, 16, 16, wmma::row_major, wmma::row_major, wmma::mem_row_major>"
    ptx, names = from_cuda(SOURCE, kernel)
    assert old in ptx
    with pytest.raises(PTXError, match="wmma"):
        ptx_machine.run(ptx.replace(old, new), (1,), (32,), [0] * 7, names[kernel])
