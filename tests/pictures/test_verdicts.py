"""What a verdict draws of the kernels that the pages break: cells, frames, arrows and words, in both dialects."""

import re

import pytest
from artists import cells, frames, matrix
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from matplotlib.patches import ArrowStyle, ConnectionPatch

import helpers
from helpers import check, cuda_kernel, opencl_kernel
from helpers.checking.touched import in_red, outside_of
from helpers.devices import oclgrind_library
from helpers.judge import Finding, Report
from helpers.pictures.drawing import tint
from helpers.pictures.verdicts import picture_finding

INK, FAULT, PEER, A, B, C = "#333333", "#c4302b", "#8a8a86", "#2f6db3", "#d9822b", "#3d9a50"
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
    """A place or an element, as in a caption."""
    return [tuple(map(int, pair)) for pair in re.findall(r"[(\[](\d+), (\d+)[)\]]", text)]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("last", [False, True], ids=["first", "second"])
def test_a_missing_barrier_shows_the_tile_the_element_and_who_reads_and_writes_it(dialect, last, drawn):
    for finding in findings(dialect, "tiled", BARRIER[dialect], "pass" * (dialect == "CUDA"), last, TILE=4)[:2]:
        text = picture_finding(finding).text
        name, (now, *_), before = re.search("[AB]s", text)[0], *(numbers(half) for half in text.split(", and "))
        place, block, element = numbers(text)[:3]
        other, other_block = before
        assert (now, block) == (place, other_block)
        who, array = drawn[-1].axes
        assert cells(who) == matrix(4, 4, {other[::-1]: tint(INK, 0.4)} | {place[::-1]: tint(FAULT, 0.4)})
        colour = {"A": A, "B": B}[name[0]]
        assert cells(array) == dict.fromkeys(matrix(4, 4, {}), tint(colour, 0.4)) | {element: tint(colour, 0.8)}
        assert (*element, 1, 1, INK) in frames(array) and array.get_title() == f"{name} (4 x 4)"
        writer, reader = (place, other) if " writes " in text.split(", and ")[0] else (other, place)
        assert writer == element[::-1] and writer != reader  # thread (x, y) stages row y, column x
        assert reader[1 if name == "As" else 0] == element[0 if name == "As" else 1]
        arrows = {arrow.xy1: arrow for arrow in drawn[-1].findobj(ConnectionPatch)}
        assert set(arrows) == {(x + 0.5, y + 0.5) for x, y in (writer, reader)}
        assert {arrow.xy2 for arrow in arrows.values()} == {(element[1] + 0.5, element[0] + 0.5)}
        heads = [type(arrows[x + 0.5, y + 0.5].get_arrowstyle()) for x, y in (writer, reader)]
        assert heads == [ArrowStyle.CurveFilledB, ArrowStyle.CurveFilledA]  # into the array, and out of it
        lines = dict(re.findall(r"(reads|writes) .*? in line (\d+)", text))
        assert sorted(map(int, lines.values())) == sorted(finding.lines)
        assert (int(lines["writes"]) == min(finding.lines)) and text.endswith("; nothing orders the two.")


def test_where_only_one_of_several_threads_is_known_it_is_drawn_alone(drawn):
    """Page 10's: a tile is stored over the one that is being read."""
    sizes = dict(BM=8, BN=8, BK=8, TM=4, TN=4, WM=8, WN=8)
    race = findings("CUDA", "prefetched", "now = uint32(BK) - now", "now = uint32(0)", **sizes)[0]
    text = picture_finding(race).text
    later, other = text.split(", and ")
    assert "which another thread than (0, 0)" in race.message and other.startswith("another thread reads it in line ")
    (arrow,) = drawn[-1].findobj(ConnectionPatch)
    assert arrow.xy1 == (0.5, 0.5) and list(cells(drawn[-1].axes[0]).values()).count(tint(FAULT, 0.4)) == 1
    assert later.startswith("Thread (0, 0) of block (0, 0) writes As[0, 0] in line ")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_missing_guard_shows_the_end_of_the_array_and_who_reaches_behind_it(dialect, drawn):
    """Rows 5 and on of A are behind its end; a block has 32 of them, x, and 8 columns of C."""
    sizes = {"BM": 32, "BN": 8}
    text = picture_finding(findings(dialect, "naive", GUARD[dialect], "pass" * (dialect == "CUDA"), **sizes)[0]).text
    *who, array = drawn[-1].axes
    red = {(r, c): FAULT for r in range(5, 17) for c in (range(9) if not who else range(1))}  # in its first round
    assert cells(array) == matrix(17, 9, {(r, c): tint(A, 0.4) for r in range(5) for c in range(9)} | red)
    assert (0, 0, 5, 9, A) in frames(array)
    if who:
        assert cells(*who) == {(y, x): tint(C, 0.4) if x < 5 else FAULT for y in range(8) for x in range(32)}
        counted = "216 of the 256 threads of block (0, 0) reach behind the end of A, thread (5, 0) first."
        assert text == counted
    else:
        assert text == "Work-item (5, 0) of work-group (0, 0) is the first that reaches behind the end of A."


@pytest.mark.parametrize("first, way, top", [(1_000_003, 1, 31_245), (-64, 1, -2)])
def test_of_a_long_array_its_end_is_shown_in_rows_of_a_warp(first, way, top, drawn):
    """1,000,003 elements are 31,250 rows of 32, and three more; 189 of the last block's 256 threads lie behind them."""
    touched = [first + way * n for n in range(189 if first > 0 else 64)]
    values = in_red(range(67, 256), (256, 1)) | dict(thread=(67, 0), block=(3906, 0))
    values |= outside_of("x", (1_000_003,), touched)
    where = "behind the end of x" if first > 0 else "before x"
    text = f"189 of the 256 threads of block (3906, 0) reach {where}, thread (67, 0) first."
    assert picture_finding(Finding("out of bounds", "", (), values)).text == text
    who, array = drawn[-1].axes
    assert cells(who) == {divmod(n, 32): tint(C, 0.4) if n < 67 else FAULT for n in range(256)}
    shown = cells(array)
    assert {32 * (top + r) + c for (r, c), colour in shown.items() if colour == FAULT} == set(touched)
    own = {32 * (top + r) + c for (r, c), colour in shown.items() if colour == tint(PEER, 0.4)}
    assert own == (set(range(32 * top, 1_000_003)) if first > 0 else set(range(6 * 32)))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_race_of_blocks_shows_the_grid(dialect, drawn):
    old, new = {"CUDA": ("C[row, col]", "C[row, 0]"), "OpenCL": ("C[row * N + col]", "C[row * N]")}[dialect]
    (finding,) = findings(dialect, "naive", old, new, BM=8, BN=4)
    text = picture_finding(finding).text
    _, block, element, _, other = numbers(text)
    who, array = drawn[-1].axes
    assert element[1] == 0 and (*element, 1, 1, INK) in frames(array) and array.get_title() == "C (5 x 7)"
    if block != other:
        assert cells(who) == matrix(2, 1, {block[::-1]: tint(FAULT, 0.4)} | {other[::-1]: tint(INK, 0.4)})
    else:
        assert len(cells(who)) == 32


def test_a_barrier_that_some_do_not_reach_and_elements_that_nobody_stores(drawn):
    begins = "        acc = float32(0)"
    leaves = f"        if col >= N:\n            return\n{begins}"
    text = picture_finding(findings("CUDA", "tiled", begins, leaves, TILE=4)[0]).text
    assert text == "12 of the 16 threads of block (1, 0) come to the barrier; the others, in red, do not."
    assert cells(*drawn[-1].axes) == {(y, x): FAULT if x == 3 else tint(C, 0.4) for y in range(4) for x in range(4)}
    (hole,) = findings("CUDA", "naive", "col >= C.shape[1]", "col >= C.shape[1] or row == 2")
    assert picture_finding(hole).text == "7 of the 35 elements of C, in red, are never stored."
    assert cells(*drawn[-1].axes) == {(r, c): FAULT if r == 2 else tint(C, 0.4) for r in range(5) for c in range(7)}


def test_a_notebook_shows_the_picture_below_the_text_and_nothing_where_there_is_none(request, capsys):
    shell = InteractiveShell.instance(display_pub_class=CapturingDisplayPublisher)
    request.addfinalizer(InteractiveShell.clear_instance)
    helpers.draw_verdicts(shell)
    values = in_red([1], (2, 1)) | {"block": (0, 0), "drawn": "drawn_barrier"}
    shell.user_ns["report"] = report = Report("k", (Finding("divergent barrier", "some", (), values),))
    shell.run_cell("report")
    text, picture = (output["data"] for output in shell.display_pub.outputs)
    assert text["text/plain"] == str(report) and "image/png" not in text
    assert picture["image/png"] and picture["text/plain"].startswith("1 of the 2 threads of block (0, 0) come")
    shell.user_ns["report"] = Report("k", (Finding("hang", "it hangs"),))
    assert shell.run_cell("report").success and len(shell.display_pub.outputs) == 2
    assert capsys.readouterr().out.endswith("✗ k is wrong.\n  hang: it hangs.\n")
