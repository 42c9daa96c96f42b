"""Kernels after public reports that once got words which mislead."""

import pytest
from kernels import HEAD, UNDER_OCLGRIND, build, cl

from helpers import check
from helpers.devices import opencl_device

TILED = (
    HEAD
    + """{
    __local float a[TILE][TILE], b[TILE][TILE];
    const int x = get_local_id(0), y = get_local_id(1);
    const int col = TILE * get_group_id(0) + x, row = TILE * get_group_id(1) + y;
    float acc = 0.0f;
    for (int t = 0; t < K; t += TILE) {
        a[y][x] = row < M && t + x < K ? A[row * K + t + x] : 0.0f;
        b[y][x] = col < N && t + y < K ? B[(t + y) * N + col] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++) acc += a[y][k] * b[k][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < M && col < N) C[row * N + col] = acc;
}
"""
)
NOT_LAST = "(get_group_id(0) != get_num_groups(0) - 1 && get_group_id(1) != get_num_groups(1) - 1) || (row < M"
IN_TWOS = """const int id = get_group_id(1) * get_num_groups(0) + get_group_id(0), wide = 2 * get_num_groups(0);
    const int col = TILE * (id % wide / 2) + x, row = TILE * (id / wide * 2 + id % 2) + y;"""
HALVES = """
    int k = 0;
    for (; k + 4 <= K; k += 4) {
        half4 a = convert_half4(vload4(0, A + row * K + k));
        half4 b = (half4)(B[k * N + col], B[(k + 1) * N + col], B[(k + 2) * N + col], B[(k + 3) * N + col]);
        half4 p = a * b;
        acc += p.x + p.y + p.z + p.w;
    }
    for (; k < K; k++) acc += A[row * K + k] * B[k * N + col];
"""


@UNDER_OCLGRIND
@pytest.mark.parametrize(
    "old, new, said, not_said",
    [
        # https://github.com/Cjkkkk/CUDA_gemm/issues/6: guards in the last blocks only, which are not all at an edge
        ("row < M && t + x < K", f"{NOT_LAST} && t + x < K)", "reads outside global memory", "on this device only"),
        # https://github.com/ROCm/FlyDSL/pull/979: blocks in groups of two rows, also where one row is left
        (
            "const int col = TILE * get_group_id(0) + x, row = TILE * get_group_id(1) + y;",
            IN_TWOS,
            "never stored",
            "each begins at 0",
        ),
    ],
    ids=["CUDA_gemm 6", "FlyDSL 979"],
)
def test_a_tiled_kernel_gets_no_false_cause(old, new, said, not_said):
    assert old in TILED
    verdict = repr(check(build("OpenCL", "tiled", TILED.replace(old, new))))
    assert said in verdict and not_said not in verdict


@UNDER_OCLGRIND
@pytest.mark.parametrize(
    "total, said",
    [
        # A question in Khronos' forum, "Non-square Matrix Multiplication Returns Wrong Result": sums of int
        (
            "    int acc = 0;\n    for (int k = 0; k < K; k++) acc += A[row * K + k] * B[k * N + col];\n",
            "right for whole numbers in A and B, and wrong for fractions",
        ),
        # https://github.com/inducer/pyopencl/issues/254: vectors of half, which Oclgrind cannot multiply
        (f"    float acc = 0.0f;{HALVES}", "of float32's 24 binary digits"),
    ],
    ids=["int", "half4"],
)
def test_a_kernel_in_another_type_is_told_so(total, said):
    source = cl(total=total, before="#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n")
    if "half4" in total and "cl_khr_fp16" not in opencl_device().handle.extensions:  # PoCL's CPU device
        said = "does not compile: use of undeclared identifier 'half4'"
    assert said in repr(check(build("OpenCL", "naive", source)))
