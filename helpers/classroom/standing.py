"""Who is where: every answer in a folder of students' notebooks, judged on this machine, as a table and as rows."""

import csv
import io
import os
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path

from .. import files, jail
from ..judge import Report
from ..launch.given import takes
from .copies import answers, pages_of
from .homework import EXERCISES, Answer, answer_in, judge_answer, judge_apart

DONE, TRIED, NOT_YET, UNREADABLE = "done", "tried", "not yet", "unreadable"
SIGNS = {DONE: "✓", TRIED: "✗", NOT_YET: "·", UNREADABLE: "!"}
ORDER = [UNREADABLE, NOT_YET, TRIED, DONE]  # of two copies of a page, the better answer counts
LEFT_OUT = {"solutions", "__MACOSX"}  # folders, beside the hidden ones
DEEPEST = 20  # folders in folders
FORMULA = re.compile(
    r"^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]"
)  # a spreadsheet computes what begins so, in wide letters too
PACKED = re.compile(r"\.(zip|rar|7z|tar|tgz|gz|xz)$", re.IGNORECASE)
SHOWN = 200  # signs of a verdict below the table; the rows have all of it
NOTEBOOK = re.compile(r"\.ipynb(\.\w{1,8})?$", re.IGNORECASE)  # a mail program or a browser may add .txt or .json


@dataclass(frozen=True)
class AnswerRow:
    """One student's answer to one exercise; or, with exercise "", a file that nobody can read, a folder without any.

    Its texts are students' own, made fit for a line of a screen.
    state    "done", "tried", "not yet" or "unreadable"
    verdict  what the check said first, "" for what is done
    """

    student: str
    page: str
    exercise: str
    state: str
    verdict: str
    file: str

    def __post_init__(self):
        for one in fields(self):
            object.__setattr__(self, one.name, files.plain(getattr(self, one.name)))


@dataclass(frozen=True)
class ClassTable:
    """Where a class is: a table when printed, `csv()` as text for a spreadsheet. `rows`: a list of `AnswerRow`."""

    rows: list[AnswerRow]

    def __repr__(self):
        if not self.rows:
            return "There is no notebook of the course in this folder."
        signs, done = defaultdict(str), Counter()
        for row in self.rows:
            signs[row.student, row.page] += SIGNS[row.state]
            done[row.student] += row.state == DONE
        pages = sorted({row.page for row in self.rows})
        table = [["student", *(f"{page:3}" for page in pages), "done"]]
        table += [
            [student, *(signs[student, page] for page in pages), f"{done[student]:4}"] for student in sorted(done)
        ]
        widths = [max(map(columns, column)) for column in zip(*table, strict=True)]
        lines = ["  ".join(map(padded, line, widths)) for line in table]
        lines.append("  ".join(f"{sign} {state}" for state, sign in SIGNS.items()) + "; one sign for each exercise")
        said = [row for row in self.rows if row.state in (TRIED, UNREADABLE)]
        lines += [""] * bool(said)
        return "\n".join(lines + [f"{row.student}  {row.exercise or row.file}: {shorten(row.verdict)}" for row in said])

    def csv(self) -> str:
        """The rows, with a line of names above them. An apostrophe stands before what would be a formula."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([field.name for field in fields(AnswerRow)])
        writer.writerows([FORMULA.sub(r"'\g<0>", cell) for cell in astuple(row)] for row in self.rows)
        return text.getvalue()


def columns(text):
    """How many columns of a screen it takes: a Chinese sign takes two."""
    return sum(1 + (unicodedata.east_asian_width(sign) in "WF") for sign in text)


def padded(text, width):
    """The text with blanks behind it, so that it takes `width` columns."""
    return text + " " * (width - columns(text))


def shorten(verdict):
    """The verdict, cut off where it would fill the screen."""
    return verdict if len(verdict) <= SHOWN else f"{verdict[: SHOWN - 1]}…"


@takes
def progress(folder: Path | str, each: Callable[[str], None] = lambda said: None, trust: bool = False) -> ClassTable:
    """Judge every answer in a folder of students' notebooks, each answer that two students share once.

    A student is a folder in it; notebooks that lie in `folder` itself are those of one student, who is called like it.
    All of them are read before the first answer runs, and links are not followed. `each`: is told what is judged next,
    whose exercise. `trust`: without the jail that keeps answers from this machine's files and network. Raises
    FileNotFoundError where there is no such folder, NoJail where there is none, and no trust.
    """
    if not trust:
        jail.refuse_without()
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is no folder; name one that holds a folder for each student.")
    found = [one for path in notebooks_in(folder) for one in read(path, folder)]
    empty = without_pages(folder, {row.student for row, _ in found})
    known, best = {}, {}
    for row, answer in found:
        if answer is not None:
            each(f"{row.student} {row.exercise}")
            row = judged(row, answer, known, trust)
        key = row.student, row.page, row.exercise
        if key not in best or ORDER.index(row.state) > ORDER.index(best[key].state):
            best[key] = row
    rows = list(best.values())
    rows += [*lost(rows), *empty]
    return ClassTable(sorted(rows, key=lambda row: (row.student, row.page, row.exercise)))


def notebooks_in(folder: Path) -> list[Path]:
    """The notebooks in the folder and those below, but for an editor's copies and the hand-out's solutions."""
    found = []
    for place, folders, names in os.walk(folder):
        deeper = len(Path(place).relative_to(folder).parts) < DEEPEST
        folders[:] = [name for name in folders if deeper and is_a_students(name)]
        found += [Path(place, name) for name in names if NOTEBOOK.search(name) and not name.startswith(".")]
    return sorted(found)


def is_a_students(name):
    """Whether a folder of that name may hold a student's work."""
    return not name.startswith(".") and name not in LEFT_OUT


def lost(rows: list[AnswerRow]) -> list[AnswerRow]:
    """A row for each exercise that is in none of a student's copies of its page."""
    there = {(row.student, row.exercise) for row in rows}
    files = {(row.student, row.page): row.file for row in rows if row.exercise}
    said = "its code cell is not in the file, or is a cell of text now, and no other cell gives its names a value"
    return [
        AnswerRow(student, page, exercise.label, UNREADABLE, said, file)
        for (student, page), file in files.items()
        for exercise in EXERCISES.values()
        if exercise.page == page and (student, exercise.label) not in there
    ]


def without_pages(folder: Path, students: set[str]) -> list[AnswerRow]:
    """A row for each student's folder that has none of those `students`; where all notebooks are one's, none."""
    if students == {files.plain(folder.resolve().name)}:
        return []
    places = [place for place in folder.iterdir() if is_a_students(place.name) and place.is_dir()]
    return [
        AnswerRow(place.name, "?", "", UNREADABLE, f"no page of the course is in this folder{held(place)}", place.name)
        for place in places
        if files.plain(place.name) not in students
    ]


def held(place):
    """What a folder holds instead of pages, to be said behind a few words."""
    if place.is_symlink():
        return ": it is a symbolic link, which is not followed"
    try:
        names = sorted(path.name for path in place.iterdir())
    except OSError as error:
        return f", which cannot be opened: {error.strerror}"
    if not names:
        return "; it is empty"
    packed = [name for name in names if PACKED.search(name)]
    return f", only {', '.join(names[:3])}; {'unpack ' + packed[0] if packed else 'ask for the .ipynb files'}"


def read(path: Path, folder: Path) -> list[tuple[AnswerRow, Answer | Report | None]]:
    """What is in one notebook, of which nothing is run: a row for each answer, still to be judged, and the answer.

    Where no answer can be read, a row that says so, and None.
    """
    inside = path.relative_to(folder)
    student = inside.parts[0] if len(inside.parts) > 1 else folder.resolve().name

    def row(page, label="", said=""):
        return AnswerRow(student, page, label, UNREADABLE, said, str(inside))

    try:
        found = answers(path, folder)
    except files.Refused as error:
        page = re.match(r"\d\d", path.name)
        return [(row(page[0] if page else "?", said=str(error)), None)]
    if not found:
        return [(row(page, said="no cell of an exercise is in it"), None) for page in pages_of(path, ())]
    return [
        (row(EXERCISES[label].page, label), answer_in(label, cells, before)) for label, (cells, before) in found.items()
    ]


def judged(row: AnswerRow, answer: Answer | Report, known: dict, trust: bool) -> AnswerRow:
    """The row with what is to be said of the answer. `known`: {(exercise, texts): Report}, which grows."""

    def attempt(label, texts):
        if (label, texts) not in known:
            known[label, texts] = judge_apart(label, texts, row.student, trust)
        return known[label, texts]

    written = isinstance(answer, Answer)
    report = judge_answer(row.exercise, answer, attempt) if written else answer
    if report:
        return replace(row, state=DONE)
    first = report.findings[0]
    if first.kind == "not yet":  # of a cell in which somebody has written it is none
        return replace(row, state=TRIED if written else NOT_YET, verdict=" ".join(first.message.split()))
    return replace(row, state=TRIED, verdict=first.in_a_line)
