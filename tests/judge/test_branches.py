"""A kernel that is wrong behind a test of its sizes, such as `K % 32 == 0`, or of its numbers, `a == 0`, is found."""

import itertools
import math

import numpy as np
import pytest
from few import few
from kernels import BUILD

from helpers import check, cuda_kernel, opencl_kernel
from helpers.judge.checking import in_stages
from helpers.judge.reference import drawn_for
from helpers.judge.shapes import HUGE, USUAL, large_shapes, long_shapes, shapes_for, tile_and_block
from helpers.ladder import steps

SIDES = [16, 32, 64, 128, 256, 512, 1024]
OTHERS = [96, 100, 192, 200, 320, 384, 500, 640, 768, 1000]
SIZES = [
    ("naive", {}),
    ("tiled", dict(TILE=4)),
    ("tiled", dict(TILE=32)),
    ("register_2d", dict(BM=8, BN=8, BK=4, TM=2, TN=2)),
]


def used(random):
    """A shape that people use: a benchmark's square, another one, or any."""
    kind = random.random()
    if kind < 0.4:
        return (int(random.choice(SIDES)),) * 3
    if kind < 0.7:
        return tuple(int(random.choice([1, *SIDES, *OTHERS])) for _ in range(3))
    return tuple(int(math.exp(random.uniform(0, math.log(1100)))) for _ in range(3))


def one_test(random, tile):
    """(text, function of arrays M, N and K) of one test that a kernel may make of its sizes."""
    axis, other = (int(n) for n in random.permutation(3)[:2])
    name, also, side = "MNK"[axis], "MNK"[other], tile[axis]
    by = int(random.choice([2, 3, 4, 5, 6, 7, 8, 12, 16, side]))
    wide = int(random.choice([24, 32, 48, 64, 96, 128]))
    left, near = int(random.choice([0, random.integers(by)])), int(random.choice([0, 0, 1, wide - 1]))
    least, much = int(math.exp(random.uniform(0, math.log(1024)))), int(random.choice([1 << 10, 1 << 14, 1 << 16]))
    few, odd, all_of_it = int(random.choice([0, 2, 4])), int(random.integers(2)), int(random.choice([1 << 16, 1 << 24]))
    kinds = [
        (f"{name} % {by} == {left}", lambda *n: n[axis] % by == left),
        (f"{name} % {wide} == {near}", lambda *n: n[axis] % wide == near),
        (f"{name} >= {least}", lambda *n: n[axis] >= least),
        (f"{name} < {least}", lambda *n: n[axis] < least),
        (f"{name} is a power of two beyond {by}", lambda *n: (n[axis] & (n[axis] - 1) == 0) & (n[axis] > by)),
        (f"{name} == {also}", lambda *n: n[axis] == n[other]),
        (f"{name} < {also}", lambda *n: n[axis] < n[other]),
        ("M == N == K", lambda *n: (n[0] == n[1]) & (n[1] == n[2])),
        (
            f"tiles along {name}: whole, % 2 == {odd}, > {few}",
            lambda *n: (n[axis] % side == 0) & (n[axis] // side % 2 == odd) & (n[axis] // side > few),
        ),
        (
            f"tiles along {name}: % 2 == {odd}, > {few}",
            lambda *n: (-(-n[axis] // side) % 2 == odd) & (-(-n[axis] // side) > few),
        ),
        (f"{name} * {also} > {much}", lambda *n: n[axis] * n[other] > much),
        (f"M * N * K > {all_of_it}", lambda *n: n[0] * n[1] * n[2] > all_of_it),
    ]
    return kinds[random.integers(len(kinds))]


def wrong_kernels(tile, count=2000):
    """(text, test) of so many kernels that are wrong where one test or two are true, at a shape that people use."""
    random = np.random.default_rng(1)
    while count:
        some = [one_test(random, tile) for _ in range(random.integers(1, 3))]
        shape = [np.array([side]) for side in used(random)]
        if all(test(*shape).all() for _, test in some):
            count -= 1
            yield " and ".join(text for text, _ in some), [test for _, test in some]


def passed(tile, shapes):
    """The wrong kernels that no shape shows."""
    sides = np.transpose(shapes).astype(np.int64)
    return [
        text for text, tests in wrong_kernels(tile) if not np.logical_and.reduce([test(*sides) for test in tests]).any()
    ]


def shapes_tried(k):
    """The shapes at which a check tries a kernel of one's own."""
    return [*shapes_for(k), *long_shapes(k), *large_shapes(k)]


@pytest.mark.parametrize(
    "step, sizes", SIZES, ids=lambda one: one if isinstance(one, str) else "-".join(map(str, one.values()))
)
@pytest.mark.parametrize("dialect", ["CUDA", "OpenCL"])
def test_of_2000_wrong_kernels_fewer_than_one_in_a_hundred_pass(dialect, step, sizes):
    k = BUILD[dialect](step, **sizes)
    k.own, (tile, _) = True, tile_and_block(k)
    found_out = passed(tile, shapes_tried(k))
    assert len(found_out) < 20, found_out


def test_what_the_usual_sizes_are():
    assert [shape for shape in USUAL if len(set(shape)) == 1 and shape[0] > 32] == [(n,) * 3 for n in SIDES[2:]]
    for axis, by in itertools.product(range(3), (4, 8, 16, 32, 64, 128)):
        assert {shape[axis] % by for shape in USUAL if shape[axis] > by} >= {0, 1}, (axis, by)
    assert [M * K > 1 << 24 for M, _, K in HUGE] == [True, False]
    assert [K * N > 1 << 24 for _, N, K in HUGE] == [False, True]


# A report's seventeen kernels: right at every ragged shape, and wrong where people measure.
WRONG = [
    "K % 32 == 0",
    "K % 16 == 0 and K > 16",
    "N % 16 == 0 and N >= 48",
    "M % 64 == 0",
    "N % 128 == 0",
    "M % 16 == 0 and N % 16 == 0 and K % 16 == 0 and M > 16",
    "K > 16 and (K & (K - 1)) == 0",
    "M == N and M > 40",
    "M == N and N == K and M >= 32",
    "M == 1024 and N == 1024 and K == 1024",
]


@pytest.mark.parametrize("TILE", [4, 16])
@pytest.mark.parametrize("dialect", BUILD)
def test_each_of_them_is_wrong_at_a_shape_that_is_tried(dialect, TILE):
    k = BUILD[dialect]("tiled", TILE=TILE)
    k.own = True
    tried = shapes_tried(k)
    for test in WRONG:
        assert any(eval(test, {}, dict(zip("MNK", shape, strict=True))) for shape in tried), test


def test_a_tile_that_is_dropped_where_the_last_one_is_whole_is_told_as_that():
    source = cuda_kernel("tiled").source
    assert "while k0 < K:" in source
    short = source.replace("while k0 < K:", "while k0 < (K - TILE if K % TILE == 0 and K > 3 * TILE else K):")
    [finding] = check(cuda_kernel(short, like="tiled", TILE=16)).findings
    assert finding.kind == "K is cut" and "products are summed" in finding.message, finding


def test_an_index_in_float32_is_found_in_a_huge_matrix():
    source = BUILD["OpenCL"]("naive").source
    assert "A[row * K + k]" in source
    rounded = source.replace("A[row * K + k]", "A[(int)((float)row * (float)K + (float)k)]")
    assert not check(opencl_kernel(rounded, like="naive"))


BOTH = [(dialect, step) for dialect in BUILD for step in steps(dialect)]


@pytest.mark.parametrize("dialect, step", few(BOTH, ("CUDA", "tiled"), ("OpenCL", "packed")))
def test_the_courses_own_kernels_are_right_there(dialect, step):
    assert in_stages(BUILD[dialect](step), [USUAL]) == []


# ---------------------------------------------------------------------------------------- tests of the numbers

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
CUDA = """
from numba import cuda, float32


@cuda.jit
def mine(A, B, C):
    row, col = cuda.grid(2)
    if row < C.shape[0] and col < C.shape[1]:
        acc = float32(0)
        for k in range(A.shape[1]):
            a, b = A[row, k], B[k, col]
            if a == 0:
                break
            acc += a * b
        C[row, col] = acc
"""


TINY_OR_HUGE = "wrong where a row or a column is all tiny, or all huge; look for limits"
ZEROS = "wrong where some are 0, 1, -1 or 2, or equal; look for tests"


@pytest.mark.parametrize(
    "product, said",
    [
        (lambda A, B: np.clip(A @ B, -1e6, 1e6), TINY_OR_HUGE),
        (lambda A, B: A @ B + np.float32(1e-13), TINY_OR_HUGE),
        (lambda A, B: np.where(np.abs(A) < 1e-8, 0, A) @ B, TINY_OR_HUGE),
        (lambda A, B: np.where(A == 1, 0, A) @ B, ZEROS),
        (lambda A, B: A @ np.where((B == 0).cumsum(0) > 0, 0, B), ZEROS),  # a loop that ends at a zero
    ],
)
def test_what_is_wrong_for_some_numbers_is_told_as_that(product, said):
    [finding] = check(product).findings
    assert finding.kind == "wrong numbers" and said in finding.message, finding


def test_a_kernel_that_looks_at_the_numbers_is_found():
    assert not check(opencl_kernel(OPENCL, like="naive"))
    assert not check(cuda_kernel(CUDA, like="naive", BM=8, BN=4))


@pytest.mark.parametrize("inputs", ["float32", "float16", "bfloat16", "tf32"])
def test_the_numbers_that_a_kernel_may_look_for(inputs):
    k = opencl_kernel("naive")
    k.inputs = inputs
    A, B = drawn_for(k, (40, 50, 60), 11)
    for X in (A, B.T):
        assert np.isfinite(X).all() and X.dtype == np.float32
        assert (X == 0).all(axis=1).any() and (X == 0).all(axis=0).any()
        assert {0, 1, -1, 2} <= set(X.ravel().tolist()) and np.signbit(X[X == 0]).any()
        sizes = np.abs(X).max(axis=1)
        assert sizes.max() >= 2**7 and 0 < sizes[sizes > 0].min() <= 2**-7
        assert (X[:, 1:] == X[:, :-1]).any(axis=1).sum() > 20
    plain = drawn_for(k, (40, 50, 60), 3)[0]
    assert len(np.unique(plain)) > 2000 and (plain != 0).all()
