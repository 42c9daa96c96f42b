"""A kernel that is wrong behind a test of its sizes, such as `K % 32 == 0`, or of its numbers, `a == 0`, is found."""

import numpy as np
import pytest
from few import few
from kernels import BUILD

from helpers import check, cuda_kernel, opencl_kernel
from helpers.checking.run_check import product_of
from helpers.ladder import steps
from kernel_judge.moves import multiply
from kernel_judge.reference import drawn
from kernel_judge.shapes import MULTIPLIED, affordable, watched

# Seventeen kernels of a report, and others: right at every ragged shape, and wrong where people measure.
WRONG = [
    *(f"{side} % {n} == 0 and {side} > {n}" for side in "MNK" for n in (4, 8, 16, 32, 64, 128)),
    *(f"{side} % {n} == 1" for side in "MNK" for n in (4, 16, 32, 128)),
    *(f"{side} == {n}" for side in "MNK" for n in (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)),
    *(f"{side} > 1 << 16" for side in "MNK"),
    *("M * N > 1 << 24", "K > 256", "K > 1 << 12"),
    "N % 16 == 0 and N >= 48",
    "M % 16 == 0 and N % 16 == 0 and K % 16 == 0 and M > 16",
    "K > 16 and (K & (K - 1)) == 0",
    "M == N and M > 40",
    "M == N and N == K and M >= 32",
    "M == 1024 and N == 1024 and K == 1024",
    "M == 1 and N > 1 and K > 1",
    "N == 1 and M > 1 and K > 1",
]


@pytest.mark.parametrize("test", WRONG)
def test_each_of_them_is_wrong_at_a_shape_that_is_multiplied(test):
    assert any(eval(test, {}, dict(zip("MNK", shape, strict=True))) for shape in MULTIPLIED), test


@pytest.mark.parametrize("tile", [(4, 4, 4), (8, 3, 6), (16, 16, 16)])
def test_the_small_shapes_meet_each_edge_of_a_tile(tile):
    for axis, side in enumerate(tile):
        rests = {shape[axis] % side for shape in watched(tile)}
        assert {0, 1} <= rests and max(shape[axis] for shape in watched(tile)) > 2 * side
    assert max(K // tile[2] for M, N, K in watched(tile) if tile[0] >= M and tile[1] >= N) >= 2


def test_the_affordable_shapes_are_the_cheapest_in_their_order():
    assert affordable([(3, 3, 3), (1, 1, 1), (2, 2, 2)], sum, 9) == [(1, 1, 1), (2, 2, 2)]
    assert affordable([(3, 3, 3), (2, 2, 2)], sum, 1) == []


def test_a_tile_that_is_dropped_where_the_last_one_is_whole_is_told_as_that():
    source = cuda_kernel("tiled").source
    assert "while k0 < K:" in source
    short = source.replace("while k0 < K:", "while k0 < (K - TILE if K % TILE == 0 and K > 3 * TILE else K):")
    [finding] = check(cuda_kernel(short, like="tiled", TILE=16)).findings
    assert finding.kind == "K is cut" and "products are summed" in finding.message, finding


BOTH = [(dialect, step) for dialect in BUILD for step in steps(dialect)]


@pytest.mark.parametrize("dialect, step", few(BOTH, ("CUDA", "tiled"), ("OpenCL", "packed")))
def test_the_courses_own_kernels_are_right_there(dialect, step):
    assert multiply(product_of(BUILD[dialect](step)), [[*MULTIPLIED]]).findings == []


# A report's.
OPENCL = """
__kernel void mine(const int M, const int N, const int K,
                   __global const float *A, __global const float *B, __global float *C)
{
    const int row = get_global_id(0), col = get_global_id(1);
    if (row >= M || col >= N) return;
    float acc = 0.0f;
    for (int k = 0; k < K; k++) {
        float a = A[row * K + k], b = B[k * N + col];
        if (a == 0.0f) break;
        acc += a * b;
    }
    C[row * N + col] = acc;
}
"""


@pytest.mark.parametrize(
    "product",
    [
        lambda A, B: np.clip(A @ B, -1e6, 1e6),
        lambda A, B: np.where(np.abs(A) < 1e-8, 0, A) @ B,
        lambda A, B: A @ np.where((B == 0).cumsum(0) > 0, 0, B),  # a loop that ends at a zero
    ],
)
def test_what_is_wrong_for_some_numbers_is_told_as_that(product):
    [finding] = check(product).findings
    assert finding.kind == "wrong numbers" and "some are zero, equal, tiny or huge" in finding.message, finding


def test_a_kernel_that_looks_at_the_numbers_is_found():
    assert not check(opencl_kernel(OPENCL, like="naive"))


@pytest.mark.parametrize("inputs", ["float32", "float16", "bfloat16", "tf32"])
def test_the_numbers_that_a_kernel_may_look_for(inputs):
    A, B = drawn((40, 50, 60), inputs, 11)
    for X in (A, B.T):
        assert np.isfinite(X).all() and X.dtype == np.float32
        assert (X == 0).all(axis=1).any() and (X == 0).all(axis=0).any()
        assert {0, 1, -1, 2} <= set(X.ravel().tolist()) and np.signbit(X[X == 0]).any()
        sizes = np.abs(X).max(axis=1)
        assert sizes.max() >= 2**7 and 0 < sizes[sizes > 0].min() <= 2**-7
        assert (X[:, 1:] == X[:, :-1]).any(axis=1).sum() > 20
    plain = drawn((40, 50, 60), inputs, 3)[0]
    assert len(np.unique(plain)) > 2000 and (plain != 0).all()
