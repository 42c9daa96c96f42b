"""CUDA C++ as NVIDIA's NVRTC compiles it: what PTX by hand and the kernels of `right/` have not."""

import numpy as np
import pytest

import ptx_machine
from ptx_machine import PTXError, from_cuda
from ptx_machine.names import plain_name

pytest.importorskip("cuda.bindings.nvrtc")
RNG = np.random.default_rng(9)
X = RNG.uniform(-1, 1, 1000).astype(np.float32)


def ran(source, kernel, grid, block, *args, **more):
    """The run of a kernel, which must be clean."""
    ptx, names = from_cuda(source, kernel)
    run = ptx_machine.run(ptx, grid, block, list(args), names[kernel], **more)
    assert run, run
    return run


def zeros(size, dtype=np.float32):
    return np.zeros(size, dtype)


def test_float16_and_bfloat16_arrays_and_arguments():
    source = """
        #include <cuda_fp16.h>
        #include <cuda_bf16.h>
        __global__ void both(const __half2* a, __half2* b, __half by, const __nv_bfloat16* c, __nv_bfloat16* d, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i >= n) return;
            b[i] = __hfma2(__half2half2(by), a[i], b[i]);
            d[i] = __float2bfloat16(__bfloat162float(c[i]) * 1.5f);
        }"""
    halves, short = X.astype(np.float16), (X[:500].view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    out = zeros(500, np.uint16)
    run = ran(source, "both", (2,), (256,), halves, np.ones(1000, np.float16), np.float16(0.5), short, out, 500)
    assert np.array_equal(run.arrays[1], (halves.astype(np.float64) * 0.5 + 1).astype(np.float16))
    wide = (short.astype(np.uint32) << np.uint32(16)).view(np.float32) * np.float32(1.5)
    got = (run.arrays[3].astype(np.uint32) << np.uint32(16)).view(np.float32)
    assert (np.abs(got - wide) <= np.abs(wide) * 2.0**-8).all()
    ml_dtypes = pytest.importorskip("ml_dtypes")
    as_ml = short.view(ml_dtypes.bfloat16)
    run = ran(source, "both", (2,), (256,), halves, halves.copy(), np.float16(0.5), as_ml, np.zeros_like(as_ml), 500)
    expected = (as_ml.astype(np.float32) * np.float32(1.5)).astype(ml_dtypes.bfloat16)
    assert np.array_equal(run.arrays[3].astype(np.float32), expected.astype(np.float32))


def test_constants_variables_and_structures():
    source = """
        struct Settings { float scale; int n; double add; };
        __constant__ float weights[5] = {1, 2, 3, 2, 1};
        __device__ int done;
        __global__ void smooth(const float* a, float* b, Settings s) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i >= s.n) return;
            float sum = 0;
            for (int k = -2; k <= 2; ++k) if (i + k >= 0 && i + k < s.n) sum += weights[k + 2] * a[i + k];
            b[i] = s.scale * sum + (float)s.add;
            atomicAdd(&done, 1);
        }"""
    settings = np.array((2, 1000, 0.5), np.dtype("f4, i4, f8"))[()]
    for given in ({}, {"weights": np.array([0, 0, 1, 0, 0], np.float32)}):
        run = ran(source, "smooth", (4,), (256,), X, zeros(1000), settings, variables=given)
        weights = given.get("weights", np.array([1, 2, 3, 2, 1]))
        assert np.allclose(run.arrays[1], 2 * np.convolve(X, weights, "same") + 0.5, atol=1e-5)
    with pytest.raises(
        ValueError, match=r"other, of 4 bytes, is no variable of this PTX; it has .*weights of 20 bytes"
    ):
        ran(source, "smooth", (4,), (256,), X, zeros(1000), settings, variables={"other": zeros(1)})
    with pytest.raises(TypeError, match=r"argument 2 is 7; the kernel takes a structure of 16 bytes there"):
        ran(source, "smooth", (4,), (256,), X, zeros(1000), 7)


def test_atomics_of_every_kind():
    source = """
        __global__ void every(const int* a, int* o, unsigned long long* wide, float* f) {
            int v = a[blockIdx.x * blockDim.x + threadIdx.x];
            atomicMax(o, v); atomicMin(o + 1, v); atomicOr(o + 2, v); atomicAnd(o + 3, v); atomicXor(o + 4, v);
            atomicInc((unsigned*)o + 5, 9); atomicDec((unsigned*)o + 6, 9); atomicSub(o + 7, v);
            atomicAdd(wide, (unsigned long long)v << 30); atomicAdd(f, (float)v); atomicExch(f + 1, 3.f);
            int held = o[8], assumed;
            do { assumed = held; held = atomicCAS(o + 8, assumed, assumed + v); } while (held != assumed);
        }"""
    start = np.array([-1, 1 << 30, 0, -1, 0, 0, 9, 0, 0], np.int32)
    whole = RNG.integers(0, 100, 64).astype(np.int32)
    run = ran(source, "every", (2,), (32,), whole, start, zeros(1, np.uint64), zeros(2))
    n = whole.tolist()
    bits = [np.bitwise_or.reduce(whole), np.bitwise_and.reduce(whole), np.bitwise_xor.reduce(whole)]
    assert run.arrays[1].tolist() == [max(n), min(n), *bits, 64 % 10, (9 - 64) % 10, -sum(n), sum(n)]
    assert run.arrays[2][0] == sum(n) << 30 and run.arrays[3].tolist() == [sum(n), 3]


def test_mathematics_of_doubles():
    source = """
        __global__ void third(const double* x, double* o) {
            double v = x[threadIdx.x];
            o[threadIdx.x] = exp(v) + log(fabs(v) + 1) + sqrt(fabs(v)) / 3 + sin(100 * v) + cbrt(v) + pow(fabs(v), v);
        }"""
    x = X[:64].astype(np.float64)
    run = ran(source, "third", (1,), (64,), x, zeros(64, np.float64))
    by_numpy = np.exp(x) + np.log(abs(x) + 1) + np.sqrt(abs(x)) / 3 + np.sin(100 * x) + np.cbrt(x) + abs(x) ** x
    assert np.allclose(run.arrays[1], by_numpy, rtol=1e-13, atol=1e-13)


def test_the_compilers_fast_mathematics():
    source = """
        __global__ void fast(const float* a, float* b) {
            float v = a[threadIdx.x];
            float w = sinf(v) * expf(v) / (1 + fabsf(v)) + rsqrtf(v * v + 1);
            b[threadIdx.x] = w + __saturatef(3 * v) + powf(v * v, .3f);
        }"""
    ptx, names = from_cuda(source, "fast", options=("--use_fast_math",))
    run = ptx_machine.run(ptx, (1,), (256,), [X[:256].copy(), zeros(256)], names["fast"])
    v = X[:256].astype(np.float64)
    expected = np.sin(v) * np.exp(v) / (1 + abs(v)) + 1 / np.sqrt(v * v + 1) + np.clip(3 * v, 0, 1) + (v * v) ** 0.3
    assert run and np.allclose(run.arrays[1], expected, atol=1e-5) and "ftz" in ptx


def test_a_kernel_that_is_not_there_is_named():
    with pytest.raises(PTXError, match="other"):
        from_cuda("__global__ void f(int* o) { o[0] = 1; }", "other")


def test_a_failed_assertion_is_an_error():
    source = """
        __global__ void f(int* o) {
            printf("%d\\n", threadIdx.x);
            if (o[threadIdx.x] > 2) __assertfail("o is small", "source.cu", 4, "f", 1);
            o[threadIdx.x] = 1;
        }"""
    ptx, names = from_cuda(source, "f")
    run = ptx_machine.run(ptx, (1,), (4,), [np.array([1, 2, 3, 0], np.int32)], names["f"])
    assert [one.kind for one in run.findings] == ["error"] and "thread (2, 0)" in run.findings[0].message


# ------------------------------------------------------------------------------- pointers in structures

POINTERS_INSIDE = """
    struct Range { int from, to; };
    struct Table { float* data; const float* factors; Range range; double add; short step; };
    __global__ void each(Table t, float* out) {
        int i = t.range.from + threadIdx.x;
        if (i < t.range.to) { t.data[i] = t.data[i] * t.factors[0] + (float)t.add; out[i] = t.step; }
    }"""


def table(data, factors, to=5):
    bounds = {"from": np.int32(1), "to": np.int32(to)}
    return {"data": data, "factors": factors, "range": bounds, "add": np.float64(0.5), "step": np.int16(7)}


def test_pointers_inside_a_structure():
    run = ran(POINTERS_INSIDE, "each", (1,), (32,), table(X[:8].copy(), np.float32([2, 3])), zeros(8))
    data, factors, out = run.arrays
    assert np.array_equal(data, np.where(np.isin(range(8), [1, 2, 3, 4]), 2 * X[:8] + np.float32(0.5), X[:8]))
    assert factors.tolist() == [2, 3] and out.tolist() == [0, 7, 7, 7, 7, 0, 0, 0]


def test_a_finding_names_the_member_of_the_structure():
    ptx, names = from_cuda(POINTERS_INSIDE, "each")
    args = [table(X[:8].copy(), np.float32([2]), to=20), zeros(32)]
    run = ptx_machine.run(ptx, (1,), (32,), args, names["each"])
    assert any(one.kind == "out of bounds" and "argument 0.data" in one.message for one in run.findings), run


@pytest.mark.parametrize(
    "given, said",
    [
        (table(X, 5), r"argument 0.factors is 5; a number in a structure needs its type"),
        ({"data": X}, r"argument 0 is of 8 bytes; the kernel takes a structure of 40 bytes there: a dict"),
        (5, r"argument 0 is 5; the kernel takes a structure of 40 bytes there: a dict"),
    ],
)
def test_what_is_no_such_structure(given, said):
    ptx, names = from_cuda(POINTERS_INSIDE, "each")
    with pytest.raises(TypeError, match=said):
        ptx_machine.run(ptx, (1,), (32,), [given, zeros(8)], names["each"])


# ------------------------------------------------------------------------------- files and names

FILE = """
#include <stdio.h>
#include "factor.h"
template <typename T> __global__ void scale(T* x) { x[threadIdx.x] *= FACTOR; }
__global__ void none(float* x) { x[threadIdx.x] = FLT_MAX * of_none(1); }
"""


def test_a_file_finds_the_headers_beside_it_and_any_other_is_empty(tmp_path):
    (tmp_path / "factor.h").write_text("#define FACTOR 3\n")
    (tmp_path / "scale.cu").write_text(FILE.replace("of_none(1)", "1"))
    ptx, names = from_cuda(tmp_path / "scale.cu", "scale<float>", "scale<int>")
    assert {*names} == {"scale<float>", "scale<int>", "none"}
    assert ptx_machine.run(ptx, (1,), (4,), [np.arange(4, dtype=np.int32)], names["scale<int>"]).arrays[0][3] == 9


def test_an_error_in_a_kernel_is_said_with_its_line(tmp_path):
    with pytest.raises(PTXError, match=r'source.cu\(5\): error: identifier "of_none"'):
        from_cuda(FILE)
    with pytest.raises(FileNotFoundError):
        from_cuda(tmp_path / "none.cu")


@pytest.mark.parametrize(
    "mangled, plain",
    [
        ("_Z3addPf", "add"),
        ("_Z5scaleIfLi4EEvPKT_PS0_S0_i", "scale"),
        ("_ZN2ns3addIfLi4EEEvPT_", "ns::add"),
        ("_ZN12_GLOBAL__N_13addEPf", "add"),
        ("_ZL4done", "done"),
        ("_ZZ7productILi16EEvPKfS1_PfiiiE1a", "a"),
        ("_ZZ3addPfE4tile_0", "tile"),
        ("add", "add"),
    ],
)
def test_names_of_cpp(mangled, plain):
    """The right ones are what binutils' c++filt gives, without parameters and arguments of templates."""
    assert plain_name(mangled) == plain
