"""Kernels that are wrong beyond small shapes only, or store twice, get no ✓; right ones in any style do."""

import numpy as np
import pytest
from kernels import PLACE, SMALL, STORE, UNDER_OCLGRIND, build, cl

from helpers import check, cuda_kernel
from helpers.checking.products import FunctionProduct
from helpers.checking.run_check import not_yet
from helpers.launch import HostKernel, draw
from kernel_judge import Finding, Kind, Report, error_bound, examine
from kernel_judge.reference import late

ONE_SIZE = "get_group_id(1) * get_local_size(0) + get_local_id(1)"
WRONG = {
    "16 bits for the row": cl(where=PLACE.format("(ushort)get_global_id(0)", "get_global_id(1)")),
    "one group size for both": cl(where=PLACE.format("get_global_id(0)", ONE_SIZE)),
}


@UNDER_OCLGRIND
@pytest.mark.parametrize("source", WRONG.values(), ids=WRONG)
def test_a_wrong_kernel_is_found(source):
    report = check(build("OpenCL", "naive", source))
    assert not report and report.findings[0].kind not in ("not yet", "does not compile"), report


FOURS = """
    float4 four = (float4)(0.0f);
    int k = 0;
    for (; k + 3 < K; k += 4)
        four += vload4(0, A + row * K + k)
              * (float4)(B[k * N + col], B[(k + 1) * N + col], B[(k + 2) * N + col], B[(k + 3) * N + col]);
    float acc = four.x + four.y + four.z + four.w;
    for (; k < K; k++) acc += A[row * K + k] * B[k * N + col];
"""
PRIVATE = """
    float part[2] = {0.0f, 0.0f};
    for (int k = 0; k < K; k++) {
        part[0] += A[row * K + k] * B[k * N + col];
        part[1] = part[0];
    }
    float acc = part[1];
"""
IN_C = """
    C[row * N + col] = 0.0f;
    for (int k = 0; k < K; k++) C[row * N + col] += A[row * K + k] * B[k * N + col];
"""
LAST = "min((size_t)get_global_id({}), (size_t)({} - 1))"
TURNED = "(get_num_groups(0) - 1 - get_group_id(0)) * get_local_size(0) + get_local_id(0)"
STRIDE = """
    const size_t col = get_global_id(1);
    if (col >= N) return;
    for (size_t row = get_global_id(0); row < M; row += get_global_size(0)) {
"""
RIGHT = {
    "fours": cl(total=FOURS),  # Oclgrind dies of it while it looks for what nobody has set, but where all is as written
    "a private array": cl(total=PRIVATE),
    "the sum in C itself": cl(total=IN_C, store=""),
    "clamped, the last stored again and again": cl(
        where=PLACE.format(LAST.format(0, "M"), LAST.format(1, "N")), guard=""
    ),
    "a stride of the whole grid": cl(where=STRIDE, guard="", store=STORE + "    }\n"),
    "blocks in another order": cl(where=PLACE.format(TURNED, "get_global_id(1)")),
}


@UNDER_OCLGRIND
@pytest.mark.parametrize("source", RIGHT.values(), ids=RIGHT)
def test_a_right_kernel_is_not_refused(source):
    report = check(build("OpenCL", "naive", source), [(5, 6, 7), (9, 10, 33)])
    assert report and report.notes == (), report


ATOMIC = """
from numba import cuda, float32

@cuda.jit
def mine(A, B, C):
    M, K = A.shape
    N = B.shape[1]
    sums = cuda.shared.array((4, 4), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, col = cuda.blockIdx.x * 4 + tx, cuda.blockIdx.y * 4 + ty
    sums[tx, ty] = float32(0)
    cuda.syncthreads()
    if row < M and col < N:
        for k in range(K):
            cuda.atomic.add(sums, (tx, ty), A[row, k] * B[k, col])
    cuda.syncthreads()
    if row < M and col < N:
        C[row, col] = sums[tx, ty]
"""


def test_a_builder_may_refuse_other_sizes():
    head, rest = cuda_kernel("tiled").source.split("    @cuda.jit\n", 1)
    refuses = f"{head}    if TILE != 4:\n        raise ValueError('4 only')\n\n    @cuda.jit\n{rest}"
    assert check(cuda_kernel(refuses, like="tiled", TILE=4))


def test_atomic_sums_are_no_race():
    assert check(cuda_kernel(ATOMIC, like="naive", **SMALL["naive"]), [(5, 6, 7), (9, 10, 33)])


def spoiled(where):
    def function(A, B):
        C = A @ B
        C[where] += 1
        return C

    return function


FROM = "wrong from a bound on"


@pytest.mark.parametrize(
    "function, shapes, kind, said",
    [
        (spoiled(np.s_[64:]), [(70, 70, 70), (60, 80, 70)], FROM, "right before row 64, and wrong in each row from"),
        (spoiled(np.s_[:, 64:]), [(70, 70, 70)], FROM, "right before column 64, and wrong in each column from there"),
        (
            lambda A, B: A @ B + (A.shape[1] > 80),
            [(70, 70, 70), (60, 60, 90)],
            FROM,
            "right up to K = 70, and wrong at K = 90",
        ),
        (  # a larger one is right, so it is no bound
            lambda A, B: spoiled(np.s_[64:] if len(A) == 70 else np.s_[:0])(A, B),
            [(70, 70, 70), (80, 80, 80)],
            "wrong numbers",
            "right at other shapes, and wrong at 70 x 70 x 70",
        ),
    ],
)
def test_where_a_large_product_begins_to_be_wrong(function, shapes, kind, said):
    [finding] = check(function, shapes).findings
    assert finding.kind == kind and said in finding.message, finding


def findings(function, *shapes):
    return examine(FunctionProduct(HostKernel(function)), [*shapes]).findings


def test_products_of_a_long_sum_that_are_missing_or_taken_twice_are_more_than_its_bound():
    from_the_start = np.arange(65_839) % 2**16  # as a number of 16 bits counts
    for _ in range(3):
        assert findings(lambda A, B: A[:, from_the_start] @ B[from_the_start], (4, 6, 65_839))
        assert findings(lambda A, B: A[:, :65_000] @ B[:65_000], (2, 3, 65_839))
        assert not findings(np.matmul, (2, 3, 65_839), (3, 4, 5))
    A, B = late(*draw(4, 6, 65_839))
    off = np.abs((A[:, from_the_start] - A).astype(np.float64) @ B[from_the_start] + A @ (B[from_the_start] - B))
    assert (off > 4 * error_bound(A, B)).all()


def test_what_has_no_pattern_says_what_was_seen_at_the_smallest_shape_and_no_cause():
    [finding] = check(spoiled(np.s_[3, 5]), [(80, 80, 80), (70, 70, 70)]).findings
    assert finding.message == "wrong at 70 x 70 x 70 (M x N x K), where C[3, 5] is the first wrong element"


def test_not_yet_is_for_the_placeholder_only():
    zeros = Report("k", (Finding(Kind.ZEROS, "zeros_of_a_function"),))
    unfilled = build("OpenCL", "naive", "// your turn\n" + cl())
    assert not_yet(build("OpenCL", "naive", cl()), zeros) == zeros
    assert not_yet(unfilled, zeros).findings == (Finding(Kind.NOT_YET, "not_yet_zeros"),)
    race, right = Report("k", (Finding(Kind.RACE, "two"),)), Report("k", ())
    assert not_yet(unfilled, race) == race and not_yet(unfilled, right) == right


CHANGES_A = STORE + "    if (col == 0) ((__global float *)A)[row * K] = 0.0f;\n"


@UNDER_OCLGRIND
def test_what_c_does_not_show_is_found():
    report = check(build("OpenCL", "naive", cl(store=CHANGES_A)), [(1, 1, 1)])
    assert not report and report.findings[0].kind == "writes to an input", report
