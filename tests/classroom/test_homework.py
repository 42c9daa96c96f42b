"""A teacher's own check: every solution is right, no stub is, and only the answer in a cell counts."""

import ast

import notebooks
import pytest
from few import few
from solved import stubs_and_solutions

from helpers import opencl_kernel
from helpers.classroom import EXERCISES, homework, judge_source
from helpers.classroom.cells import Cell
from helpers.classroom.homework import answer_of, judge_apart, own_rung

BOTH = stubs_and_solutions()


def test_every_stub_of_the_pages_is_an_exercise():
    marked = {
        cell.id: path.name
        for path in notebooks.notebook_paths()
        for cell in notebooks.read(path).cells
        if cell.cell_type == "code" and "your turn" in cell.source
    }
    known = {exercise.cell for exercise in EXERCISES.values()}
    assert marked.keys() <= known, {marked[cell] for cell in marked.keys() - known}
    assert set(EXERCISES) == set(BOTH), "an exercise without a stub or a solution"


@pytest.mark.parametrize("label", few(BOTH, "00.1", "04.2", "16.1"))
def test_a_stub_is_not_right_and_its_solution_is(label):
    stub, solution = BOTH[label]
    report = judge_source(label, stub)
    assert not report and report.findings[0].kind == "not yet", report
    assert judge_source(label, solution), judge_source(label, solution)


CHECKS = {
    "deleted": lambda call: "",
    "a lie": lambda call: 'print("✓ multiply_adds is right.")',
    "replaced": lambda call: f"check_answer = lambda *_: True\n{call}",
    "a magic": lambda call: f"%time {call}\n!true",
    "never ends": lambda call: f"while True:\n    {call}",
}


@pytest.mark.parametrize("edit", CHECKS.values(), ids=CHECKS)
@pytest.mark.parametrize("which, right", [(0, False), (1, True)], ids=["stub", "solution"])
def test_the_cell_that_checks_changes_nothing(edit, which, right):
    call = 'check_answer("multiply_adds", multiply_adds)'
    source = BOTH["00.1"][which]
    assert call in source
    assert bool(judge_source("00.1", source.replace(call, edit(call)))) is right


@pytest.mark.parametrize(
    "source, kind, said",
    [
        ("def multiply_adds(M, N, K)\n    return 1", "does not compile", "line 1"),
        ("", "no answer", "There is no multiply_adds, and an answer is looked for under that name"),
        ("def product(M, N, K):\n    return M * N * K", "no answer", "under that name; here is product"),
        ("multiply_adds = 1 / 0", "error", "ZeroDivisionError: division by zero, in 'multiply_adds = 1 / 0'"),
        ("multiply_adds = 7", "error", "TypeError"),
        ("if len('a') > 1:\n    multiply_adds = max", "error", "multiply_adds got no value"),
        ("def multiply_adds(M, N, K):\n    return M * times(N, K)", "error", "no cell up to this one defines times"),
        ("def multiply_adds(M, N, K):\n    raise SystemExit(3)", "error", "raises SystemExit: 3"),
        ("import sys\nmultiply_adds = sys.exit()", "exit", "exit(None), in 'multiply_adds = sys.exit()'"),
        ("multiply_adds = 1\nmultiply_adds = nothing", "error", "NameError: name 'nothing' is not defined, in"),
        ("def multiply_adds(M, N, K):\n    return M * N", "wrong number", "and should give"),
    ],
)
def test_an_answer_that_cannot_be_judged_is_a_finding(source, kind, said):
    [finding] = judge_source("00.1", source).findings
    assert finding.kind == kind and said in finding.message


NO_PYTHON = {
    "brackets": "(" * 9_000,
    "minus": "-" * 20_000 + "1",
    "dots": "x = a" + ".b" * 20_000,
    "zeros": "\0",
    "half a letter": "'\ud800'",
    "a string without end": "x = '''",
    "words": "M times N",
    "a star inside": "def f():\n    from math import *",
}


@pytest.mark.parametrize("text", NO_PYTHON.values(), ids=NO_PYTHON)
def test_a_text_that_is_no_python_is_a_finding_and_does_no_harm_above_an_answer(text):
    [finding] = homework.answer_in("00.1", [Cell(f"multiply_adds = 1\n{text}")]).findings
    assert finding.kind == "does not compile" and finding.message
    answer = homework.answer_in("00.1", [Cell("multiply_adds = times")], [Cell("times = max"), Cell(text)])
    assert answer.text == "times = max\nmultiply_adds = times\n"


@pytest.mark.parametrize("label", BOTH)
def test_no_other_cell_of_a_page_gives_an_exercises_names_a_value(label):
    """`progress` takes one that does for an answer."""
    exercise, cells = EXERCISES[label], {exercise.cell for exercise in EXERCISES.values()}
    [page] = notebooks.notebook_paths([exercise.page])
    others = [cell for cell in notebooks.read(page).cells if cell.cell_type == "code" and cell.id not in cells]
    binding = [cell.source for cell in others if Cell(cell.source).touches & set(exercise.names)]
    assert all(source.startswith("# @title A solution") for source in binding), binding


def test_a_kernel_is_judged_with_a_helper_from_a_cell_above():
    """Really judged, in a child, whose kernels go to other children."""
    above = Cell("@cuda.jit(device=True)\ndef product(A, B, row, col, k):\n    return A[row, k] * B[k, col]")
    source = BOTH["02.1"][1].replace("A[row, k] * B[k, col]", "product(A, B, row, col, k)")
    answer = homework.answer_in("02.1", [Cell(source, "02.1")], [above])
    assert homework.judge_answer("02.1", answer, judge_apart)
    [finding] = judge_source("02.1", source).findings
    assert "no cell up to this one defines product" in finding.message


def test_an_endless_kernel_has_no_more_time_than_the_answer(monkeypatch):
    """Its trials run in other processes; their computing counts, too."""
    monkeypatch.setattr(homework, "SECONDS", 3)
    report = judge_source("04.2", BOTH["04.2"][1].replace('k0 += TILE\n"""', '"""'))
    assert [finding.kind for finding in report.findings] == ["hang"]
    assert report.subject != "04.2", "the answer's own process was stopped, and not the trial"


def test_whole_cells_are_looked_at_where_the_text_ends_in_an_error():
    given = []

    def attempt(label, texts):
        given.append(texts)
        return homework.refused(label, "error", "NameError")

    answer = homework.Answer("one", ("one", "two"), "")
    report = homework.judge_answer("00.1", answer, attempt)
    assert report.findings[0].message == "NameError"
    assert given == [("one",), ("one", "two")]


TILES_OF_16 = "if (K == 16) break;\n        sA[ty][tx] = (row"
AT_16 = "acc += (1 if TILE != 16 else 2) *"
NOT_TURNED = {"As[tx, ty]": "As[ty, tx]", "As[k, ty]": "As[ty, k]", "PAD = 2": "PAD = 0"}


ONLY_THERE = [
    ("09.2", NOT_TURNED, "not turned"),
    ("09.2", {"acc +=": AT_16}, "wrong numbers"),
    ("10.1", {"acc += As": "acc += (1 if (M, N, K) != (4, 4, 12) else 2) * As"}, "wrong at one size"),
    ("10.1", {"now = TILE - now": "cuda.syncthreads()"}, "barriers"),
    ("14.1", {"sA[ty][tx] = (row": TILES_OF_16}, "wrong at one size"),
]


@pytest.mark.parametrize("label, edits, kind", few(ONLY_THERE, ONLY_THERE[1], ONLY_THERE[4]))
def test_an_answer_that_is_right_only_where_it_is_compared_or_counted_does_not_pass(label, edits, kind):
    source = BOTH[label][1]
    for old, new in edits.items():
        assert old in source
        source = source.replace(old, new)
    [finding] = judge_source(label, source).findings
    assert finding.kind == kind, finding


def test_what_an_answer_needs_is_kept_and_the_rest_is_not():
    source = "import math\nside = 3\n\n\ndef f(x):\n    return math.sqrt(x) + side\n\n\nprint(f(2))\nother = f(1)\n"
    assert "print" not in answer_of(source, ["f"]) and "other" not in answer_of(source, ["f"])
    assert ast.unparse(ast.parse(answer_of(source, ["f"]))) == ast.unparse(ast.parse(source.split("\n\n\nprint")[0]))


def test_a_decorator_and_a_text_made_in_pieces_are_kept():
    assert answer_of("@cuda.jit\ndef k(A):\n    pass\n", ["k"]).startswith("@cuda.jit\ndef k")
    assert "for" in answer_of("mine = ''\nfor line in 'ab':\n    mine += line\n", ["mine"])


@pytest.mark.parametrize("change", ["// mine", ";", "renamed"])
def test_a_rung_that_is_the_courses_but_for_comments_semicolons_and_names_is_not_ones_own(change):
    source = opencl_kernel("coalesced").source
    source = (
        source.replace("acc", "mine") if change == "renamed" else source.replace("float acc", f"{change}\nfloat acc")
    )
    found = own_rung(opencl_kernel(source, like="coalesced", BM=4, BN=8)).findings
    assert [finding.kind for finding in found] == ["not your own"]
