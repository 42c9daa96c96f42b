"""`progress` gets every cell of a class's table right, whatever the students' files are."""

import csv
import io
import itertools
import json
import os
import random

import handout
import nbformat
import notebooks
import pytest
from IPython.core.interactiveshell import InteractiveShell
from solved import MENDED, stubs_and_solutions

from helpers.__main__ import main
from helpers.classroom import EXERCISES, copies, homework, progress, standing
from helpers.classroom.copies import LARGEST, answers
from helpers.sandbox import Finding, Outcome

LABELS = ["00.1", "02.1", "02.2", "02.3", "04.1", "04.2", "04.3"]
PAGES = ["00", "02", "04"]
BOTH = stubs_and_solutions()
# What a slip makes of a solution: (exercise, old, new, the verdict's kind).
MUTANTS = [
    ("00.1", "M * N * K", "M * N + K", "wrong number"),
    ("00.1", "return M * N * K", "return M *", "does not compile"),
    ("02.1", "cuda.blockIdx.x * cuda.blockDim.x", "cuda.blockIdx.y * cuda.blockDim.x", "stored twice"),
    ("02.1", "if row < C.shape[0] and col < C.shape[1]:", "if True:", "out of bounds"),
    ("02.2", "row < M && col < N", "row < M || col < N", "out of bounds"),
    ("02.2", "float acc = 0.0f;", "float acc = 0.0f", "does not compile"),
    ("02.3", "np.int32(N), np.int32(K)", "np.int32(K), np.int32(N)", None),  # it may end its process
    ("04.1", MENDED[1], "range(0, B.shape[1], TPB)", "K is cut"),
    ("04.2", "    acc += As[ty, k] * Bs[k, tx]\ncuda.syncthreads()", "    acc += As[ty, k] * Bs[k, tx]", "race"),
    ("04.3", "Bs[k][tx]", "Bs[tx][k]", "wrong index"),
    ("04.3", BOTH["04.3"][1], BOTH["04.2"][1], None),  # what is right in the exercise before it
]
ADDED = "\n# my own notes\nprint('done')"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """{number: the student's page} as the hand-out makes them."""
    folder = tmp_path_factory.mktemp("made") / "handout"
    handout.main(["--folder", str(folder), "--pages", *PAGES])
    return {path.name[:2]: nbformat.read(path, as_version=4) for path in folder.glob("*.ipynb")}


def choices():
    """{label: [(the cell's text, state, the verdict's kind)]}: stub, solution, mutants."""
    found = {label: [(BOTH[label][0], "not yet", None), (BOTH[label][1], "done", None)] for label in LABELS}
    for label, old, new, kind in MUTANTS:
        assert old in BOTH[label][1], (label, old)
        found[label].append((BOTH[label][1].replace(old, new), "tried", kind))
    return found


def written(folder, pages, picked, spoil=lambda cell: None):
    """Write a student's pages; `picked`: {label: the cell's text}."""
    folder.mkdir()
    stubs = {exercise.cell: label for label, exercise in EXERCISES.items()}
    for page in pages.values():
        page = nbformat.from_dict(json.loads(json.dumps(page)))
        for cell in page.cells:
            if cell.get("id") in stubs:
                mark = cell.source.split("\n")[0]
                cell.source = f"{mark}\n{picked[stubs[cell.id]]}"
            spoil(cell)
        number = page.cells[0].source[2:4]
        (folder / f"{number}_page.ipynb").write_text(json.dumps(page), encoding="utf-8")


# What editors and students do to the cells of a file; none of it changes an answer.
def as_it_was(cell):
    pass


def without_ids(cell):
    cell.pop("id", None)


def with_another_id(cell):
    cell["id"] = f"x{random.getrandbits(40)}"


def without_marks(cell):
    if cell.source.startswith("# Exercise"):
        cell.source = cell.source.split("\n", 1)[1]


def with_notes(cell):
    if cell.source.startswith("# Exercise"):
        cell.source += ADDED


def test_every_cell_of_the_table_is_right_for_thirty_students(tmp_path, pages):
    """Each with a stub, a solution or a mutant in each exercise, in files that editors have changed."""
    rng, wanted, options = random.Random(30), {}, choices()
    spoils = itertools.cycle([as_it_was, without_ids, with_another_id, without_marks, with_notes])
    rounds = {label: itertools.cycle(rng.sample(options[label], len(options[label]))) for label in LABELS}
    for number in range(30):
        student = f"student-{number:02}"
        picked = {label: next(rounds[label]) for label in LABELS}
        written(tmp_path / student, pages, {label: text for label, (text, *_) in picked.items()}, next(spoils))
        wanted |= {(student, label): (state, kind) for label, (_, state, kind) in picked.items()}
    found = progress(tmp_path)
    given = {(row.student, row.exercise): row for row in found.rows}
    assert given.keys() == wanted.keys()
    for key, (state, kind) in wanted.items():
        assert given[key].state == state, given[key]
        assert kind is None or given[key].verdict.startswith(kind), given[key]
    used = {(label, state) for (_, label), (state, _) in wanted.items()}
    assert {(label, state) for label in LABELS for _, state, _ in options[label]} == used  # nothing passed untested
    table = str(found).split("\n")
    signs = {"done": "✓", "tried": "✗", "not yet": "·"}
    for number, line in enumerate(table[1:31]):
        student = f"student-{number:02}"
        cells = ["".join(signs[wanted[student, label][0]] for label in LABELS if label[:2] == page) for page in PAGES]
        done = sum(wanted[student, label][0] == "done" for label in LABELS)
        assert line.split() == [student, *cells, str(done)]


HOSTILE = {
    "not JSON": ("{", "it is not JSON: perhaps it was cut off; ask for it again"),
    "no notebook": ("[1, 2]", "it is no notebook; ask for it again"),
    "no cells": ('{"cells": 7}', "it is no notebook; ask for it again"),
    "empty": ("", "it is empty; ask for it again"),
    "deep": ("[" * 100_000, "it is not JSON: perhaps it was cut off; ask for it again"),
    "huge": (None, "a file of 100 MB: clear its outputs and save it again"),
    "bytes": (b"\xff\xfe\x00", "it is no text in UTF-8, UTF-16 or UTF-32: perhaps it was cut off; ask for it again"),
    "another page": ('{"cells": []}', "no cell of an exercise is in it"),
}


def test_a_broken_file_costs_one_row(tmp_path, pages):
    picked = {label: BOTH[label][0] for label in LABELS}
    for name, (text, _) in HOSTILE.items():
        (tmp_path / name).mkdir()
        path = tmp_path / name / "02_naive.ipynb"
        if text is None:
            page = pages["00"].copy()
            page["cells"] = [*page["cells"], nbformat.v4.new_code_cell(outputs=[])]
            page["cells"][-1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x" * 100_000_000}]
            path.write_text(json.dumps(page))
            assert path.stat().st_size > LARGEST
        else:
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
    written(tmp_path / "zoe", {"00": pages["00"]}, picked | {"00.1": BOTH["00.1"][1]})
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


def test_a_kernel_that_never_ends_is_said_to_have_had_all_the_time_of_its_answer(monkeypatch):
    """The trials of its kernel share that time, and the last of them finds little of it left."""
    monkeypatch.setattr(homework, "SECONDS", 6)
    endless = BOTH["02.1"][1].replace("            k += 1\n", "")
    assert endless != BOTH["02.1"][1]
    found = homework.judge_source("02.1", endless).findings[0]
    assert found.kind == "hang" and found.message.startswith("it still ran after 6 s of computing")


ATTACKS = {
    "hang": "while True:\n        pass",
    "too many processes": "import os\n    while True:\n        os.fork()",
    "error": "import numpy\n    return numpy.ones(50 * 2**27)",
    "crash": "import os\n    os.abort()",
}


@pytest.mark.parametrize("kind", ATTACKS)
def test_an_answer_that_attacks_costs_one_row(tmp_path, pages, monkeypatch, kind):
    monkeypatch.setattr(homework, "SECONDS", 3)
    picked = {label: BOTH[label][0] for label in LABELS}
    attack = f"def multiply_adds(M, N, K):\n    {ATTACKS[kind]}\n"
    written(tmp_path / "mallory", {"00": pages["00"]}, picked | {"00.1": attack})
    written(tmp_path / "zoe", {"00": pages["00"]}, picked | {"00.1": BOTH["00.1"][1]})
    mallory, zoe = progress(tmp_path).rows
    assert mallory.state == "tried" and mallory.verdict.startswith(kind) and zoe.state == "done"


def test_one_students_own_folder_and_two_copies_of_a_page(tmp_path, pages):
    """The better copy counts, an editor's checkpoints and the hand-out's solutions do not."""
    folder = tmp_path / "ada"
    stub, solution = BOTH["00.1"]
    written(folder, {"00": pages["00"]}, {"00.1": stub})
    written(folder / ".ipynb_checkpoints", {"00": pages["00"]}, {"00.1": solution})
    written(folder / "solutions", {"00": pages["00"]}, {"00.1": solution})
    [row] = progress(folder).rows
    assert (row.student, row.state) == ("ada", "not yet")
    text = (folder / "00_page.ipynb").read_text().replace("pass  # your turn", "return M * N * K")
    (folder / "00_page-Copy1.ipynb").write_text(text)
    [row] = progress(folder).rows
    assert (row.student, row.state, row.file) == ("ada", "done", "00_page-Copy1.ipynb")


def test_an_answer_in_a_cell_below_the_stub_counts(tmp_path, pages):
    page = nbformat.from_dict(json.loads(json.dumps(pages["00"])))
    [at] = [at for at, cell in enumerate(page.cells) if cell.source.startswith("# Exercise")]
    page.cells.insert(at + 1, nbformat.v4.new_code_cell("def multiply_adds(M, N, K):\n    return M * N * K"))
    (tmp_path / "00.ipynb").write_text(json.dumps(page))
    own, _ = answers(tmp_path / "00.ipynb")["00.1"]
    assert "return" in own[1].source
    [row] = progress(tmp_path).rows
    assert row.state == "done"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_page_is_read_in_any_encoding_of_json(tmp_path, encoding):
    text = "multiply_adds = lambda *s: s[0] * s[1] * s[2]  # größer als 王小明"
    (tmp_path / "00.ipynb").write_text(page_of(text), encoding=encoding)
    [([cell], _)] = answers(tmp_path / "00.ipynb").values()
    assert cell.source.endswith(text)


def test_a_page_in_another_encoding_has_a_row_that_says_so(tmp_path):
    (tmp_path / "00.ipynb").write_text(page_of("# größer"), encoding="latin-1")
    [row] = progress(tmp_path).rows
    assert row.state == "unreadable" and row.verdict.startswith("it is no text in UTF-8, UTF-16 or UTF-32")


def page_of(answer):
    """Page 00 with that text below the mark, as the text of a file."""
    cells = [{"cell_type": "code", "source": f"# Exercise 00.1\n{answer}", "metadata": {}}]
    return json.dumps({"cells": cells}, ensure_ascii=False)


@pytest.mark.parametrize("name", ["00_start_here.ipynb.txt", "00.IPYNB", "00 (1).ipynb", "00.Ipynb.json", "mine.ipynb"])
def test_a_page_under_any_name_has_a_row(tmp_path, name):
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / name).write_text(page_of(BOTH["00.1"][0]))
    (tmp_path / "ada" / f"._{name}").write_bytes(b"\0\5what a Mac writes beside it")
    [row] = progress(tmp_path).rows
    assert (row.student, row.exercise, row.state, row.file) == ("ada", "00.1", "not yet", f"ada/{name}")


def test_every_folder_has_a_row(tmp_path):
    for name in ("ada", "bo", "cy", "__MACOSX", ".hidden"):
        (tmp_path / name).mkdir()
    (tmp_path / "ada" / "00.ipynb").write_text(page_of(BOTH["00.1"][0]))
    (tmp_path / "bo" / "work.zip").write_bytes(b"PK")
    rows = {row.student: (row.state, row.verdict, row.file) for row in progress(tmp_path).rows}
    assert rows == {
        "ada": ("not yet", "It is as it was.", "ada/00.ipynb"),
        "bo": ("unreadable", "no page of the course is in this folder, only work.zip; unpack work.zip", "bo"),
        "cy": ("unreadable", "no page of the course is in this folder; it is empty", "cy"),
    }
    assert "bo            !" in repr(progress(tmp_path)) and "it is empty" in repr(progress(tmp_path))


def test_a_folder_beside_ones_own_pages_is_no_student(tmp_path):
    (tmp_path / "pictures").mkdir()
    (tmp_path / "00.ipynb").write_text(page_of(BOTH["00.1"][0]))
    assert [row.exercise for row in progress(tmp_path).rows] == ["00.1"]


def test_an_exercise_that_is_gone_has_a_row(tmp_path, pages):
    written(tmp_path / "ada", {"02": pages["02"]}, {label: BOTH[label][0] for label in LABELS})
    path = tmp_path / "ada" / "02_page.ipynb"
    page = json.loads(path.read_text())
    page["cells"] = [cell for cell in page["cells"] if cell["id"] != EXERCISES["02.2"].cell]
    path.write_text(json.dumps(page))
    rows = {row.exercise: (row.state, row.verdict) for row in progress(tmp_path).rows}
    said = "its code cell is not in the file, or is a cell of text now, and no other cell gives its names a value"
    as_it_was = ("not yet", "It is as it was.")
    assert rows == {"02.1": as_it_was, "02.2": ("unreadable", said), "02.3": as_it_was}


@pytest.fixture
def judged(monkeypatch):
    """Nothing is run; what would be, is kept: a list of (exercise, texts, whose)."""
    kept = []

    def judge_apart(label, texts, whose, trust):
        kept.append((label, texts, whose))
        return homework.refused(label, "not yet", "It returns nothing so far.")

    monkeypatch.setattr(standing, "judge_apart", judge_apart)
    return kept


def test_an_answer_is_judged_once_for_each_exercise_that_it_answers(tmp_path, pages, judged):
    """Two students share it; in two exercises it is two answers. Their own notes are none of it."""
    picked = {label: BOTH[label][0] for label in LABELS} | dict.fromkeys(("04.2", "04.3"), "mine = 'the same'")
    for student, spoil in (("ada", as_it_was), ("bo", with_notes)):
        written(tmp_path / student, {"04": pages["04"]}, picked, spoil)
    said = []
    rows = progress(tmp_path, said.append).rows
    assert judged == [(label, ("mine = 'the same'\n",), "ada") for label in ("04.2", "04.3")]
    assert said == [f"{student} {label}" for student in ("ada", "bo") for label in ("04.1", "04.2", "04.3")]
    assert [row.state for row in rows] == ["not yet", "tried", "tried"] * 2


@pytest.mark.parametrize("label", EXERCISES)
def test_only_the_stub_itself_is_not_yet(tmp_path, judged, label):
    """Comments and notes beside it change nothing; whoever has written anything else has tried."""
    stub, answer = BOTH[label][0], f"{EXERCISES[label].names[0]} = 'something'  # your turn"
    for name, text in (("stub", f"# notes\n{stub}\nprint(1)"), ("tried", f"{stub}\n{answer}"), ("gone", "# your turn")):
        (tmp_path / name).mkdir()
        cells = [{"cell_type": "code", "source": f"# Exercise {label}\n{text}"}]
        (tmp_path / name / "page.ipynb").write_text(json.dumps({"cells": cells}))
    rows = {row.student: row for row in progress(tmp_path).rows if row.exercise == label}
    assert {name: row.state for name, row in rows.items()} == {"stub": "not yet", "tried": "tried", "gone": "tried"}
    assert rows["tried"].verdict == "It returns nothing so far." and len(judged) <= 2
    missing = f"no answer: There is no {' and no '.join(EXERCISES[label].names)}, and an answer is looked for under"
    assert rows["gone"].verdict.startswith(missing)


def test_the_bar_of_an_answer_says_whose_exercise_runs(tmp_path, monkeypatch):
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "00.ipynb").write_text(page_of("multiply_adds = max"))
    told = []

    def apart(task, what, seconds, trust, **about):
        told.append((what, seconds, about["limit"]))
        return Outcome(None, [Finding("hang", "it was still running")], "", False)

    monkeypatch.setattr(homework, "apart", apart)
    [row] = progress(tmp_path).rows
    assert told == [("ada exercise 00.1", 20, 20)] and row.verdict == "hang: it was still running"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="links and pipes of a POSIX system")
def test_a_hand_in_that_is_no_file_costs_one_row(tmp_path, judged):
    """A link to another student's page, to a page beside it, to a folder; a pipe, of which nobody writes the end."""
    for name in ("ada", "bob", "cyd", "dan"):
        (tmp_path / name).mkdir()
    (tmp_path / "ada" / "00.ipynb").write_text(page_of(BOTH["00.1"][1]))
    (tmp_path / "bob" / "00.ipynb").symlink_to("../ada/00.ipynb")
    os.mkfifo(tmp_path / "cyd" / "00.ipynb")
    (tmp_path / "dan" / "all").symlink_to(tmp_path / "ada")
    (tmp_path / "eve").symlink_to(tmp_path / "ada")
    rows = {row.student: row.verdict for row in progress(tmp_path).rows}
    assert rows.pop("ada") == "It returns nothing so far." and len(judged) == 1
    assert rows == {
        "bob": "it is a symbolic link, which is not followed; ask for the file itself",
        "cyd": "it is no file, but a folder, a pipe or a device; ask for the file itself",
        "dan": "no page of the course is in this folder, only all; ask for the .ipynb files",
        "eve": "no page of the course is in this folder: it is a symbolic link, which is not followed",
    }


@pytest.mark.skipif(os.name == "nt", reason="to make a link takes rights here")
def test_a_folder_that_becomes_a_link_once_it_is_listed_is_not_read(tmp_path, judged, monkeypatch):
    for name in ("ada", "bob"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "00.ipynb").write_text(page_of(BOTH["00.1"][1]))
    listed = standing.notebooks_in

    def swap(folder):
        found = listed(folder)
        (folder / "bob").rename(folder / ".away")
        (folder / "bob").symlink_to("ada")
        return found

    monkeypatch.setattr(standing, "notebooks_in", swap)
    rows = {row.student: row.verdict for row in progress(tmp_path).rows}
    assert rows["bob"] == "it is a symbolic link, which is not followed; ask for the file itself" and len(judged) == 1


def test_a_link_to_a_file_of_the_readers_own_is_not_read(tmp_path, judged):
    (tmp_path / "class" / "eve").mkdir(parents=True)
    (tmp_path / "00.ipynb").write_text(page_of(BOTH["00.1"][1]))
    try:
        (tmp_path / "class" / "eve" / "00.ipynb").symlink_to(tmp_path / "00.ipynb")
    except OSError:
        pytest.skip("to make a link takes rights here")
    [row] = progress(tmp_path / "class").rows
    assert row.state == "unreadable" and not judged


def test_all_pages_are_read_before_an_answer_runs(tmp_path, monkeypatch):
    """The first answer empties the page of the next student, and takes a folder that has none away."""
    for name in ("ada", "bob"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "00.ipynb").write_text(page_of(f"def multiply_adds(*{name}):\n    return 1"))
    (tmp_path / "cyd").mkdir()
    texts = []

    def judge_apart(label, answer, whose, trust):
        (tmp_path / "bob" / "00.ipynb").write_text("{}")
        if (tmp_path / "cyd").exists():
            (tmp_path / "cyd").rmdir()
        texts.append((whose, "*bob" in answer[0]))
        return homework.refused(label, "wrong number", "It returns 1.")

    monkeypatch.setattr(standing, "judge_apart", judge_apart)
    assert [(row.student, row.state) for row in progress(tmp_path).rows] == [
        ("ada", "tried"), ("bob", "tried"), ("cyd", "unreadable"),
    ]  # fmt: skip
    assert texts == [("ada", False), ("bob", True)]


@pytest.mark.parametrize("cell", ["%time 1\n" * 2500, "x = !ls\n" * 2500, "a?\n" * 5000, "x = 1\n" * 600_000])
def test_a_page_that_would_be_read_for_minutes_costs_one_row(tmp_path, judged, cell):
    (tmp_path / "00.ipynb").write_text(page_of(cell))
    [row] = progress(tmp_path).rows
    assert row.verdict == "its cells hold more text than a page: ask for the answers alone"


def test_the_pages_of_the_course_are_far_from_too_long(monkeypatch):
    monkeypatch.setattr(copies, "MOST", copies.MOST // 5)
    for path in notebooks.notebook_paths():
        assert copies.cells_of(path)


def test_a_folder_without_end_is_left(tmp_path, judged):
    deep = tmp_path.joinpath("ada", *"abcdefghijklmnopqrstuvwxyz")
    deep.mkdir(parents=True)
    (deep / "00.ipynb").write_text(page_of(BOTH["00.1"][1]))
    (tmp_path / "ada" / "a" / "00.ipynb").write_text(page_of(BOTH["00.1"][0]))
    assert [row.state for row in progress(tmp_path).rows] == ["not yet"]


ESCAPES = "\x1b[2J\x1b]0;mine\x07\u202e<script>alert(1)</script>"


@pytest.mark.skipif(os.name == "nt", reason="such names are none here")
def test_no_text_of_a_student_steers_the_screen(tmp_path, monkeypatch, capsys):
    """A folder's name, a file's, a verdict's words; in the table, in the rows, on the bar, and in a notebook."""
    (tmp_path / ESCAPES.replace("/", "")).mkdir()
    (tmp_path / ESCAPES.replace("/", "") / f"00{ESCAPES.replace('/', '')}.ipynb").write_text(
        page_of("multiply_adds = max")
    )
    (tmp_path / "bob").mkdir()
    (tmp_path / "bob" / ESCAPES.replace("/", "")).write_text("no page")
    told = []

    def apart(task, what, seconds, trust, **about):
        told.append(what)
        return Outcome(None, [Finding("error", ESCAPES + "\nada  ✓")], "", False)

    monkeypatch.setattr(homework, "apart", apart)
    monkeypatch.setattr("sys.argv", ["helpers", "progress", str(tmp_path), "--csv", str(tmp_path / "rows.csv")])
    main()
    printed = capsys.readouterr()
    for text in (
        printed.out,
        printed.err.replace("\r", "").replace("\x1b[A", ""),
        *told,
        (tmp_path / "rows.csv").read_text(),
    ):
        assert text.replace("\n", "").isprintable(), ascii(text)
    assert "\\x1b[2J" in printed.out and "\nada" not in printed.out and told
    found = progress(tmp_path)
    shown, _ = InteractiveShell.instance().display_formatter.format(found)
    assert set(shown) == {"text/plain"}  # which a notebook shows as it is, tags and all


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", " =", "\uff1d"])
def test_no_field_of_a_row_is_a_formula(sign):
    said = f'{sign}cmd|"/C calc"!A0'
    row = standing.AnswerRow(said, "00", "00.1", "tried", said, f"{said}/00.ipynb")
    [_, cells] = csv.reader(io.StringIO(standing.ClassTable([row]).csv()))
    assert cells == [f"'{said}", "00", "00.1", "tried", f"'{said}", f"'{said}/00.ipynb"]


def test_a_file_whose_name_is_no_text_can_be_written_down(tmp_path):
    row = standing.AnswerRow("ad\udce9", "00", "00.1", "done", "", "ad\udce9/00.ipynb")
    assert "ad\\udce9" in standing.ClassTable([row]).csv()


def test_the_command_prints_the_table_and_writes_rows(tmp_path, pages, monkeypatch, capsys):
    written(tmp_path / "ada", {"00": pages["00"]}, {"00.1": BOTH["00.1"][1]})
    monkeypatch.setattr("sys.argv", ["helpers", "progress", str(tmp_path), "--csv", str(tmp_path / "rows.csv")])
    main()
    assert "ada      ✓" in capsys.readouterr().out
    rows = list(csv.DictReader(io.StringIO((tmp_path / "rows.csv").read_text())))
    assert [(row["student"], row["exercise"], row["state"]) for row in rows] == [("ada", "00.1", "done")]
    for arguments, said in ((["nowhere"], "nowhere is no folder"), ([str(tmp_path), "--csv", "/nowhere/x"], "nowhere")):
        monkeypatch.setattr("sys.argv", ["helpers", "progress", *arguments])
        with pytest.raises(SystemExit, match=said):
            main()
