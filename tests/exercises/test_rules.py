"""The rules that exercises share, and the kernels that should load little: right is not enough."""

import pytest

from helpers import cuda_kernel, opencl_kernel, with_part
from helpers.exercises import check_loads, loads, rules
from helpers.judge import Report
from helpers.launch import KernelError
from helpers.sandbox import Finding

NO_LISTS = """
for (int k = 0; k < BK; k++)
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j++) acc[i][j] += As[ty + i * THREADS_Y][k] * Bs[k][tx + j * THREADS_X];
"""
SMALL = dict(BM=8, BN=8, BK=4, TM=4, TN=2)
NO_TILES = """
for k in range(k0, min(k0 + TILE, K)):
    if row < M and col < N:
        acc += A[row, k] * B[k, col]
k0 += TILE
"""


def test_a_rung_loads_as_little_as_itself():
    """In OpenCL; that one of CUDA does is among the answers to page 06's exercise."""
    k = opencl_kernel(opencl_kernel("register_2d").source, like="register_2d", **SMALL)
    report = check_loads(k)
    assert report and "is right" in repr(report) and not report.not_looked_for


def test_a_loop_without_register_lists_is_right_and_does_not_pass():
    """In OpenCL; one of CUDA is among the answers to page 06's exercise."""
    report = check_loads(opencl_kernel(with_part("OpenCL", "register_2d", 3, NO_LISTS), like="register_2d", **SMALL))
    assert not report and "computes the right C, but misses the idea" in repr(report)
    assert "too many loads: 8,192 from shared memory at 16 x 16 x 16, where 3,072 do." in repr(report)


def test_a_kernel_that_stages_no_tiles_does_not_pass():
    report = check_loads(cuda_kernel(with_part("CUDA", "tiled", (1, 4), NO_TILES), like="tiled", TILE=4))
    assert not report and "8,192 from global memory at 16 x 16 x 16, where 2,048 do." in repr(report)


def test_numbers_of_the_edge_in_place_of_zeros_do_not_pass():
    staged = "A[row, k0 + tx] if row < M and k0 + tx < K else float32(0)"
    edge = "A[min(row, M - 1), min(k0 + tx, K - 1)] * (row < M and k0 + tx < K)"
    source = cuda_kernel("tiled").source
    report = check_loads(cuda_kernel(source.replace(staged, edge), like="tiled", TILE=4))
    assert not report and "computes the right C, but misses the idea" in repr(report)
    assert "1,924 from global memory at 15 x 15 x 15, where 1,800 do." in repr(report)


@pytest.mark.parametrize("size", ["K", *(pytest.param(size, marks=pytest.mark.bulk) for size in "MN")])
def test_a_kernel_that_only_sums_where_nobody_counts_does_not_pass(size):
    sums = {
        cuda_kernel: NO_TILES.replace("if row", f"if {size} != 16 and row"),
        opencl_kernel: f"for (int k = k0; k < min(k0 + TILE, K); k++)\n    if ({size} != 16 && row < M && col < N) "
        "acc += A[row * K + k] * B[k * N + col];",
    }
    for build, text in sums.items():
        dialect = "CUDA" if build is cuda_kernel else "OpenCL"
        report = check_loads(build(with_part(dialect, "tiled", (1, 4), text), like="tiled", TILE=4))
        assert not report and "is wrong" in repr(report) and " 16 " in repr(report), report


def test_what_is_wrong_or_unfilled_is_told_as_by_check():
    def tiled(text):
        return check_loads(cuda_kernel(with_part("CUDA", "tiled", (1, 4), text), like="tiled", TILE=4))

    assert "not yet" in repr(tiled("k0 += TILE  # your turn"))
    assert "is wrong" in repr(tiled(NO_TILES.replace("acc +=", "acc -=")))


def test_where_nothing_counts_the_verdict_says_so(monkeypatch):
    def uncounted(*_):
        raise KernelError("nobody can follow it")

    monkeypatch.setattr(loads, "trace", uncounted)
    report = check_loads(cuda_kernel(with_part("CUDA", "tiled", (1, 4), NO_TILES), like="tiled", TILE=4))
    assert report and "not looked for here: how much it loads: nobody can follow it" in repr(report)


def test_a_right_kernel_is_tried_with_the_sizes_of_an_exercise(monkeypatch):
    asked, found, right = [], [], Report("k", (), 1)
    monkeypatch.setattr(rules, "wrong_at", lambda k, shape: asked.append((k.parameters, shape)) or found)
    k = opencl_kernel("naive", BM=4, BN=8)  # x, whose threads come first, counts rows
    assert rules.right_with(k, right, dict(BM=2, BN=3), dict(BN=16)) is right
    assert asked == [(dict(BM=2, BN=3), (4 * 2 + 1, 5 * 3 + 1, 17)), (dict(BM=4, BN=16), (6 * 4 + 1, 6 * 16 + 1, 17))]
    found += [Finding("race", "a", (2,)), Finding("zeros", "b")]
    [finding] = rules.right_with(k, right, dict(BN=16), dict(BN=2)).findings
    assert finding.kind == "wrong at other sizes" and finding.lines == (2,) and "BN=16" in finding.message
    wrong = Report("k", tuple(found), 1)
    assert rules.right_with(k, wrong, dict(BN=16)) is wrong and len(asked) == 3


def test_a_text_that_has_passed_is_not_checked_again_in_the_next_cell(monkeypatch):
    source, asked, found = opencl_kernel("naive").source, [], [Finding("race", "")]
    monkeypatch.setattr(rules, "PASSED", {})
    monkeypatch.setattr(rules, "check", lambda k: asked.append(k) or Report("k", tuple(found), 1))
    for wanted, sizes in ((1, dict(BM=4, BN=4)), (2, dict(BM=4, BN=4)), (2, dict(BM=4, BN=4)), (3, dict(BM=4, BN=8))):
        k = opencl_kernel(source, like="naive", **sizes)
        assert bool(rules.right(k)) == (not found) and len(asked) == wanted
        found.clear()  # the first one was wrong
    assert [k.checked for k in asked] == [False] * 3  # that is the check's part
    again = opencl_kernel(source, like="naive", BM=4, BN=4)
    assert rules.right(again) and again.checked and len(asked) == 3
