"""Every access of a run, in both dialects."""

from collections import Counter, namedtuple

import numpy as np
import pytest
from few import SMALL, few
from numba import cuda

from helpers import cuda_kernel, ladder, opencl_kernel
from helpers.instruments import predicted_traffic, touches, trace
from helpers.launch import KernelError, draw
from ptx_machine.touches import FIELDS, record_type, turns

Access = namedtuple("Access", FIELDS)

SHAPES = [(9, 6, 10), (6, 8, 4)]  # the last has rows that are whole fours


def listed(accesses):
    """An array of accesses as a list of `Access`."""
    return [Access(*row)._replace(block=tuple(map(int, row[4]))) for row in accesses.tolist()]


def touched(run):
    return Counter((a.memory, a.array, a.writes, a.block, a.thread, a.index, a.phase) for a in listed(run.accesses))


def counts(accesses):
    """Global loads and stores, shared loads and stores."""
    count = Counter((a.memory, a.writes) for a in listed(accesses))
    return [count[memory, writes] for memory in ("global", "shared") for writes in (False, True)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("step", few([s for s in ladder.steps("OpenCL") if s != "packed"], "tiled"))
def test_both_dialects_touch_the_same_elements_as_often_as_the_formula_says(step, shape):
    k = opencl_kernel(step, **SMALL[step])
    run, t = trace(k, *shape), predicted_traffic(k, *shape)
    assert counts(run.accesses) == [t.global_loads, t.global_stores, t.shared_loads, t.shared_stores]
    if "CUDA" in ladder.STEPS[step].dialects:
        other = trace(cuda_kernel(step, **k.parameters), *shape)
        assert touched(run) == touched(other) and run.shapes == other.shapes  # between the same barriers


def test_each_access_has_its_line_and_its_turn():
    k = opencl_kernel("naive", BM=4, BN=4)
    run, lines = trace(k, 3, 3, 3), k.source.splitlines()
    reads = listed(run.where(array="A", block=(0, 0, 0), thread=1))
    assert [a.round for a in reads] == [0, 1, 2] and [a.index for a in reads] == [3, 4, 5]
    assert "A[row * K + k]" in lines[reads[0].line - 1]
    cuda = listed(trace(cuda_kernel("naive", BM=4, BN=4), 3, 3, 3).where(array="A", thread=1))
    assert [(a.round, a.index) for a in cuda] == [(a.round, a.index) for a in reads]


# ------------------------------------------------------------------------------------------ notes in OpenCL


# It is one line, so that what follows begins on line 2.
HEAD = (
    "__kernel void own(const int M, const int N, const int K, "
    "__global const float *A, __global const float *B, __global float *C) {"
)
ONE = SMALL["packed"]  # one work-item has all of a C of 4 x 16

# What one work-item does, the functions it calls, and how often it reads (False) and writes (True) each array.
TOUCHES = {
    "steps up and down": ("++C[0]; C[1]++; --C[2]; C[3]--;", "", {"C": (4, 4)}),
    "operators that assign": (
        "__global uint *bits = (__global uint *)C; bits[0] <<= M; bits[1] >>= M; bits[2] |= M; bits[3] &= N; "
        "bits[4] ^= K; bits[5] %= N; bits[6] -= N;",
        "",
        {"C": (7, 7)},
    ),
    "comparisons": ("C[0] = A[0] == B[0]; C[1] = A[1] <= B[1]; C[2] = A[2] != B[2];", "",
        {"A": (3, 0), "B": (3, 0), "C": (0, 3)}),
    "a macro": ("C[0] = A0 + TIMES(A[1],\n B[0]);", "#define A0 A[0]\n#define TIMES(x, y) ((x) * \\\n (y))\n",
        {"A": (2, 0), "B": (1, 0), "C": (0, 1)}),
    "a private array of that name": (
        "{ float A[2]; A[0] = B[0]; A[1] = B[1]; C[0] = A[M - 4] + A[N - 15]; } C[1] = A[0];",
        "",
        {"A": (1, 0), "B": (2, 0), "C": (0, 2)},
    ),
    "a pointer that walks": (
        "__global const float *p = A + 3, *end = p + K; float sum = 0; while (p < end) sum += *p++; *C = sum;",
        "",
        {"A": (8, 0), "C": (0, 1)},
    ),
    "a pointer in a choice": ("C[0] = *(M > 1 ? A : B); C[1] = M > 9 ? A[1] : B[1]; if (M > 9 && A[2] > 0) C[2] = 0;",
        "", {"A": (1, 0), "B": (1, 0), "C": (0, 2)}),
    "pointers in an array": ("__global const float *both[2] = {A, B + 1}; C[0] = both[M - 4][2] + both[M - 3][3];", "",
        {"A": (1, 0), "B": (1, 0), "C": (0, 1)}),
    "functions": (
        "put(C + 2, 3); put(C, one()); C[9] = *at(A, 4);",
        "int one(void) { return 1; }\n__global const float *at(__global const float *X, int i);\n"
        "void put(__global float *to, int n) { to[n] += n; }\n"
        "__global const float *at(__global const float *X, int i) { return X + i; }\n",
        {"A": (1, 0), "C": (2, 3)},
    ),
    "wide loads": (
        "vstore3(vload3(1, A), 1, C); vstore2(vload2(M, B + 1), 5, C); "
        "float some[4]; vstore4(vload4(0, A + 9), 0, some); C[0] = some[M - 4];",
        "",
        {"A": (7, 0), "B": (2, 0), "C": (0, 6)},
    ),
    "casts": (
        "__global float4 *q = (__global float4 *)C; q[1] = ((__global const float4 *)A)[2]; "
        "q->y = B[0]; (*(q + 3)).z += B[1]; q[2] = (float4)*((__global const float4 *)B + 1);",
        "",
        {"A": (4, 0), "B": (6, 0), "C": (1, 10)},
    ),
    "an access alone in a call": ("C[0] = twice(A[0]) + twice(*B);", "float twice(float x) { return 2 * x; }",
        {"A": (1, 0), "B": (1, 0), "C": (0, 1)}),
    "pragmas": (
        "\n#pragma OPENCL EXTENSION cl_khr_byte_addressable_store : enable\n#pragma unroll\n"
        "for (int i = 0; i < 2; i++) C[i] = A[i];",
        "",
        {"A": (2, 0), "C": (0, 2)},
    ),
    "a constant in brackets, which is no type": ("C[0] = (M_PI_F) * A[0] + (M_PI_F) - A[1];", "",
        {"A": (2, 0), "C": (0, 1)}),
    "two names of a pointer's type": ("first p = C; second q = C + 1; *p = 1; *q = A[0];",
        "typedef __global float *first, *second;", {"A": (1, 0), "C": (0, 2)}),
    "a type that a block names": (
        "typedef float T; { typedef float4 T; T x = *(__global T *)A; C[0] = x.x + x.y + x.z + x.w; } "
        "C[1] = *(__global T *)B;",
        "",
        {"A": (4, 0), "B": (1, 0), "C": (0, 2)},
    ),
    "a size that is worked out": (
        "__local float t[010 / 3][2 > 1 ? 4u : 5]; t[1][3] = A[0]; barrier(CLK_LOCAL_MEM_FENCE); C[0] = t[M - 3][3];",
        "",
        {"A": (1, 0), "t": (1, 1), "C": (0, 1)},
    ),
    "a local number": ("__local float one; one = A[0]; barrier(CLK_LOCAL_MEM_FENCE); C[0] = one;", "",
        {"A": (1, 0), "one": (1, 1), "C": (0, 1)}),
    "rows of a local array": (
        "__local float As[2][3]; __local float (*row)[3] = &As[1]; (*row)[2] = A[0]; row[0][1] = A[1]; *As[0] = A[2]; "
        "barrier(CLK_LOCAL_MEM_FENCE); C[0] = As[1][M - 2] + As[1][1] + **As;",
        "",
        {"A": (3, 0), "As": (3, 3), "C": (0, 1)},
    ),
    "what is not evaluated": ("C[0] = sizeof(A[0]) + M; __global const float *p = &A[3]; prefetch(p, 4); C[1] = p - A;",
        "", {"C": (0, 2)}),
    "assignments in a row": ("C[0] = C[1] = A[0]; for (int i = 2, *q = &i; i < 4; i++) C[*q] = (M, A[i]);", "",
        {"A": (3, 0), "C": (0, 4)}),
}  # fmt: skip


def noted(functions, body):
    """The accesses of a kernel of one work-item that does that."""
    k = opencl_kernel(f"{functions}{HEAD}\n{body}\n}}\n", like="packed", **ONE)
    return touches.with_notes(k, *draw(4, 16, 8))[0]


@pytest.mark.parametrize("name", TOUCHES)
def test_each_way_to_touch_memory_is_counted(name):
    body, functions, expected = TOUCHES[name]
    count = Counter((a.array, a.writes) for a in listed(noted(functions, body)))
    assert count == {(array, writes): n for array, both in expected.items() for writes, n in enumerate(both) if n}


def test_an_access_has_the_line_where_its_macro_is_used_and_the_address_that_it_touched():
    accesses = noted(
        "#define A0 A[0]\n#define BOTH(x, y) ((x) * \\\n (y))\n"
        "void put(__global float *to, int n)\n{ to[n] = 1.0f; }\n",
        "C[0] = A0\n+ BOTH(A[1],\n B[2]) + A[3]; put(C + 2,\n 3); vstore2(vload2(2, A), 3, C);",
    )
    assert sorted((a.array, a.index, a.line, a.part) for a in listed(accesses)) == [
        ("A", 0, 7, 0),
        ("A", 1, 8, 0),
        ("A", 3, 9, 0),
        ("A", 4, 10, 0),
        ("A", 5, 10, 1),
        ("B", 2, 8, 0),
        ("C", 0, 7, 0),
        ("C", 5, 5, 0),
        ("C", 6, 10, 0),
        ("C", 7, 10, 1),
    ]


def test_a_kernel_that_touches_nothing_has_a_trace_without_accesses():
    accesses = noted("", "int unused = M;")
    assert len(accesses) == 0 and accesses.dtype.names == FIELDS


def test_barriers_within_functions_count_and_each_call_has_its_turn():
    functions = (
        "void wait(void) { barrier(CLK_LOCAL_MEM_FENCE); }\n"
        "void add(__local float *sum, float x) { *sum += x; wait(); }\n"
    )
    body = "__local float sum; sum = 0; for (int i = 0; i < 3; i++) add(&sum, A[i]); C[0] = sum;"
    accesses = noted(functions, body)
    mine = [(a.writes, a.phase, a.round) for a in listed(accesses) if a.array == "sum"]
    assert mine == [
        (True, 0, 0),
        (False, 0, 0),
        (True, 0, 0),
        (False, 1, 1),
        (True, 1, 1),
        (False, 2, 2),
        (True, 2, 2),
        (False, 3, 0),
    ]


def test_an_access_outside_the_arrays_is_refused():
    for body, says in (
        ("C[0] = A[32];", "line 2 reads global memory outside"),
        ("__local float t[4]; t[M] = 1;", "line 2 writes local"),
    ):
        with pytest.raises(KernelError, match=says):
            noted("", body)


def test_a_kernel_that_goes_wrong_is_told():
    loop = "for (int k = 0"
    repeated = opencl_kernel("tiled").source.replace(loop, f"for (int k = 0; k < 1 << 20; k++) {loop}")
    with pytest.raises(KernelError):
        trace(opencl_kernel(repeated, like="tiled", TILE=4), 4, 4, 4)


def test_a_trace_is_taken_once_for_equal_kernels(monkeypatch):
    first, asked = trace(cuda_kernel("naive", BM=4, BN=4), 3, 2, 2), []
    nothing = np.zeros(0, record_type("A"))
    monkeypatch.setattr(touches, "run_noted", lambda k, *pair: asked.append(k) or (nothing, {}))
    monkeypatch.setattr(touches, "recent", dict(touches.recent))
    assert trace(cuda_kernel("naive", BM=4, BN=4), 3, 2, 2) is first and not asked
    source = cuda_kernel("naive").source
    others = [
        (cuda_kernel("naive", BM=2, BN=4), 3),
        (cuda_kernel("coalesced", BM=4, BN=4), 3),
        (cuda_kernel("naive", BM=4, BN=4), 4),
        (cuda_kernel(source.replace("acc += ", "acc += 2 * "), like="naive", BM=4, BN=4), 3),
        (opencl_kernel("naive", BM=4, BN=4), 3),
    ]
    assert all(trace(k, M, 2, 2) is not first for k, M in others) and len(asked) == len(others)
    for size in range(5, 5 + touches.KEPT):
        trace(opencl_kernel("naive", BM=4, BN=4), size, 2, 2)
    assert len(touches.recent) == touches.KEPT
    assert trace(cuda_kernel("naive", BM=4, BN=4), 3, 2, 2) is not first  # the oldest are let go


def test_a_kernel_that_uses_another_number_is_another_kernel(monkeypatch):
    def build(factor):
        def mine(A, B, C):
            C[0, 0] = factor

        return cuda_kernel(cuda.jit(mine), like="naive", BM=4, BN=4)

    runs = []
    monkeypatch.setattr(touches, "run_noted", lambda *a: runs.append(a) or (np.zeros(0, record_type("A")), {}))
    for factor in (1, 2, 1):
        trace(build(factor), 3, 2, 2)
    assert len(runs) == 2


def test_a_trace_is_one_array_of_some_seventy_bytes_a_record():
    run = trace(opencl_kernel("register_1d", BM=8, BN=4, BK=4, TM=4), 9, 6, 10)
    assert run.accesses.nbytes < 80 * len(run.accesses) and run.accesses["phase"].any()
    assert not trace(opencl_kernel("naive", BM=4, BN=4), 3, 3, 3).accesses["phase"].any()
    with pytest.raises(ValueError, match="read-only"):
        run.accesses["index"][0] = 7
    assert len(run.where(memory="shared")) + len(run.where(memory="global")) == len(run.accesses)
    assert len(run.where(block=(1, 0, 0), array="C")) == 8 * 2


def test_turns_count_equal_rows_that_came_before():
    assert turns(np.array([3, 1, 3, 3]), np.array(["a", "a", "b", "a"])).tolist() == [0, 0, 0, 1]
    assert turns(np.array([], int)).tolist() == []
