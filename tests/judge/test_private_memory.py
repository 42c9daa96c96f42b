"""What each thread keeps to itself: more than any GPU has is wrong, much is remarked on."""

import dataclasses

import pytest
from kernels import build, cl

from helpers import check, cuda_kernel
from helpers.judge.private_memory import declared, much_kept, too_much_kept

ROW = """    {before}float mine[{sizes}];
    float acc = 0.0f;
    for (int k = 0; k < K; k++) mine[k % 9] = A[row * K + k], acc += mine[k % 9] * B[k * N + col];
"""
CUDA = """
from numba import cuda, float32

@cuda.jit
def mine(A, B, C):
    row, col = cuda.grid(2)
    mine = cuda.local.array({sizes}, float32)
    if row < C.shape[0] and col < C.shape[1]:
        acc = float32(0)
        for k in range(A.shape[1]):
            mine[k % 9] = A[row, k]
            acc += mine[k % 9] * B[k, col]
        C[row, col] = acc
"""
BUILT = {
    "OpenCL": lambda sizes: build("OpenCL", "naive", cl(total=ROW.format(sizes=sizes, before=""))),
    "CUDA": lambda sizes: cuda_kernel(CUDA.format(sizes=sizes), like="naive", BM=4, BN=4),
}


@pytest.mark.parametrize("dialect", BUILT)
def test_more_than_a_gpu_has_is_wrong_with_its_line(dialect):
    report = check(BUILT[dialect](131_073))
    assert report.findings[0].kind == "too much memory" and "524,292 bytes" in report.findings[0].message
    assert "131073" in repr(report).splitlines()[-1]
    assert too_much_kept(BUILT[dialect](131_072)) == []


@pytest.mark.parametrize("dialect", BUILT)
def test_much_is_remarked_on(dialect):
    right = BUILT[dialect](65_536)
    assert too_much_kept(right) == []
    [remark] = much_kept(right)
    assert "262,144 bytes" in remark and "58.0 GB" in remark
    assert ("AMD" in remark) == (dialect == "OpenCL")
    assert much_kept(BUILT[dialect](1_000)) == ()


def test_what_a_gpu_ran_is_not_remarked_on():
    k = build("OpenCL", "naive", cl(total=ROW.format(sizes=65_536, before="")))
    k.device = dataclasses.replace(k.device, kind="GPU")
    assert much_kept(k) == ()


def test_a_right_kernel_with_a_long_local_array_is_right_and_remarked_on():
    """LLVM would lay its zeros one by one, which takes it minutes."""
    report = check(BUILT["CUDA"](65_536), [(5, 6, 7)])
    assert report and "(each thread keeps 262,144 bytes" in repr(report)


@pytest.mark.parametrize(
    "line, size",
    [
        ("float a[64];", 256),
        ("float4 a[BM] [2 * BN + 1];", 16 * 4 * 9),
        ("float a, b[3], c[MANY];", 4 * 23),
        ("double a[2] = {0}; uchar b[5];", 21),
        ("__local float a[64];", 0),
        ("float a = A[64];", 0),
        ("float a[UNKNOWN];", 0),
        ("char a[1]; uchar b[1]; short c[1]; ushort d[1]; half e[1];", 8),
        ("int a[1]; uint b[1]; long c[1]; ulong d[1]; double e[1];", 32),
        ("float a[1 << 10];", 4096),
        ("typedef float4 T; T a[8];", 128),
        ("struct { float x[MANY]; } s;", 80),
        ("float a[(MANY + 4) * 2u];", 192),
        ("const int N = 8; float a[N][N];", 256),
    ],
)
def test_the_arrays_of_a_declaration(line, size):
    k = build("OpenCL", "naive", cl())
    k.source = f"#define MANY 20\nvoid f() {{\n{line}\n}}\n"
    assert sum(n for _, n in declared(k)) == size
    assert not size or {place for place, _ in declared(k)} == {3}
