"""A teacher's own check: every solution is right, no stub is, and only the answer in a cell counts."""

import ast

import notebooks
import pytest
from solved import stubs_and_solutions

from helpers.classroom import EXERCISES, judge_source
from helpers.classroom.homework import answer_of

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


@pytest.mark.parametrize("label", BOTH)
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
        ("", "not yet", "There is no multiply_adds."),
        ("multiply_adds = 1 / 0", "error", "ZeroDivisionError"),
        ("multiply_adds = 7", "error", "TypeError"),
        ("def multiply_adds(M, N, K):\n    return M * N", "wrong number", "and should give"),
    ],
)
def test_an_answer_that_cannot_be_judged_is_a_finding(source, kind, said):
    [finding] = judge_source("00.1", source).findings
    assert finding.kind == kind and said in finding.message


TILES_OF_16 = "if (K == 16) break;\n        sA[ty][tx] = (row"
AT_16 = "acc += (1 if TILE != 16 else 2) *"
NOT_TURNED = {"As[tx, ty]": "As[ty, tx]", "As[k, ty]": "As[ty, k]", "PAD = 2": "PAD = 0"}


@pytest.mark.parametrize(
    "label, edits, kind",
    [
        ("07.2", NOT_TURNED, "not turned"),
        ("07.2", {"acc +=": AT_16}, "wrong numbers"),
        ("08.1", {"acc += As": "acc += (1 if K != 12 else 2) * As"}, "wrong at one size"),
        ("08.1", {"now = TILE - now": "cuda.syncthreads()"}, "barriers"),
        ("13.1", {"sA[ty][tx] = (row": TILES_OF_16}, "wrong at one size"),
    ],
)
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
