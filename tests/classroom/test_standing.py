"""`progress` gets every cell of a class's table right, whatever the students' files are, and runs nothing in them."""

import json
import subprocess
import sys

import notebooks
import pytest
from IPython.core.formatters import DisplayFormatter
from solved import stubs_and_solutions

from helpers import ask, classroom, judge_wishes
from helpers.classroom import EXERCISES, LOST, MARK, NOT_RUN, progress, verdicts
from kernel_judge import Finding, Report
from kernel_judge.report import VERDICT
from kernel_judge.stored import LARGEST, verdict_in


def result(value):
    """An output as a cell's last line gives it."""
    data, _ = DisplayFormatter().format(value)
    return {"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": 1}


def printed(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


RIGHT = Report("your kernel", ())
WRONG = Report("your kernel", (Finding("race", "two threads touch As[0]", (1,)), Finding("hang", "it")), "acc += 1")
STUB = ask(lambda n: None, {1: 1})
FAILED = {"output_type": "error", "ename": "NameError", "evalue": "name 'x'\nis not", "traceback": ["\x1b[31mno"]}
SUMS, LOADS, BLOCKS = {"sums: 16": True}, {"loads: 33": False}, {"blocks": None}
# What stands below a cell: (its outputs, the state, what is said).
SAID = {
    "right": ([result(RIGHT)], "done", ""),
    "wrong": ([result(WRONG)], "tried", "race: two threads touch As[0]"),
    "the stub": ([result(STUB)], "not yet", "not yet: It returns nothing so far."),
    "an error": ([FAILED], "tried", "NameError: name 'x' is not"),
    "right, and an error below": ([result(RIGHT), FAILED], "tried", "NameError: name 'x' is not"),
    "one not yet, one not met": ([result(judge_wishes(BLOCKS | LOADS))], "tried", "not met: loads: 33"),
    "two not yet": ([result(judge_wishes(SUMS | BLOCKS)), result(STUB)], "not yet", "not yet: blocks"),
    "all wishes, and a check": ([result(RIGHT), printed("H100\n"), result(judge_wishes(SUMS))], "done", ""),
    "right, and a wish not met": ([result(RIGHT), result(judge_wishes(LOADS))], "tried", "not met: loads: 33"),
    "one not yet, one wrong": ([result(STUB), result(WRONG)], "tried", "race: two threads touch As[0]"),
    "a sign within a line": ([printed("padding 2: 8 rounds, fewest 8 ✓\n")], "not yet", NOT_RUN),
}


@pytest.mark.parametrize("case", SAID)
def test_a_verdict_is_read_as_the_page_shows_it(case):
    outputs, *said = SAID[case]
    assert list(verdict_in(outputs) or ("not yet", NOT_RUN)) == said


def test_every_stub_of_the_pages_is_an_exercise_and_has_its_solution():
    cells = [(path.name, cell) for path in notebooks.notebook_paths() for cell in notebooks.read(path).cells]
    marked = {cell.id: name for name, cell in cells if cell.cell_type == "code" and "your turn" in cell.source}
    assert marked.keys() <= set(EXERCISES.values()), {marked[cell] for cell in marked.keys() - EXERCISES.values()}
    assert set(EXERCISES) == set(stubs_and_solutions())


# What editors and students do to the cells of a file; none of it loses a verdict.
SPOILS = {
    "no ids": {"id": None},
    "other ids": {"id": "x1f2e3d"},
    "no marks": {"source": "mine"},
    "as Colab has it": {"id": None, "source": "mine"},  # https://github.com/googlecolab/colabtools/issues/5402
}


@pytest.mark.parametrize("spoil", SPOILS)
def test_no_editor_loses_a_verdict(tmp_path, spoil):
    cells = []
    for label, (outputs, *_) in zip(EXERCISES, SAID.values(), strict=False):
        cells.append(code(f"{MARK}{label}\nmine", *outputs, id=EXERCISES[label]) | SPOILS[spoil])
        cells[-1]["metadata"] = {"id": EXERCISES[label]} if spoil == "as Colab has it" else {}
    (tmp_path / "00.ipynb").write_text(json.dumps({"cells": cells}))
    assert list(verdicts(tmp_path / "00.ipynb").values()) == [tuple(said) for _, *said in SAID.values()]


def test_nothing_of_a_student_runs_and_nothing_that_runs_it_is_loaded(tmp_path):
    """In a process of its own, where an answer would leave a file, and where what builds kernels would be loaded."""
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "00.ipynb").write_text(page_of("open('ran', 'w')\n%run x\n!touch ran", result(RIGHT)))
    code = "import sys; from helpers.__main__ import main; main(['progress', '.']); "
    code += "print({'numba', 'pyopencl', 'IPython', 'matplotlib'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert "✓" in done.stdout and "ada\n" in done.stdout and done.stdout.endswith("set()\n"), done
    assert {path.name for path in tmp_path.rglob("*")} == {"ada", "00.ipynb"}


def page_of(answer, *outputs, more=()):
    """A page with that text below the mark of exercise 00.1, as the text of a file."""
    return json.dumps({"cells": [code(f"{MARK}00.1\n{answer}", *outputs), *more]}, ensure_ascii=False)


def rows_of(folder):
    """The rows of a class, but for the exercises that `page_of` leaves out."""
    return [row for row in progress(folder).rows if row.exercise in ("", "00.1")]


def code(source, *outputs, **about):
    return {"cell_type": "code", "source": source, "metadata": {}, "outputs": list(outputs), **about}


PROSE = {"cell_type": "markdown", "source": "prose", "metadata": {}}
NOTES = code("1 + 1", result("2"))
# Cells below a stub that says "not yet", and the state then.
BELOW = {
    "the answer in a cell of one's own": ([code("check(f)", result(RIGHT))], "done"),
    "a worse one below a right one": ([code("f", result(RIGHT)), code("g", result(WRONG))], "tried"),
    "notes": ([NOTES], "not yet"),
    "a cell beyond the hints": ([PROSE, code("check(f)", result(RIGHT))], "not yet"),
    "the solution": ([code("# @title A solution\ncheck(f)", result(RIGHT))], "not yet"),
    # https://github.com/jupyter/nbgrader/issues/1083: a cell that was split or copied has its id twice.
    "a copy further down": ([PROSE, code("def f", result(RIGHT), id=EXERCISES["00.1"])], "done"),
}


@pytest.mark.parametrize("case", BELOW)
def test_the_last_verdict_down_to_the_next_prose_counts(tmp_path, case):
    cells, state = BELOW[case]
    (tmp_path / "00.ipynb").write_text(page_of("pass", result(STUB), more=cells))
    [row] = rows_of(tmp_path)
    assert row.state == state


NONE = "it is no notebook, or was cut off; ask for it again"
HOSTILE = {
    "not JSON": ("{", NONE),
    "no notebook": ("[1, 2]", NONE),
    "odd verdict": (page_of("", result("") | {"data": {VERDICT: 1}}), NONE),
    "empty": ("", NONE),
    "huge": (" " * (LARGEST + 1), "a file of 10 MB: clear its outputs and save it again"),
    "another page": ('{"cells": []}', "no page of the course is in this folder; ask for the .ipynb files"),
}


def test_a_broken_file_costs_one_row(tmp_path):
    for name, (text, _) in HOSTILE.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "02_naive.ipynb").write_text(text)
    (tmp_path / "zoe").mkdir()
    (tmp_path / "zoe" / "00.ipynb").write_text(page_of("pass", result(RIGHT)))
    *rows, zoe = rows_of(tmp_path)
    assert {row.student: row.verdict for row in rows} == {name: said for name, (_, said) in HOSTILE.items()}
    assert {row.state for row in rows} == {"unreadable"} and (zoe.page, zoe.state) == ("00", "done")


def test_a_table_lines_up_under_names_in_any_script_and_cuts_long_verdicts():
    done = [
        classroom.AnswerRow("王小明", page, f"{page}.1", "done", "", "a.ipynb") for page in ("11", "09", "02", "00")
    ]
    tried = classroom.AnswerRow("Ada Lo", "00", "00.1", "tried", "x" * 1000, "Ada Lo/00.ipynb")
    head, ada, ming, *_, said = str(classroom.ClassTable([*done, tried])).split("\n")
    assert head == "00    02    09    11    done  student"
    assert ada == "✗                          0  Ada Lo" and ming == "✓     ✓     ✓     ✓        4  王小明"
    assert len(said) < 230 and said.endswith("x")


def test_of_two_copies_of_a_page_the_better_counts(tmp_path):
    (tmp_path / "00.ipynb").write_text(page_of("pass", result(STUB)))
    (tmp_path / "00-Copy1.ipynb").write_text(page_of("return 1", result(RIGHT)))
    (tmp_path / "00-Copy2.ipynb").write_text(page_of("return 2", result(WRONG)))
    assert [(row.state, row.file) for row in rows_of(tmp_path)] == [("done", "00-Copy1.ipynb")]


def test_a_page_under_any_name_has_a_row(tmp_path):
    name = "mine (1).ipynb"
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / name).write_text(page_of("", result(RIGHT)))
    (tmp_path / "ada" / f"._{name}").write_bytes(b"\0\5what a Mac writes beside it")
    [row] = rows_of(tmp_path)
    assert (row.student, row.exercise, row.state, row.file) == ("ada", "00.1", "done", f"ada/{name}")


def test_other_notebooks_are_no_students(tmp_path):
    (tmp_path / "notes.ipynb").write_text(json.dumps({"cells": [NOTES]}))
    assert str(progress(tmp_path)) == "There is no notebook of the course in this folder."


# {folders of a class, with a page in each: the students then}
FOLDERS = {
    "a clone of each": (["ada/notebooks", "ada/my_pages/zh_CN", "bob/matmul-ladder/my_pages"], ["ada", "bob"]),
    "loose pages": (["ada", "."], ["ada", "class"]),
    "one's own": ([".", ".ipynb_checkpoints", "solutions"], ["class"]),
    "a teacher's copy": (["ada", "matmul-ladder/notebooks", "zh_CN", "handout/solutions"], ["ada", "class"]),
    "nobody's": (["ada/solutions", "ada/.ipynb_checkpoints"], ["ada"]),
}


@pytest.mark.parametrize("case", FOLDERS)
def test_a_student_is_a_folder_and_whoever_owns_the_loose_pages(tmp_path, case):
    folders, students = FOLDERS[case]
    for folder in folders:
        (tmp_path / "class" / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / "class" / folder / "00.ipynb").write_text(page_of("pass", result(RIGHT)))
    rows = rows_of(tmp_path / "class")
    assert [row.student for row in rows] == students
    assert {row.state for row in rows} == {"unreadable" if case == "nobody's" else "done"}


def test_a_folder_without_a_page_has_a_row_and_no_link_is_followed(tmp_path):
    for name in ("ada", "empty", "linked", "packed"):
        (tmp_path / name).mkdir()
    (tmp_path / "ada" / "00.ipynb").write_text(page_of("pass", result(RIGHT)))
    (tmp_path / "linked" / "00.ipynb").symlink_to(tmp_path / "ada" / "00.ipynb")
    (tmp_path / "packed" / "work.zip").write_bytes(b"PK")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to("self")
    none = "no page of the course is in this folder; ask for the .ipynb files"
    assert {row.student: row.verdict for row in rows_of(tmp_path)} == {
        "ada": "", "empty": none, "linked": none, "loop": none, "packed": none,
    }  # fmt: skip


def test_an_exercise_that_is_gone_has_a_row(tmp_path):
    cells = [code("mine", id=EXERCISES["02.1"]), code("mine", id=EXERCISES["02.3"])]
    (tmp_path / "02.ipynb").write_text(json.dumps({"cells": cells}))
    rows = {row.exercise: (row.state, row.verdict) for row in progress(tmp_path).rows}
    assert rows == {"02.1": ("not yet", NOT_RUN), "02.2": ("unreadable", LOST), "02.3": ("not yet", NOT_RUN)}


def test_no_text_of_a_student_steers_the_screen():
    row = classroom.AnswerRow("\x1b[2J", "00", "00.1", "tried", "\x1b]0;mine\x07\u202e", "\x1b[2J/00.ipynb")
    table = classroom.ClassTable([row])
    assert str(table).replace("\n", "").isprintable()
