"""What a verdict draws of the kernels that the pages break: cells, arrows and words, in both dialects."""

import re

import pytest
from artists import cells, frames, matrix
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from matplotlib.patches import ArrowStyle, ConnectionPatch

from helpers import check, cuda_kernel, notebook, opencl_kernel
from helpers.devices import oclgrind_library
from helpers.pictures.drawing import tint
from helpers.pictures.verdicts import picture_finding
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
@pytest.mark.parametrize("last", [False, True], ids=["first", "second"])
def test_a_missing_barrier_shows_the_tile_the_element_and_who_reads_and_writes_it(dialect, last, drawn):
    for finding in findings(dialect, "tiled", BARRIER[dialect], "pass" * (dialect == "CUDA"), last, TILE=4)[:2]:
        text = picture_finding(finding).text
        name, (now, block, element, before, other_block) = re.search("[AB]s", text)[0], numbers(text)
        who, array = drawn[-1].axes
        assert block == other_block and f"({block[0]}, {block[1]})" in who.get_title()
        assert cells(who) == matrix(4, 4, {before[::-1]: tint(INK, 0.4)} | {now[::-1]: tint(FAULT, 0.4)})
        colour = {"A": A, "B": B}[name[0]]
        assert cells(array) == dict.fromkeys(matrix(4, 4, {}), tint(colour, 0.4)) | {element: tint(colour, 0.8)}
        assert array.get_title() == f"{name} (4 x 4)" and f"{name}[{element[0]}, {element[1]}]" in text
        writer, reader = (now, before) if " writes " in text else (before, now)
        assert writer == element[::-1] and writer != reader  # thread (x, y) stages row y, column x
        assert reader[1 if name == "As" else 0] == element[0 if name == "As" else 1]
        arrows = {arrow.xy1: arrow for arrow in drawn[-1].findobj(ConnectionPatch)}
        assert set(arrows) == {(x + 0.5, y + 0.5) for x, y in (writer, reader)}
        assert {arrow.xy2 for arrow in arrows.values()} == {(element[1] + 0.5, element[0] + 0.5)}
        heads = [type(arrows[x + 0.5, y + 0.5].get_arrowstyle()) for x, y in (writer, reader)]
        assert heads == [ArrowStyle.CurveFilledB, ArrowStyle.CurveFilledA]  # into the array, and out of it


def test_where_only_one_of_several_threads_is_known_it_is_drawn_alone(drawn):
    """Page 10's: a tile is stored over the one that is being read."""
    sizes = dict(BM=8, BN=8, BK=8, TM=4, TN=4, WM=8, WN=8)
    race = findings("CUDA", "prefetched", "now = uint32(BK) - now", "now = uint32(0)", **sizes)[0]
    text = picture_finding(race).text
    assert text.startswith("thread (0, 0) of block (0, 0) writes As[0, 0], which another thread than (0, 0)")
    assert text in race.message and "overwrite what others are still reading from As" in race.message
    (arrow,) = drawn[-1].findobj(ConnectionPatch)
    assert arrow.xy1 == (0.5, 0.5) and list(cells(drawn[-1].axes[0]).values()).count(tint(FAULT, 0.4)) == 1


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_missing_guard_shows_the_end_of_the_array_and_who_reaches_behind_it(dialect, drawn):
    """Rows 5 and on of A are behind its end; a block has 32 of them, x, and 8 columns of C."""
    sizes = {"BM": 32, "BN": 8}
    text = picture_finding(findings(dialect, "naive", GUARD[dialect], "pass" * (dialect == "CUDA"), **sizes)[0]).text
    who, array = drawn[-1].axes
    assert (0, 0, 5, 9, A) in frames(array) and "(0, 0)" in who.get_title()
    if dialect == "CUDA":  # in the first round of its loop
        red, rows = {(y, x) for y in range(8) for x in range(5, 32)}, 32
        assert text == "thread (5, 0) of block (0, 0) loads behind the end of A"
    else:  # Oclgrind names one
        red, rows = {(0, 5)}, 6
        assert text == "work-item (5, 0) of work-group (0, 0) loads behind the end of A"
    behind = {(r, c): FAULT if c == 0 else PAPER for r in range(5, rows) for c in range(9)}
    assert cells(array) == {(r, c): tint(A, 0.4) for r in range(5) for c in range(9)} | behind
    assert cells(who) == {(y, x): FAULT if (y, x) in red else PAPER for y in range(8) for x in range(32)}


def test_of_a_long_array_its_end_is_shown_in_rows_of_a_warp(drawn):
    """1,000,003 elements are 31,250 rows of 32, and three more; 189 of the last block's 256 threads lie behind them."""
    behind = tuple(range(1_000_003, 1_000_003 + 189))
    places = tuple((x, 0) for x in range(67, 256))
    picture_finding(
        Finding("out of bounds", "it", drawn=Drawn((), "x", (1_000_003,), behind, Finding("", "who"), (256, 1), places))
    )
    who, array = drawn[-1].axes
    assert cells(who) == {divmod(n, 32): FAULT if n >= 67 else PAPER for n in range(256)}
    shown = cells(array)
    top = 31_256 - 64
    assert {32 * (top + r) + c for (r, c), colour in shown.items() if colour == FAULT} == set(behind)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_race_of_blocks_shows_the_grid(dialect, drawn):
    old, new = {"CUDA": ("C[row, col]", "C[row, 0]"), "OpenCL": ("C[row * N + col]", "C[row * N]")}[dialect]
    (finding,) = findings(dialect, "naive", old, new, BM=8, BN=4)
    text = picture_finding(finding).text
    _, block, element, _, other = numbers(text)
    who, array = drawn[-1].axes
    assert element[1] == 0 and cells(array)[element] == tint(C, 0.8) and array.get_title() == "C (5 x 7)"
    if block != other:
        assert cells(who) == matrix(2, 1, {block[::-1]: tint(FAULT, 0.4)} | {other[::-1]: tint(INK, 0.4)})
    else:
        assert len(cells(who)) == 32


def test_elements_that_nobody_stores_are_red(drawn):
    (hole,) = findings("CUDA", "naive", "col >= C.shape[1]", "col >= C.shape[1] or row == 2")
    assert picture_finding(hole).text == "7 of the 35 elements of C, in red, are never stored"
    assert cells(*drawn[-1].axes) == {(r, c): FAULT if r == 2 else tint(C, 0.4) for r in range(5) for c in range(7)}


def test_a_notebook_shows_the_picture_below_the_text_and_nothing_where_there_is_none(request, capsys):
    shell = InteractiveShell.instance(display_pub_class=CapturingDisplayPublisher)
    request.addfinalizer(InteractiveShell.clear_instance)
    notebook.prepare(shell)
    hole = Drawn((Finding("", "one of two is never stored"),), "C", (1, 2), (1,))
    shell.user_ns["report"] = report = Report("k", (Finding("unwritten", "some", drawn=hole),))
    shell.run_cell("report")
    text, picture = (output["data"] for output in shell.display_pub.outputs)
    assert text["text/plain"] == str(report) and "image/png" not in text
    assert picture["image/png"] and picture["text/plain"] == "one of two is never stored"
    shell.user_ns["report"] = Report("k", (Finding("hang", "it hangs"),))
    assert shell.run_cell("report").success and len(shell.display_pub.outputs) == 2
    assert capsys.readouterr().out.endswith("✗ k is wrong.\n  hang: it hangs.\n")
