"""What a verdict draws of the kernels that the pages break: cells, arrows and words, in both dialects."""

import re

import pytest
from artists import cells, frames, matrix

from helpers import check, cuda_kernel, opencl_kernel
from helpers.devices import oclgrind_library
from helpers.pictures.drawing import tint
from helpers.pictures.verdicts import picture_finding, show_verdict
from kernel_judge import Drawn, Finding, Report

INK, FAULT, PAPER, A, B, C = "#333333", "#c4302b", "#f4f4f2", "#2f6db3", "#d9822b", "#3d9a50"
BUILD = {"CUDA": cuda_kernel, "OpenCL": opencl_kernel}
BARRIER = {"CUDA": "cuda.syncthreads()", "OpenCL": "barrier(CLK_LOCAL_MEM_FENCE);"}
GUARD = {
    "CUDA": "if row >= C.shape[0] or col >= C.shape[1]:\n            return",
    "OpenCL": "if (row >= M || col >= N) return;",
}
DIALECTS = ["CUDA", pytest.param("OpenCL", marks=pytest.mark.skipif(not oclgrind_library(), reason="no Oclgrind here"))]
SHAPE = 5, 7, 9


def findings(dialect, step, old, new="", last=False, **sizes):
    """What a check of one shape finds in a step whose text is changed, in its first or its last place."""
    before, there, behind = getattr(BUILD[dialect](step, **sizes).source, "rpartition" if last else "partition")(old)
    assert there
    return check(BUILD[dialect](before + new + behind, like=step, **sizes), [SHAPE]).findings


def numbers(text):
    """The places and the elements in a caption."""
    return [tuple(map(int, pair)) for pair in re.findall(r"[(\[](\d+), (\d+)[)\]]", text)]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_missing_barrier_shows_the_tile_and_the_element(dialect, drawn):
    first = dialect == "CUDA"  # in OpenCL the second
    for finding in findings(dialect, "tiled", BARRIER[dialect], "pass" * first, not first, TILE=4)[:2]:
        text = picture_finding(finding).text
        name, (_, _, element, *_) = re.search("[AB]s", text)[0], numbers(text)
        (array,) = drawn[-1].axes
        assert cells(array) == dict.fromkeys(matrix(4, 4, {}), tint({"A": A, "B": B}[name[0]], 0.4)) | {element: FAULT}
        assert array.get_title() == f"{name} (4 x 4)" and f"{name}[{element[0]}, {element[1]}]" in text
        assert [arrow.xy for arrow in array.texts] == [(element[1] + 0.5, element[0] + 0.5)] * 2  # one of each thread


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_missing_guard_shows_the_end_of_the_array_and_what_lies_behind_it(dialect, drawn):
    """Rows 5 and on of A are behind its end; a block has 32 of them, x, and 8 columns of C."""
    sizes = {"BM": 32, "BN": 8}
    text = picture_finding(findings(dialect, "naive", GUARD[dialect], "pass" * (dialect == "CUDA"), **sizes)[0]).text
    (array,) = drawn[-1].axes
    assert (0, 0, 5, 9, A) in frames(array)
    if dialect == "CUDA":  # in the first iteration of its loop
        rows = 32
        assert text == "thread (5, 0) of block (0, 0) loads past the end of A"
    else:  # Oclgrind names one
        rows = 6
        assert text == "work-item (5, 0) of work-group (0, 0) loads past the end of A"
    behind = {(r, c): FAULT if c == 0 else PAPER for r in range(5, rows) for c in range(9)}
    assert cells(array) == {(r, c): tint(A, 0.4) for r in range(5) for c in range(9)} | behind


def test_of_a_long_array_its_end_is_shown_in_rows_of_a_warp(drawn):
    """1,000,003 elements are 31,250 rows of 32, and three more."""
    behind = tuple(range(1_000_003, 1_000_003 + 189))
    picture_finding(Finding("out of bounds", "it", drawn=Drawn((), "x", (1_000_003,), behind)))
    (array,) = drawn[-1].axes
    shown = cells(array)
    top = 31_256 - 64
    assert {32 * (top + r) + c for (r, c), colour in shown.items() if colour == FAULT} == set(behind)


def test_of_a_large_matrix_what_lies_around_the_element_is_shown(drawn):
    picture_finding(Finding("wrong", "it", drawn=Drawn((), "C", (200, 300), (100 * 300 + 250,))))
    shown = cells(*drawn[-1].axes)  # rows from 68 and columns from 218 on
    assert len(shown) == 64 * 64 and [cell for cell, colour in shown.items() if colour == FAULT] == [(32, 32)]


def test_elements_that_nobody_stores_are_red(drawn):
    (hole,) = findings("CUDA", "naive", "col >= C.shape[1]", "col >= C.shape[1] or row == 2")
    assert picture_finding(hole).text == "7 of the 35 elements of C, in red, are never stored"
    assert cells(*drawn[-1].axes) == {(r, c): FAULT if r == 2 else tint(C, 0.4) for r in range(5) for c in range(7)}


def test_a_verdict_is_shown_above_its_picture_and_is_ipythons_where_it_has_none(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda one, raw=False: shown.append(one))
    hole = Drawn((Finding("", "one of two is never stored"),), "C", (1, 2), (1,))
    report = Report("k", (Finding("unwritten", "some", drawn=hole),))
    show_verdict(report)
    assert shown[0]["text/plain"] == str(report) and shown[1].text == "one of two is never stored"
    with pytest.raises(NotImplementedError):
        show_verdict(Report("k", (Finding("hang", "it hangs"),)))
