"""CUDA C++ of many kinds, compiled by NVIDIA's NVRTC and run with no GPU: right, counted, clean."""

import numpy as np
import pytest

import ptx_machine
from ptx_machine import PTXError, from_cuda

pytest.importorskip("cuda.bindings.nvrtc")
RNG = np.random.default_rng(9)
X = RNG.uniform(-1, 1, 1000).astype(np.float32)
WHOLE = RNG.integers(0, 100, 1000).astype(np.int32)


def ran(source, kernel, grid, block, *args, **more):
    """The run of a kernel, which must be clean."""
    ptx, names = from_cuda(source, kernel)
    run = ptx_machine.run(ptx, grid, block, list(args), names[kernel], **more)
    assert run, run
    return run


def zeros(size, dtype=np.float32):
    return np.zeros(size, dtype)


# ------------------------------------------------------------------------------- six kinds


def test_templates():
    source = """
        template <typename T, int N> __global__ void scale(const T* a, T* b, T by, int n) {
            int first = (blockIdx.x * blockDim.x + threadIdx.x) * N;
            #pragma unroll
            for (int k = 0; k < N; ++k) if (first + k < n) b[first + k] = a[first + k] * by;
        }"""
    run = ran(source, "scale<float, 4>", (2,), (128,), X, zeros(1000), 2.5, 1000)
    assert np.array_equal(run.arrays[1], X * np.float32(2.5)) and run.executed["other float"] == 1000
    run = ran(source, "scale<short, 2>", (4,), (128,), WHOLE.astype(np.int16), zeros(1000, np.int16), -3, 1000)
    assert np.array_equal(run.arrays[1], WHOLE * -3)
    run = ran(source, "scale<double, 1>", (8,), (128,), X.astype(np.float64), zeros(1000, np.float64), 0.1, 1000)
    assert np.array_equal(run.arrays[1], X.astype(np.float64) * 0.1)


def test_float4():
    source = """
        __global__ void turn(const float4* a, float4* b, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) { float4 v = a[i]; b[i] = make_float4(v.w, -v.z, v.y + 1, v.x * v.w); }
        }"""
    run = ran(source, "turn", (2,), (128,), X, zeros(1000), 250)
    v = X.reshape(-1, 4).T
    expected = np.stack([v[3], -v[2], v[1] + np.float32(1), v[0] * v[3]], axis=1)
    assert np.array_equal(run.arrays[1].reshape(-1, 4), expected)
    assert run.executed["global load"] == run.executed["global store"] == 250  # of 16 bytes each
    assert run.total("bytes", "global") == 8000 and run.sectors == 250


def test_shuffles_and_votes():
    source = """
        __global__ void total(const float* a, float* out, int* odd, int n) {
            __shared__ float parts[32];
            float v = 0;
            int seen = 0;
            for (int i = threadIdx.x; i < (n + 31) / 32 * 32; i += blockDim.x) {
                v += i < n ? a[i] : 0.f;
                seen += __popc(__ballot_sync(~0u, i < n && a[i] > 0));
            }
            for (int d = 16; d; d >>= 1) v += __shfl_down_sync(~0u, v, d);
            if (threadIdx.x % 32 == 0) { parts[threadIdx.x / 32] = v; atomicAdd(odd, seen); }
            __syncthreads();
            if (threadIdx.x < 32) {
                v = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0.f;
                for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
                if (threadIdx.x == 0) *out = v;
            }
        }"""
    run = ran(source, "total", (1,), (256,), X, zeros(1), zeros(1, np.int32), 1000)
    assert abs(run.arrays[1][0] - X.sum(dtype=np.float64)) < 1e-4 and run.arrays[2][0] == (X > 0).sum()
    assert run.executed["atomic"] == 8


def test_dynamic_shared_memory():
    source = """
        extern __shared__ float held[];
        __global__ void reverse(const float* a, float* b, int n) {
            held[threadIdx.x] = a[threadIdx.x];
            __syncthreads();
            b[threadIdx.x] = held[n - 1 - threadIdx.x];
        }"""
    run = ran(source, "reverse", (1,), (100,), X[:100].copy(), zeros(100), 100, shared=400)
    assert np.array_equal(run.arrays[1], X[99::-1]) and run.total("bytes", "shared") == 800
    ptx, names = from_cuda(source, "reverse")
    short = ptx_machine.run(ptx, (1,), (100,), [X[:100].copy(), zeros(100), 100], names["reverse"], shared=396)
    assert {one.kind for one in short.findings} == {"out of bounds"}


def test_two_dimensional_shared_arrays():
    source = """
        template <int T> __global__ void product(const float* A, const float* B, float* C, int M, int N, int K) {
            __shared__ float a[T][T], b[T][T + 1];
            int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * T + y, column = blockIdx.x * T + x;
            float sum = 0;
            for (int k = 0; k < K; k += T) {
                a[y][x] = row < M && k + x < K ? A[row * K + k + x] : 0;
                b[x][y] = column < N && k + y < K ? B[(k + y) * N + column] : 0;
                __syncthreads();
                for (int i = 0; i < T; ++i) sum += a[y][i] * b[x][i];
                __syncthreads();
            }
            if (row < M && column < N) C[row * N + column] = sum;
        }"""
    a, b = RNG.uniform(-1, 1, (50, 70)).astype(np.float32), RNG.uniform(-1, 1, (70, 60)).astype(np.float32)
    run = ran(source, "product<16>", (4, 4), (16, 16), a, b, zeros((50, 60)), 50, 60, 70)
    exact = a.astype(np.float64) @ b
    assert (np.abs(run.arrays[2] - exact) <= 70 * 2.0**-24 * (np.abs(a).astype(np.float64) @ np.abs(b))).all()
    assert run.executed["FMA"] == 4 * 4 * 256 * 80 and run.executed["barrier"] == 4 * 4 * 256 * 10
    ptx, names = from_cuda(source.replace("__syncthreads();\n            }", "}"), "product<16>")
    run = ptx_machine.run(ptx, (4, 4), (16, 16), [a, b, zeros((50, 60)), 50, 60, 70], names["product<16>"])
    assert {one.kind for one in run.findings} == {"race"}


MATRICES = """
    #include <cuda_fp16.h>
    __global__ void product(const __half* A, const __half* B, float* C, int N, int K) {
        int lane = threadIdx.x, row = lane / 4, two = lane % 4 * 2;
        A += blockIdx.y * 16 * K; B += blockIdx.x * 8; C += blockIdx.y * 16 * N + blockIdx.x * 8;
        float c[4] = {0, 0, 0, 0};
        for (int k = 0; k < K; k += 16) {
            unsigned a[4], b[2];
            for (int i = 0; i < 4; ++i)
                a[i] = *(const unsigned*)(A + (row + i % 2 * 8) * K + k + two + i / 2 * 8);
            for (int i = 0; i < 2; ++i) {
                __half2 pair = __halves2half2(B[(k + two + 8 * i) * N + row], B[(k + two + 8 * i + 1) * N + row]);
                b[i] = *(unsigned*)&pair;
            }
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
        }
        for (int i = 0; i < 4; ++i) C[(row + i / 2 * 8) * N + two + i % 2] = c[i];
    }"""


def test_matrix_units_by_inline_ptx():
    a, b = RNG.uniform(-1, 1, (32, 48)).astype(np.float16), RNG.uniform(-1, 1, (48, 24)).astype(np.float16)
    run = ran(MATRICES, "product", (3, 2), (32,), a, b, zeros((32, 24)), 24, 48)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert (np.abs(run.arrays[2] - exact) < 48 * 2.0**-24 * 48).all() and run.executed["matrix"] == 3 * 2 * 32 * 3


# ------------------------------------------------------------------------------- and more


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
    with pytest.raises(TypeError, match=r"argument 2 \(s\) is 7; the kernel takes a structure of 16 bytes there"):
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
    run = ran(source, "every", (4,), (250,), WHOLE, start, zeros(1, np.uint64), zeros(2))
    n = WHOLE.tolist()
    bits = [np.bitwise_or.reduce(WHOLE), np.bitwise_and.reduce(WHOLE), np.bitwise_xor.reduce(WHOLE)]
    assert run.arrays[1].tolist() == [max(n), min(n), *bits, 1000 % 10, (9 - 1000) % 10, -sum(n), sum(n)]
    assert run.arrays[2][0] == sum(n) << 30 and run.arrays[3].tolist() == [sum(n), 3]


def test_functions_tables_bytes_and_mathematics():
    source = """
        __device__ __noinline__ float polynomial(const float* c, int n, float x) {
            float sum = 0;
            for (int i = 0; i < n; ++i) sum = sum * x + c[i];
            return sum;
        }
        __global__ void first(const float* c, const float* x, float* o) {
            float v = x[threadIdx.x];
            o[threadIdx.x] = polynomial(c, 5, v) + polynomial(c + 1, 3, 2.f);
        }
        __global__ void second(const uchar4* a, uchar4* b, long long* l) {
            uchar4 v = a[threadIdx.x];
            b[threadIdx.x] = make_uchar4(255 - v.x, min(v.y + 30, 255), v.z >> 1, v.w);
            l[threadIdx.x] = (long long)(v.x - 300) * 1000000007LL + __clz(v.y) + __brev(v.z) % 7 + __ffs(v.w);
        }
        __global__ void third(const double* x, double* o) {
            double v = x[threadIdx.x];
            o[threadIdx.x] = exp(v) + log(fabs(v) + 1) + sqrt(fabs(v)) / 3 + sin(100 * v) + cbrt(v) + pow(fabs(v), v);
        }"""
    c = np.array([1, -2, 3, 0.5, 4], np.float32)
    run = ran(source, "first", (1,), (64,), c, X, zeros(64))
    assert np.allclose(run.arrays[2], np.polyval(c, X[:64]) + np.polyval(c[1:4], 2), atol=1e-4)
    a = RNG.integers(0, 256, (64, 4)).astype(np.uint8)
    run = ran(source, "second", (1,), (64,), a, np.zeros_like(a), zeros(64, np.int64))
    wide = a.astype(np.int64)
    expected = np.stack([255 - wide[:, 0], np.minimum(wide[:, 1] + 30, 255), wide[:, 2] >> 1, wide[:, 3]], axis=1)
    assert np.array_equal(run.arrays[1], expected)
    for (x, y, z, w), got in zip(a.tolist(), run.arrays[2].tolist(), strict=True):
        reverse = int(f"{z:032b}"[::-1], 2)
        assert got == (x - 300) * 1000000007 + 32 - y.bit_length() + reverse % 7 + (w & -w).bit_length()
    x = X[:64].astype(np.float64)
    run = ran(source, "third", (1,), (64,), x, zeros(64, np.float64))
    by_numpy = np.exp(x) + np.log(abs(x) + 1) + np.sqrt(abs(x)) / 3 + np.sin(100 * x) + np.cbrt(x) + abs(x) ** x
    assert np.allclose(run.arrays[1], by_numpy, rtol=1e-13, atol=1e-13)


def test_barriers_that_count_and_branches_by_number():
    cases = " ".join(f"case {n}: v = v {'+-*^'[n % 4]} {n + 3}; break;" for n in range(12))
    source = f"""
        __global__ void count(const int* a, int* o) {{
            int v = a[threadIdx.x];
            int odd = __syncthreads_count(v & 1), some = __syncthreads_or(v > 98), all = __syncthreads_and(v >= 0);
            switch (v % 13) {{ {cases} default: v = -1; }}
            o[threadIdx.x] = v * 1000 + odd * 4 + some * 2 + all;
        }}"""
    run = ran(source, "count", (1,), (80,), WHOLE, zeros(80, np.int32))
    head = WHOLE[:80].tolist()
    more = sum(v & 1 for v in head) * 4 + any(v > 98 for v in head) * 2 + 1
    doing = [lambda v, n: v + n, lambda v, n: v - n, lambda v, n: v * n, lambda v, n: v ^ n]
    expected = [(doing[v % 13 % 4](v, v % 13 + 3) if v % 13 < 12 else -1) * 1000 + more for v in head]
    assert run.arrays[1].tolist() == expected


def test_the_last_block_reads_what_others_wrote():
    source = """
        __device__ unsigned done;
        __global__ void total(const float* a, float* parts, float* out) {
            __shared__ bool last;
            if (threadIdx.x == 0) {
                parts[blockIdx.x] = a[2 * blockIdx.x] + a[2 * blockIdx.x + 1];
                __threadfence();
                last = atomicAdd(&done, 1) == gridDim.x - 1;
            }
            __syncthreads();
            if (!last || threadIdx.x) return;
            float sum = 0;
            for (int i = 0; i < gridDim.x; ++i) sum += ((volatile float*)parts)[i];
            *out = sum;
        }"""
    run = ran(source, "total", (8,), (32,), X[:16].copy(), zeros(8), zeros(1))
    assert abs(run.arrays[2][0] - X[:16].sum()) < 1e-5
    ptx, names = from_cuda(source.replace("(volatile float*)", ""), "total")
    run = ptx_machine.run(ptx, (8,), (32,), [X[:16].copy(), zeros(8), zeros(1)], names["total"])
    assert {one.kind for one in run.findings} == {"race"}


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


def test_pipelines_of_copies():
    source = """
        #include <cuda_pipeline.h>
        __global__ void through(const float4* a, float4* b, int tiles) {
            __shared__ float4 s[2][64];
            int t = threadIdx.x;
            __pipeline_memcpy_async(&s[0][t], &a[t], 16);
            __pipeline_commit();
            for (int k = 0; k < tiles; ++k) {
                if (k + 1 < tiles) __pipeline_memcpy_async(&s[(k + 1) & 1][t], &a[(k + 1) * 64 + t], 16);
                __pipeline_commit();
                __pipeline_wait_prior(1);
                __syncthreads();
                b[k * 64 + t] = s[k & 1][63 - t];
                __syncthreads();
            }
        }"""
    a = RNG.uniform(0, 1, (4, 64, 4)).astype(np.float32)
    run = ran(source, "through", (1,), (64,), a, np.zeros_like(a), 4)
    assert np.array_equal(run.arrays[1], a[:, ::-1]) and run.executed["asynchronous copy"] == 256
    for gone in ("__pipeline_wait_prior(1);", "__syncthreads();\n                b", "__syncthreads();\n            }"):
        ptx, names = from_cuda(source.replace(gone, gone[gone.index(";") + 1 :]), "through")
        run = ptx_machine.run(ptx, (1,), (64,), [a, np.zeros_like(a), 4], names["through"])
        assert {one.kind for one in run.findings} == {"race"}, gone


def test_what_the_compiler_says_about_a_wrong_source():
    with pytest.raises(PTXError, match=r"source\.cu\(1\): error: "):
        from_cuda("__global__ void f(int* o) { o[0] = nothing; }", "f")
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
    struct Table { float* data; short step; const float* factors; Range range; double add; };
    __global__ void each(Table t, float* out) {
        int i = t.range.from + threadIdx.x;
        if (i < t.range.to) { t.data[i] = t.data[i] * t.factors[0] + (float)t.add; out[i] = t.step; }
    }"""


def table(data, factors, to=5):
    bounds = {"from": np.int32(1), "to": np.int32(to)}
    return {"data": data, "step": np.int16(7), "factors": factors, "range": bounds, "add": np.float64(0.5)}


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
        (table(X, 5), r"argument 0 \(t\).factors is 5; a number in a structure needs its type"),
        ({"data": X}, r"argument 0 \(t\) is of 8 bytes; the kernel takes a structure of 40 bytes there: a dict"),
        (5, r"argument 0 \(t\) is 5; the kernel takes a structure of 40 bytes there: a dict"),
    ],
)
def test_what_is_no_such_structure(given, said):
    ptx, names = from_cuda(POINTERS_INSIDE, "each")
    with pytest.raises(TypeError, match=said):
        ptx_machine.run(ptx, (1,), (32,), [given, zeros(8)], names["each"])
