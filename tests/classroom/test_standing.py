"""`progress` gets every cell of a class's table right, whatever the students' files are, and runs nothing in them."""

import csv
import io
import json
import os
import random
import subprocess
import sys

import handout
import notebooks
import pytest
from solved import stubs_and_solutions

from helpers.__main__ import main
from helpers.classroom import EXERCISES, progress, standing
from helpers.classroom.standing import AS_GIVEN, GIVEN, LARGEST, LOST, MARK, NOT_RUN, verdict_in, verdicts

PAGES = ["00", "02", "04"]
LABELS = [label for label in EXERCISES if label[:2] in PAGES]
RIGHT = "✓ your kernel (CUDA, launched like naive) is right: 32 shapes, every element within the rounding bound."
WRONG = "✗ your kernel (CUDA, launched like naive) is wrong.\n  race: two threads\n  touch As[0].\n       7 | acc += 1"
STUB = "… multiply_adds: not yet. It returns nothing so far."


def result(text):
    """An output as a cell's last line gives it."""
    return {"output_type": "execute_result", "data": {"text/plain": text}, "metadata": {}, "execution_count": 1}


def printed(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


FAILED = {"output_type": "error", "ename": "NameError", "evalue": "name 'x'\nis not", "traceback": ["\x1b[31mno"]}
# What stands below a cell: (its outputs, the state, what is said).
SAID = {
    "right": ([result(RIGHT)], "done", ""),
    "wrong": ([result(WRONG)], "tried", "race: two threads"),
    "the stub": ([result(STUB)], "not yet", STUB[2:]),
    "never run": ([], "not yet", NOT_RUN),
    "an error": ([FAILED], "tried", "NameError: name 'x' is not"),
    "right, and an error below": ([printed(RIGHT), FAILED], "tried", "NameError: name 'x' is not"),
    "one wish of three": ([printed("✓ sums: 16\n✗ loads: 33\n✓ threads: 4\n")], "tried", "loads: 33"),
    "one not yet, one not met": ([printed("… threads: not yet\n✗ loads: 33\n")], "tried", "loads: 33"),
    "all wishes": ([printed("H100: 4 blocks\n✓ blocks\n"), printed("✓ FMA\n")], "done", ""),
    "a sign within a line": ([printed("padding 2: 8 rounds, fewest 8 ✓\n")], "not yet", NOT_RUN),
    "warnings beside it": ([printed("✗ a warning\n", "stderr"), result(RIGHT)], "done", ""),
}


@pytest.mark.parametrize("case", SAID)
def test_a_verdict_is_read_as_the_page_shows_it(case):
    outputs, *said = SAID[case]
    assert list(verdict_in(outputs) or ("not yet", NOT_RUN)) == said


@pytest.mark.parametrize("path", notebooks.notebook_paths(), ids=lambda path: path.name[:2])
def test_each_page_of_the_course_shows_a_verdict_on_each_of_its_stubs(path):
    """Seven begin with an answer that does not do: who leaves it as it is has not tried."""
    found = verdicts(path)
    assert set(found) == {label for label in EXERCISES if label[:2] == path.name[:2]}
    assert {label for label, (_, said) in found.items() if said == AS_GIVEN} == GIVEN.keys() & found.keys()
    assert all(state == "not yet" and said != NOT_RUN for state, said in found.values())


def test_every_stub_of_the_pages_is_an_exercise_and_has_its_solution():
    cells = [(path.name, cell) for path in notebooks.notebook_paths() for cell in notebooks.read(path).cells]
    marked = {cell.id: name for name, cell in cells if cell.cell_type == "code" and "your turn" in cell.source}
    assert marked.keys() <= set(EXERCISES.values()), {marked[cell] for cell in marked.keys() - EXERCISES.values()}
    assert set(EXERCISES) == set(stubs_and_solutions())


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """{number: the student's page} as the hand-out makes them."""
    folder = tmp_path_factory.mktemp("made") / "handout"
    handout.main(["--folder", str(folder), "--pages", *PAGES])
    return {path.name[:2]: json.loads(path.read_text("utf-8")) for path in folder.glob("*.ipynb")}


def written(folder, pages, outputs, spoil=lambda cell: None):
    """Write a student's pages; `outputs`: {label: what stands below its cell}."""
    folder.mkdir()
    labels = {cell: label for label, cell in EXERCISES.items()}
    for number, page in pages.items():
        page = json.loads(json.dumps(page))
        for cell in page["cells"]:
            if label := labels.get(cell["id"]):
                cell["outputs"] = outputs.get(label, [])
                cell["source"] = "".join(cell["source"]).replace(GIVEN.get(label, "\0"), "mine").splitlines(True)
            spoil(cell)
        (folder / f"{number}_page.ipynb").write_text(json.dumps(page), encoding="utf-8")


# What editors and students do to the cells of a file; none of it loses a verdict.
def as_it_was(cell):
    pass


def without_ids(cell):
    cell.pop("id", None)


def as_colab_has_it(cell):  # https://github.com/googlecolab/colabtools/issues/5402
    cell["metadata"]["id"] = cell.pop("id")
    cell["source"] = without_mark(cell)


def with_another_id(cell):
    cell["id"] = f"x{random.getrandbits(40)}"


def without_marks(cell):
    cell["source"] = without_mark(cell)


def without_mark(cell):
    return "".join(line for line in cell["source"] if not line.startswith(MARK))


SPOILS = [as_it_was, without_ids, as_colab_has_it, with_another_id, without_marks]


def test_every_cell_of_the_table_is_right_for_a_class_and_its_odd_files(tmp_path, pages):
    rng, wanted = random.Random(30), {}
    for number, spoil in enumerate(SPOILS):
        student = f"student-{number:02}"
        picked = {label: rng.choice([*SAID]) for label in LABELS}
        written(tmp_path / student, pages, {label: SAID[case][0] for label, case in picked.items()}, spoil)
        wanted |= {(student, label): SAID[case][1:] for label, case in picked.items()}
    for name in ("empty", "packed", "torn"):
        (tmp_path / name).mkdir()
    (tmp_path / "packed" / "work.zip").write_bytes(b"PK")
    (tmp_path / "torn" / "02.ipynb").write_text('{"cells": [')
    table = progress(tmp_path)
    given = {(row.student, row.exercise): (row.state, row.verdict) for row in table.rows}
    odd = {student: said for (student, label), (_, said) in given.items() if not label}
    assert {key: said for key, said in given.items() if key[1]} == wanted
    assert {name: said.partition(";")[0] for name, said in odd.items()} == {
        "empty": "no page of the course is in this folder",
        "packed": "no page of the course is in this folder, only work.zip",
        "torn": "it is not JSON: perhaps it was cut off",
    }
    signs = {"done": "✓", "tried": "✗", "not yet": "·"}
    lines = {line.split()[0]: line.split()[1:] for line in str(table).split("\n")[1 : len(SPOILS) + 4]}
    for number in range(len(SPOILS)):
        student = f"student-{number:02}"
        cells = ["".join(signs[wanted[student, label][0]] for label in LABELS if label[:2] == page) for page in PAGES]
        done = sum(wanted[student, label][0] == "done" for label in LABELS)
        assert lines[student] == [*cells, str(done)]


def test_nothing_of_a_student_runs_and_nothing_that_runs_it_is_loaded(tmp_path):
    """In a process of its own, where an answer would leave a file, and where what builds kernels would be loaded."""
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "00.ipynb").write_text(page_of("open('ran', 'w')\n%run x\n!touch ran", [result(RIGHT)]))
    code = "import sys; from helpers.classroom import progress; print(progress('.').rows[0].state); "
    code += "print(*({'numba', 'pyopencl', 'IPython', 'matplotlib'} & sys.modules.keys()))"
    command, around = [sys.executable, "-c", code], dict(os.environ, PYTHONPATH=str(notebooks.ROOT))
    done = subprocess.run(command, cwd=tmp_path, env=around, capture_output=True, text=True)
    assert done.stdout.split("\n")[:2] == ["done", ""], done
    assert {path.name for path in tmp_path.rglob("*")} == {"ada", "00.ipynb"}


def page_of(answer, outputs=(), *more):
    """A page with that text below the mark of exercise 00.1, as the text of a file."""
    return json.dumps({"cells": [code(f"{MARK}00.1\n{answer}", *outputs), *more]}, ensure_ascii=False)


def code(source, *outputs, **about):
    return {"cell_type": "code", "source": source, "metadata": {}, "outputs": list(outputs), **about}


PROSE = {"cell_type": "markdown", "source": "prose", "metadata": {}}
# Cells below a stub that says "not yet", and the state then.
BELOW = {
    "the answer in a cell of one's own": ([code("check(f)", result(RIGHT))], "done"),
    "a worse one below a right one": ([code("f", result(RIGHT)), code("g", result(WRONG))], "tried"),
    "notes": ([code("1 + 1", result("2"))], "not yet"),
    "a cell beyond the hints": ([PROSE, code("check(f)", result(RIGHT))], "not yet"),
    "the solution": ([code("# @title A solution\ncheck(f)", result(RIGHT))], "not yet"),
    # https://github.com/jupyter/nbgrader/issues/1083: a cell that was split or copied has its id twice.
    "a copy further down": ([PROSE, code("def f", result(RIGHT), id=EXERCISES["00.1"])], "done"),
}


@pytest.mark.parametrize("case", BELOW)
def test_the_last_verdict_down_to_the_next_prose_counts(tmp_path, case):
    cells, state = BELOW[case]
    (tmp_path / "00.ipynb").write_text(page_of("pass", [result(STUB)], *cells))
    [row] = progress(tmp_path).rows
    assert row.state == state


HOSTILE = {
    "not JSON": ("{", "it is not JSON: perhaps it was cut off; ask for it again"),
    "no notebook": ("[1, 2]", "it is no notebook; ask for it again"),
    "odd data": (page_of("", [{"output_type": "display_data", "data": []}]), "it is no notebook; ask for it again"),
    "empty": ("", "it is empty; ask for it again"),
    "huge": (" " * (LARGEST + 1), "a file of 10 MB: clear its outputs and save it again"),
    "bytes": (b"\xff\xfe\x00", "it is no text in UTF-8, UTF-16 or UTF-32: perhaps it was cut off; ask for it again"),
    "another page": ('{"cells": []}', "no cell of an exercise is in it"),
}


def test_a_broken_file_costs_one_row(tmp_path, pages):
    for name, (text, _) in HOSTILE.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "02_naive.ipynb").write_bytes(text if isinstance(text, bytes) else text.encode())
    written(tmp_path / "zoe", {"00": pages["00"]}, {"00.1": [result(RIGHT)]})
    rows = {row.student: row for row in progress(tmp_path).rows}
    assert {name: (row.state, row.verdict) for name, row in rows.items() if name != "zoe"} == {
        name: ("unreadable", said) for name, (_, said) in HOSTILE.items()
    }
    assert rows["zoe"].state == "done" and {row.page for row in rows.values()} == {"00", "02"}


def test_a_table_lines_up_under_names_in_any_script_and_cuts_long_verdicts_off():
    rows = [
        standing.AnswerRow("王小明", "00", "00.1", "done", "", "王小明/00.ipynb"),
        standing.AnswerRow("Ada Lo", "00", "00.1", "tried", "x" * 1000, "Ada Lo/00.ipynb"),
    ]
    table = standing.ClassTable(rows)
    head, ada, ming, *_, said = str(table).split("\n")
    assert ada == "Ada Lo   ✗       0" and ming == "王小明   ✓       1" and head == "student  00   done"
    assert len(said) < 230 and said.endswith("x…") and "x" * 1000 in table.csv()


def test_one_students_own_folder_and_two_copies_of_a_page(tmp_path, pages):
    """The better copy counts, an editor's checkpoints and the hand-out's solutions do not."""
    folder, page = tmp_path / "ada", {"00": pages["00"]}
    written(folder, page, {"00.1": [result(STUB)]})
    written(folder / ".ipynb_checkpoints", page, {"00.1": [result(RIGHT)]})
    written(folder / "solutions", page, {"00.1": [result(RIGHT)]})
    [row] = progress(folder).rows
    assert (row.student, row.state) == ("ada", "not yet")
    (folder / "00_page-Copy1.ipynb").write_text(page_of("", [result(RIGHT)]))
    [row] = progress(folder).rows
    assert (row.student, row.state, row.file) == ("ada", "done", "00_page-Copy1.ipynb")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
def test_a_page_is_read_in_any_encoding_of_json(tmp_path, encoding):
    (tmp_path / "00.ipynb").write_text(page_of("", [result("✗ größer als 王小明")]), encoding=encoding)
    assert verdicts(tmp_path / "00.ipynb") == {"00.1": ("tried", "größer als 王小明")}


@pytest.mark.parametrize("name", ["00_start_here.ipynb.txt", "00.IPYNB", "00 (1).ipynb", "00.Ipynb.json", "mine.ipynb"])
def test_a_page_under_any_name_has_a_row(tmp_path, name):
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / name).write_text(page_of("", [result(RIGHT)]))
    (tmp_path / "ada" / f"._{name}").write_bytes(b"\0\5what a Mac writes beside it")
    [row] = progress(tmp_path).rows
    assert (row.student, row.exercise, row.state, row.file) == ("ada", "00.1", "done", f"ada/{name}")


def test_a_folder_beside_ones_own_pages_is_no_student(tmp_path):
    (tmp_path / "pictures").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "00.ipynb").write_text(page_of(""))
    (tmp_path / "zh_CN").mkdir()
    (tmp_path / "zh_CN" / "00.ipynb").write_text(page_of("", [result(RIGHT)]))
    assert [(row.student, row.state) for row in progress(tmp_path).rows] == [(tmp_path.name, "done")]


def test_an_exercise_that_is_gone_has_a_row(tmp_path, pages):
    written(tmp_path / "ada", {"02": pages["02"]}, {})
    path = tmp_path / "ada" / "02_page.ipynb"
    page = json.loads(path.read_text())
    page["cells"] = [cell for cell in page["cells"] if cell["id"] != EXERCISES["02.2"]]
    path.write_text(json.dumps(page))
    rows = {row.exercise: (row.state, row.verdict) for row in progress(tmp_path).rows}
    assert rows == {"02.1": ("not yet", NOT_RUN), "02.2": ("unreadable", LOST), "02.3": ("not yet", NOT_RUN)}


def test_no_text_of_a_student_steers_the_screen():
    row = standing.AnswerRow("\x1b[2J", "00", "00.1", "tried", "\x1b]0;mine\x07\u202e", "\x1b[2J/00.ipynb")
    table = standing.ClassTable([row])
    assert all(text.replace("\n", "").isprintable() for text in (str(table), table.csv()))


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", " =", "\uff1d"])
def test_no_field_of_a_row_is_a_formula(sign):
    said = f'{sign}cmd|"/C calc"!A0'
    row = standing.AnswerRow(said, "00", "00.1", "tried", said, f"{said}/00.ipynb")
    [_, cells] = csv.reader(io.StringIO(standing.ClassTable([row]).csv()))
    assert cells == [f"'{said}", "00", "00.1", "tried", f"'{said}", f"'{said}/00.ipynb"]


def test_the_command_prints_the_table_and_writes_rows(tmp_path, pages, monkeypatch, capsys):
    written(tmp_path / "ada", {"00": pages["00"]}, {"00.1": [result(RIGHT)]})
    monkeypatch.setattr("sys.argv", ["helpers", "progress", str(tmp_path), "--csv", str(tmp_path / "rows.csv")])
    main()
    assert "ada      ✓" in capsys.readouterr().out
    rows = list(csv.DictReader(io.StringIO((tmp_path / "rows.csv").read_text())))
    assert [(row["student"], row["exercise"], row["state"]) for row in rows] == [("ada", "00.1", "done")]
    monkeypatch.setattr("sys.argv", ["helpers", "progress", str(tmp_path), "--csv", "/nowhere/x"])
    with pytest.raises(SystemExit, match="/nowhere/x cannot be written"):
        main()
