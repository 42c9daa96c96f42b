"""Page 16: split-K in two launches of either dialect, and the order of blocks; what their verdicts say."""

import re

import pytest

from helpers import check, cuda_kernel, opencl_kernel, with_part
from helpers.exercises.block_order import judge_order
from helpers.exercises.split_k import SplitK
from helpers.launch import draw
from kernel_judge import wrong_elements

BOUNDS = "const int whole = TILE * get_num_groups(2), first = get_group_id(2) * ((K + whole - 1) / whole * TILE);"
BOUNDS += "\n    const int last = first + (K + whole - 1) / whole * TILE;"
STORE = "C[(get_group_id(2) * M + row) * N + col] = acc;"
ADDS = """float acc = 0.0f;
for (int s = 0; s < K; s++) acc += A[(s * M + row) * N + col];
C[row * N + col] = acc;
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


def in_opencl(slices, bounds=BOUNDS, store=STORE, adds=ADDS):
    parts = opencl_kernel("tiled").source.replace("    float acc", f"    {bounds}\n    float acc")
    parts = parts.replace("k0 = 0; k0 < K;", "k0 = first; k0 < last;").replace("C[row * N + col] = acc;", store)
    add_up = opencl_kernel(with_part("OpenCL", "coalesced", 3, adds), like="coalesced")
    return SplitK(opencl_kernel(parts, like="tiled"), add_up, slices)


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
    "one place for all parts": (
        dict(store="C[row * N + col] = acc;"),
        "row 33 of the parts, where row 0 of part 1 belongs, holds no number after the first launch",
    ),
    "parts in turns": (
        dict(store="C[(row * get_num_groups(2) + get_group_id(2)) * N + col] = acc;"),
        "element (row * slices + s) * N + col of them is slice s's part of C[row, col]",
    ),
    "parts read in turns": (
        dict(adds=ADDS.replace("s * M + row", "row * K + s")),
        "element (s * M + row) * N + col of them is slice s's part of C[row, col]",
    ),
    "adds to C": (dict(adds=ADDS.replace("= acc;", "+= acc;")), "start from zero and store the sum"),
    "nobody has begun": (dict(store="C[row * N + col] = acc;", adds=ADDS.replace("acc +=", "//")), "zeros: every"),
    "a name that is not there": (dict(adds=ADDS.replace("float acc", "float ac")), "undeclared identifier"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_learners_write_is_told(what):
    changed, words = WRONG[what]
    said = " ".join(repr(check(in_opencl(3, **changed))).split())
    assert words in said, said
    if "undeclared" in words:  # in the second of two sources, one below the other
        assert re.search(r"\d+ \| for \(int s = 0; s < K; s\+\+\) acc", said), said


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
        "in a grid of 5 x 7 (down x across) block 5 takes tile (5, 0), outside",
    ),
    "x and y exchanged": (lambda *of: grouped(*of)[::-1], "takes tile (5, 0), outside"),
    "a tile twice": (
        lambda number, down, across: (number // across % 4, number % across),
        "block 28 takes tile (0, 0)",
    ),
    "a division": (lambda number, down, across: (number / across, number % across), "takes tile (0.14"),
    "an error": (lambda number, down, across: divmod(number, down - 5), "order: error: <lambda>(0, 5, 7) raises Zero"),
    "nothing": (lambda *of: None, "not yet"),
}


@pytest.mark.parametrize("what", ORDERS)
def test_what_is_wrong_with_an_order_is_told(what):
    order, words = ORDERS[what]
    report = judge_order(order)
    assert not report and words in " ".join(repr(report).split())


def test_an_order_in_groups_is_right_and_so_is_one_of_ten_rows():
    assert judge_order(grouped) and judge_order(lambda *of: grouped(*of, GROUP=10))
