"""Who is where: every answer in a folder of students' notebooks, judged on this machine, as a table and as rows."""

import csv
import io
import os
import re
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from .. import jail
from ..judge import Report
from ..launch.given import takes
from .copies import Unreadable, answers, pages_of
from .homework import EXERCISES, answer_in, judge_answer, judge_apart

DONE, TRIED, NOT_YET, UNREADABLE = "done", "tried", "not yet", "unreadable"
SIGNS = {DONE: "✓", TRIED: "✗", NOT_YET: "·", UNREADABLE: "!"}
ORDER = [UNREADABLE, NOT_YET, TRIED, DONE]  # of two copies of a page, the better answer counts
LEFT_OUT = {"solutions", "__MACOSX"}  # folders, beside the hidden ones
NOTEBOOK = re.compile(r"\.ipynb(\.\w{1,8})?$", re.IGNORECASE)  # a mail program or a browser may add .txt or .json


@dataclass(frozen=True)
class Row:
    """One student's answer to one exercise; or, with exercise "", a file that nobody can read, a folder without any.

    state    "done", "tried", "not yet" or "unreadable"
    verdict  what the check said first, "" for what is done
    """

    student: str
    page: str
    exercise: str
    state: str
    verdict: str
    file: str


@dataclass(frozen=True)
class Progress:
    """Where a class is: a table when printed, `csv()` as text for a spreadsheet. `rows`: a list of `Row`."""

    rows: list[Row]

    def __repr__(self):
        if not self.rows:
            return "There is no notebook of the course in this folder."
        by_cell = {}
        for row in self.rows:
            by_cell[row.student, row.page] = by_cell.get((row.student, row.page), "") + SIGNS[row.state]
        students, pages = (sorted({key[n] for key in by_cell}) for n in (0, 1))
        wide = max(len("student"), *map(len, students))
        widths = {page: max([3, *(len(by_cell.get((s, page), "")) for s in students)]) for page in pages}
        lines = [f"{'student':{wide}}  " + "  ".join(f"{page:{widths[page]}}" for page in pages) + "  done"]
        for student in students:
            cells = "  ".join(f"{by_cell.get((student, page), ''):{widths[page]}}" for page in pages)
            done = sum(row.state == DONE for row in self.rows if row.student == student)
            lines.append(f"{student:{wide}}  {cells}  {done:4}")
        lines.append("  ".join(f"{sign} {state}" for state, sign in SIGNS.items()) + "; one sign for each exercise")
        said = [row for row in self.rows if row.state in (TRIED, UNREADABLE)]
        lines += [""] * bool(said)
        return "\n".join(lines + [f"{row.student}  {row.exercise or row.file}: {row.verdict}" for row in said])

    def csv(self) -> str:
        """The rows, with a line of names above them."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([field.name for field in fields(Row)])
        writer.writerows(map(astuple, self.rows))
        return text.getvalue().encode(errors="backslashreplace").decode()  # a file's name may be no text


@takes
def progress(folder: Path | str, each: Callable[[str], None] = lambda said: None, trust: bool = False) -> Progress:
    """Judge every answer in a folder of students' notebooks, each answer that two students share once.

    A student is a folder in it; notebooks that lie in `folder` itself are those of one student, who is called like it.
    `each`: is told what is judged next, whose exercise. `trust`: without the jail that keeps answers from this
    machine's files and network. Raises FileNotFoundError where there is no such folder, NoJail where there is none, and
    no trust.
    """
    if not trust:
        jail.refuse_without()
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is no folder; name one that holds a folder for each student.")
    judged, best = {}, {}
    for path in notebooks_in(folder):
        inside = path.relative_to(folder)
        student = inside.parts[0] if len(inside.parts) > 1 else folder.resolve().name
        for row in rows_of(path, student, str(inside), judged, each, trust):
            key = row.student, row.page, row.exercise
            if key not in best or ORDER.index(row.state) > ORDER.index(best[key].state):
                best[key] = row
    rows = list(best.values())
    rows += [*lost(rows), *without_pages(folder, {row.student for row in rows})]
    return Progress(sorted(rows, key=lambda row: (row.student, row.page, row.exercise)))


def notebooks_in(folder: Path) -> list[Path]:
    """The notebooks in the folder and those below, but for an editor's copies and the hand-out's solutions."""
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if is_a_students(name)]
        found += [Path(place, name) for name in names if NOTEBOOK.search(name) and not name.startswith(".")]
    return sorted(path for path in found if path.is_file())


def is_a_students(name):
    """Whether a folder of that name may hold a student's work."""
    return not name.startswith(".") and name not in LEFT_OUT


def lost(rows: list[Row]) -> list[Row]:
    """A row for each exercise that is in none of a student's copies of its page."""
    there = {(row.student, row.exercise) for row in rows}
    files = {(row.student, row.page): row.file for row in rows if row.exercise}
    said = "its cell is not in the file, and no other cell gives its names a value"
    return [
        Row(student, page, exercise.label, UNREADABLE, said, file)
        for (student, page), file in files.items()
        for exercise in EXERCISES.values()
        if exercise.page == page and (student, exercise.label) not in there
    ]


def without_pages(folder: Path, students: set[str]) -> list[Row]:
    """A row for each student's folder that has none of those `students`; where all notebooks are one's, none."""
    if students == {folder.resolve().name}:
        return []
    places = [place for place in folder.iterdir() if place.is_dir() and is_a_students(place.name)]
    return [
        Row(place.name, "?", "", UNREADABLE, f"no page of the course is in this folder{held(place)}", place.name)
        for place in places
        if place.name not in students
    ]


def held(place):
    """What a folder holds instead of pages, to be said behind a few words."""
    try:
        names = sorted(path.name for path in place.iterdir())
    except OSError as error:
        return f", which cannot be opened: {error.strerror}"
    return f", only {', '.join(names[:3])}" if names else "; it is empty"


def rows_of(path, student, name, judged, each, trust):
    """The rows of one notebook. `judged`: {(exercise, texts): (Report, seconds)}, which grows."""

    def attempt(label, texts, seconds):
        if (label, texts) not in judged:
            judged[label, texts] = judge_apart(label, texts, seconds, student, trust)
        return judged[label, texts]

    try:
        found = answers(path)
    except Unreadable as error:
        page = re.match(r"\d\d", path.name)
        return [Row(student, page[0] if page else "?", "", UNREADABLE, str(error), name)]
    said = "no cell of an exercise is in it"
    rows = [Row(student, page, "", UNREADABLE, said, name) for page in pages_of(path, ()) if not found]
    for label, (cells, before) in found.items():
        each(f"{student} {label}")
        answer = answer_in(label, cells, before)
        if isinstance(answer, Report):
            state, verdict = state_of(answer)
        else:
            state, verdict = state_of(judge_answer(label, answer, attempt), changed=True)
        rows.append(Row(student, EXERCISES[label].page, label, state, verdict, name))
    return rows


def state_of(report: Report, changed: bool = False) -> tuple[str, str]:
    """(state, the verdict in a line). `changed`: somebody has written in the cell, so that it is not "not yet"."""
    if report:
        return DONE, ""
    first = report.findings[0]
    if first.kind == "not yet":
        return (TRIED if changed else NOT_YET), first.message
    return TRIED, " ".join(f"{first.kind}: {first.message}".split())
