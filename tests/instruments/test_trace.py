"""Every access of a run, in both dialects: whose they are, how many, and that a run is taken once."""

import re
from collections import Counter, namedtuple

import numpy as np
import pytest
from few import SMALL, few
from numba import cuda

from helpers import cuda_kernel, ladder, opencl_kernel
from helpers.instruments import predicted_traffic, touches, trace, traffic
from helpers.launch import KernelError, draw
from helpers.launch import dialect as dialect_called
from ptx_machine.touches import FIELDS, record_type, turns

Access = namedtuple("Access", FIELDS)


def listed(accesses):
    """An array of accesses as a list of `Access`."""
    return [Access(*row)._replace(block=tuple(map(int, row[4]))) for row in accesses.tolist()]


def touched(run):
    return Counter((a.memory, a.array, a.writes, a.block, a.thread, a.index, a.phase) for a in listed(run.accesses))


# ---------------------------------------------------------------------------------------------- the ladder's kernels

COUNTED = [(d, s.name) for s in ladder.STEPS.values() for d in s.dialects if not (s.capability or s.by_shape)]


@pytest.mark.parametrize("dialect, step", few(COUNTED, ("CUDA", "register_1d"), ("OpenCL", "register_1d")))
def test_the_machines_and_the_ladder_count_the_same(dialect, step):
    """A step of both dialects is counted by the PTX machine, by notes and by its formula."""
    k = dialect_called(dialect).build(step, **SMALL[step])
    for shape in ((7, 10, 9), (8, 8, 8)):
        assert traffic(k, *shape) == predicted_traffic(k, *shape)


def test_both_dialects_touch_the_same_elements_between_the_same_barriers():
    k = opencl_kernel("tiled", TILE=4)
    run, other = trace(k, 6, 8, 5), trace(cuda_kernel("tiled", TILE=4), 6, 8, 5)
    assert touched(run) == touched(other) and run.shapes == other.shapes and run.accesses["phase"].any()
    with pytest.raises(ValueError, match="read-only"):
        run.accesses["index"][0] = 7
    assert run.accesses.nbytes < 80 * len(run.accesses)


def test_each_access_has_its_line_and_its_turn():
    for k, code in (
        (opencl_kernel("naive", BM=4, BN=4), "A[row * K + k]"),
        (cuda_kernel("naive", BM=4, BN=4), "A[row, k]"),
    ):
        reads = listed(trace(k, 3, 3, 3).where(array="A", block=(0, 0, 0), thread=1))
        assert [(a.round, a.index) for a in reads] == [(0, 3), (1, 4), (2, 5)]
        assert code in k.source.splitlines()[reads[0].line - 1]


def test_packed_has_no_formula_and_is_traced_as_it_is_counted():
    k = opencl_kernel("packed", **SMALL["packed"])
    with pytest.raises(ValueError, match="packed has no formula of what it moves; count it"):
        predicted_traffic(k, 13, 6, 17)
    t, run = traffic(k, 13, 6, 17), trace(k, 13, 6, 17)
    seen = [len(run.where(memory=memory, writes=writes)) for memory in ("global", "shared") for writes in (False, True)]
    assert seen == [t.global_loads, t.global_stores, t.shared_loads, t.shared_stores]


def test_a_wasteful_kernel_is_counted_as_it_is():
    source = cuda_kernel("naive").source
    twice = source.replace("acc += A[row, k] * B[k, col]", "acc += A[row, k] * B[k, col] + 0 * A[row, k]")
    assert traffic(cuda_kernel(twice, like="naive", BM=4, BN=4), 5, 6, 7).global_loads == 3 * 5 * 6 * 7


# ------------------------------------------------------------------------------------------------- notes in OpenCL

HEAD = """__kernel void own(const int M, const int N, const int K,
    __global const float *A, __global const float *B, __global float *C) {"""
# What one work-item does. Behind each line: how often it reads an array, and, after >, writes it. opencl_trace's tests
# have what is refused.
TOUCHES = f"""
#define A0 A[0]
#define BOTH(x, y) ((x) * \\
  (y))
int one(void) {{ return 1; }}
__global const float *at(__global const float *X, int i);
void put(__global float *to, int n) {{ to[n] += n; }} // C2 >C2
__global const float *at(__global const float *X, int i) {{ return X + i; }}
void wait(void) {{ barrier(CLK_LOCAL_MEM_FENCE); }}
void add(__local float *sum, float x) {{ *sum += x; wait(); }} // sum2 >sum2
{HEAD}
put(C + 2, 3); put(C, one()); C[9] = *at(A, 4); // A1 >C1
__local float sum; sum = 0; for (int i = 0; i < 2; i++) add(&sum, A[i]); // >sum1 A2
C[0] = A0 // A1 >C1
 + BOTH(A[1], // A1 B1
 B[2]) + A[3]; // A1
__local float As[010 / 4][2 > 1 ? 3u : 5]; __local float (*row)[3] = &As[1]; (*row)[2] = A[0]; // A1 >As1
row[0][1] = A[1]; *As[0] = A[2]; C[0] = As[1][M - 2] + As[1][1] + **As; // A2 >As2 As3 >C1
{{ __global uint *bits = (__global uint *)C; bits[0] <<= M; bits[1] >>= M; bits[2] |= M; // C3 >C3
bits[3] &= N; bits[4] ^= K; bits[5] %= N; bits[6] -= N; ++C[7]; C[8]--; }} // C6 >C6
C[0] = A[0] == B[0]; C[1] = A[1] <= B[1]; C[2] = A[2] != B[2]; // A3 B3 >C3
{{ float A[2]; A[0] = B[0]; A[1] = B[1]; C[0] = A[M - 4] + A[N - 15]; }} // B2 >C1
{{ __global const float *p = A + 3, *end = p + K; float x = 0; while (p < end) x += *p++; *C = x; }} // A8 >C1
C[0] = *(M > 1 ? A : B); C[1] = M > 9 ? A[1] : B[1]; if (M > 9 && A[2] > 0) C[2] = 0; // A1 B1 >C2
{{ __global const float *both[2] = {{A, B + 1}}; C[0] = both[M - 4][2] + both[M - 3][3]; }} // A1 B1 >C1
vstore3(vload3(1, A), 1, C); vstore2(vload2(M, B + 1), 5, C); // A3 B2 >C5
{{ float some[4]; vstore4(vload4(0, A + 9), 0, some); C[0] = some[M - 4]; }} // A4 >C1
{{ __global float4 *q = (__global float4 *)C; q[1] = ((__global const float4 *)A)[2]; // A4 >C4
q->y = B[0]; (*(q + 3)).z += B[1]; q[2] = (float4)*((__global const float4 *)B + 1); }} // B6 C1 >C6
C[0] = (M_PI_F) * A[0] + (M_PI_F) - A[1]; // A2 >C1
{{ typedef __global float *one_t, *two_t; one_t p = C; two_t q = C + 1; *p = 1; *q = A[0]; }} // A1 >C2
{{ typedef float T; {{ typedef float4 T; T x = *(__global T *)A; C[0] = x.x; }} C[1] = *(__global T *)B; }} // A4 B1 >C2
C[0] = sizeof(A[0]) + M; __global const float *p = &A[3]; prefetch(p, 4); C[1] = p - A; // >C2
C[0] = C[1] = A[0]; for (int i = 2, *q = &i; i < 4; i++) C[*q] = (M, A[i]); // A3 >C4
}}
"""


def noted(source):
    """The accesses of a kernel of one work-item, which has all of a C of 4 x 16."""
    return touches.with_notes(opencl_kernel(source, like="packed", **SMALL["packed"]), *draw(4, 16, 8))[0]


def test_each_way_to_touch_memory_is_counted_at_its_line():
    accesses, expected = listed(noted(TOUCHES)), {}
    for line, text in enumerate(TOUCHES.splitlines(), 1):
        for writes, array, many in re.findall(r"(>?)([A-Za-z]+)(\d+)", text.partition("//")[2]):
            expected[line, array, bool(writes)] = int(many)
    assert Counter((a.line, a.array, a.writes) for a in accesses) == expected
    of_sum = [(a.writes, a.phase, a.round) for a in accesses if a.array == "sum"]  # each call has its turn
    assert of_sum == [(True, 0, 0), (False, 0, 0), (True, 0, 0), (False, 1, 1), (True, 1, 1)]
    wide = 1 + TOUCHES[: TOUCHES.index("vstore3")].count("\n")
    assert {(a.array, a.index, a.part) for a in accesses if a.line == wide} == {
        *(("A", 3, 0), ("A", 4, 1), ("A", 5, 2), ("B", 9, 0), ("B", 10, 1)),
        *(("C", 3, 0), ("C", 4, 1), ("C", 5, 2), ("C", 10, 0), ("C", 11, 1)),
    }


# ------------------------------------------------------------------------------------- what fails, and what is kept


def test_a_kernel_that_goes_wrong_is_told():
    with pytest.raises(KernelError, match="line 3 reads global memory outside"):
        noted(HEAD + "\nC[0] = A[32]; }")
    assert noted(HEAD + "int unused = M; }").dtype.names == FIELDS
    wild = cuda_kernel(cuda_kernel("naive").source.replace("k < A.shape[1]", "k < 99"), like="naive", BM=4, BN=4)
    with pytest.raises(KernelError, match="cannot be followed: out of bounds at line 25"):
        traffic(wild, 5, 6, 7)


@pytest.fixture
def runs(monkeypatch):
    """The kernels that are run; each makes no access."""
    asked = []
    nothing = np.zeros(0, record_type("A"))
    monkeypatch.setattr(touches, "run_noted", lambda k, *pair: asked.append(k) or (nothing, {}))
    monkeypatch.setattr(touches, "recent", {})
    return asked


def test_a_trace_is_taken_once_for_equal_kernels(runs):
    first = trace(cuda_kernel("naive", BM=4, BN=4), 3, 2, 2)
    assert trace(cuda_kernel("naive", BM=4, BN=4), 3, 2, 2) is first and len(runs) == 1
    source = cuda_kernel("naive").source
    others = [
        (cuda_kernel("naive", BM=2, BN=4), 3),
        (cuda_kernel("coalesced", BM=4, BN=4), 3),
        (cuda_kernel("naive", BM=4, BN=4), 4),
        (cuda_kernel(source.replace("acc += ", "acc += 2 * "), like="naive", BM=4, BN=4), 3),
        (opencl_kernel("naive", BM=4, BN=4), 3),
    ]
    assert all(trace(k, M, 2, 2) is not first for k, M in others) and len(runs) == 1 + len(others)
    for size in range(5, 5 + touches.KEPT):
        trace(opencl_kernel("naive", BM=4, BN=4), size, 2, 2)
    assert len(touches.recent) == touches.KEPT
    assert trace(cuda_kernel("naive", BM=4, BN=4), 3, 2, 2) is not first  # the oldest are let go
    assert len(trace(cuda_kernel("naive", BM=4, BN=4), 32, 32, 32).accesses) == 0  # the largest that is followed


def test_a_kernel_that_uses_another_number_is_another_kernel(runs):
    def build(factor):
        def mine(A, B, C):
            C[0, 0] = factor

        return cuda_kernel(cuda.jit(mine), like="naive", BM=4, BN=4)

    for factor in (1, 2, 1):
        trace(build(factor), 3, 2, 2)
    assert len(runs) == 2


def test_turns_count_equal_rows_that_came_before():
    assert turns(np.array([3, 1, 3, 3]), np.array(["a", "a", "b", "a"])).tolist() == [0, 0, 0, 1]
    assert turns(np.array([], int)).tolist() == []
