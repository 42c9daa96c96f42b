"""Page 16: split-K in two launches of either dialect, and the order of blocks; what their verdicts say."""

import re

import pytest

from helpers import check, cuda_kernel, opencl_kernel
from helpers.exercises.block_order import judge_order
from helpers.exercises.split_k import SplitK, tiled_slices
from helpers.launch import draw
from kernel_judge import wrong_elements

BOUNDS = "const int whole = TILE * get_num_groups(2), first = get_group_id(2) * ((K + whole - 1) / whole * TILE);"
BOUNDS += "\n    const int last = first + (K + whole - 1) / whole * TILE;"
STORE = "C[(get_group_id(2) * M + row) * N + col] = acc;"
ADD_UP = """__kernel void add_up(const int M, const int N, const int slices,
                     __global const float *parts, __global const float *none, __global float *C)
{
    const int row = get_global_id(1), col = get_global_id(0);
    if (row >= M || col >= N) return;
    float total = 0.0f;
    for (int s = 0; s < slices; s++) total += parts[(s * M + row) * N + col];
    C[row * N + col] = total;
}
"""
IN_CUDA = """from numba import cuda, float32


def tiled(TILE=16):
    @cuda.jit
    def kernel(A, B, C):
        row, col = cuda.blockIdx.y * TILE + cuda.threadIdx.y, cuda.blockIdx.x * TILE + cuda.threadIdx.x
        if row < A.shape[0] and col < C.shape[1]:
            total = float32(0)
            for k in range(cuda.blockIdx.z, A.shape[1], cuda.gridDim.z):
                total += A[row, k] * B[k, col]
            C[cuda.blockIdx.z * A.shape[0] + row, col] = total

    return kernel
"""
ADDS_IN_CUDA = """from numba import cuda, float32


def add_up(BM=8, BN=32):
    @cuda.jit
    def kernel(parts, none, C):
        col, row = cuda.grid(2)
        M, N = C.shape
        if row < M and col < N:
            total = float32(0)
            for part in range(parts.shape[0] // M):
                total += parts[part * M + row, col]
            C[row, col] = total

    return kernel
"""


def in_opencl(slices, bounds=BOUNDS, store=STORE, add_up=ADD_UP):
    return SplitK(tiled_slices(bounds, store), opencl_kernel(add_up, like="coalesced"), slices)


def in_cuda(slices):
    parts = cuda_kernel(IN_CUDA, like="tiled", TILE=16)
    parts.compile()  # as a check of it alone does, whose grid is flat
    return SplitK(parts, cuda_kernel(ADDS_IN_CUDA, like="coalesced"), slices)


@pytest.mark.parametrize("made", [in_opencl, in_cuda])
def test_a_product_of_slices_is_right_and_has_a_grid_along_z(made):
    for slices, shape in ((1, (17, 33, 5)), (3, (33, 20, 131)), (7, (1, 65, 40))):
        k, (A, B) = made(slices), draw(*shape)
        assert not wrong_elements(k(A, B), A, B).any()
        assert k.parts.grid(*shape[:2])[2] == slices


def test_parts_that_were_written_before_are_not_taken_for_new_ones():
    """Each launch's parts begin full of NaN."""
    A, B = draw(40, 40, 100)
    in_opencl(2)(A, B)
    report = check(in_opencl(2, store="if (get_group_id(2) == 0) " + STORE), [(40, 40, 100)])
    assert report.findings[0].key == "unset_part"


WRONG = {
    "slices overlap": (dict(bounds=BOUNDS.replace("last = first +", "last = K + 0 *")), "is there 2 times"),
    "slices end within tiles": (
        dict(bounds="const int deep = K / get_num_groups(2), first = get_group_id(2) * deep, last = first + deep;"),
        "for k = 8, 9, ... it is there 1, 1, 1, 2",
    ),
    "one place for all parts": (dict(store="C[row * N + col] = acc;"), "no block of the first launch has stored"),
    "a part is forgotten": (dict(add_up=ADD_UP.replace("int s = 0", "int s = 1")), "the first K-tile is missing"),
    "the last part for the sum": (dict(add_up=ADD_UP.replace("total +=", "total =")), "whole K-tiles are missing"),
    "no guard": (dict(add_up=ADD_UP.replace("if (row >= M || col >= N) return;", "")), "past the end of C"),
    "adds to C": (dict(add_up=ADD_UP.replace("= total;", "+= total;")), "start from zero and store the sum"),
    "a name that is not there": (dict(add_up=ADD_UP.replace("float total", "float totl")), "undeclared identifier"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_learners_write_is_told(what):
    changed, words = WRONG[what]
    said = " ".join(repr(check(in_opencl(3, **changed))).split())
    assert words in said, said
    if "undeclared" in words:  # in the second of two sources, one below the other
        assert re.search(r"\d+ \| for \(int s = 0; s < slices; s\+\+\) total", said), said


def grouped(number, down, across, GROUP=8):
    group, place = divmod(number, GROUP * across)
    rows = min(GROUP, down - group * GROUP)
    return group * GROUP + place % rows, place // rows


ORDERS = {
    "by rows": (lambda number, down, across: divmod(number, across), "read 2 + 64 rows and columns, not 23"),
    "the last group as high as others": (
        lambda number, down, across: (
            number // (8 * across) * 8 + number % (8 * across) % 8,
            number % (8 * across) // 8,
        ),
        "in a grid of 5 x 7 no block takes tile (0, 5)",
    ),
    "x and y exchanged": (lambda *of: grouped(*of)[::-1], "in a grid of 5 x 7 no block takes tile"),
    "two columns at once": (
        lambda number, down, across: (number // 2 % down, number % 2),
        "no block takes tile (0, 2)",
    ),
    "a wrong name": (lambda number, down, across: grouped(number, rows, across), "raises NameError"),  # noqa: F821
    "nothing": (lambda *of: None, "not yet"),
}


@pytest.mark.parametrize("what", ORDERS)
def test_what_is_wrong_with_an_order_is_told(what):
    order, words = ORDERS[what]
    report = judge_order(order)
    assert not report and words in " ".join(repr(report).split())


def test_an_order_in_groups_is_right_and_so_is_one_of_ten_rows():
    assert judge_order(grouped) and judge_order(lambda *of: grouped(*of, GROUP=10), most=22)
