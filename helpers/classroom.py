"""Who is where: the verdicts that a class's pages hold, read from their files, as a table and as rows.

Nothing of a student's runs. A verdict is what the page stored when its cell was last run.
"""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kernel_judge.stored import DONE, NOT_YET, TRIED, Refused, own_cells, plain, verdict_in

# {the exercise's page and number: the id of the cell that holds its stub}, a page a line
EXERCISES = {
    "00.1": "00-add", "00.2": "00-product", "00.3": "00-idle", "00.4": "00-reads",
    "01.1": "01-bytes", "01.2": "01-seconds", "01.3": "01-w2", "01.4": "01-t3",
    "02.1": "02-owners", "02.2": "e7db0c3e", "02.3": "f473b40a",
    "03.0": "03-c15", "03.1": "03-c31", "03.2": "03-block",
    "04.0": "04-stage", "04.1": "04-c31", "04.2": "3914779a", "04.3": "04-fits",
    "05.1": "05-target", "05.2": "05-column", "05.3": "05-c31", "05.4": "05-cuda",
    "06.1": "06-target", "06.2": "06-patch", "06.3": "06-c31", "06.4": "06-c35",
    "07.0": "07-saving", "07.1": "07-c25", "07.2": "07-c40",
    "08.1": "08-c24", "08.2": "08-c28", "08.3": "08-c37",
    "09.1": "09-lanes", "09.2": "09-wide", "09.3": "09-cl", "09.4": "09-c41",
    "10.1": "10-waiting", "10.2": "10-early", "10.3": "10-c30",
    "11.1": "11-chance", "11.2": "b70c4dfb", "11.3": "11-lucky",
    "12.1": "12-instructions", "12.2": "12-c31", "12.3": "f2ca2db6",
    "13.1": "13-useful", "13.2": "13-c20", "13.3": "13-entry", "13.4": "13-ahead",
    "14.1": "14-c23",
    "15.1": "46a27a456b804aa2a380d5edf15a5daf",
    "16.1": "16-busy", "16.2": "16-cl", "16.3": "16-order",
    "17.1": "17-x1", "17.2": "17-three-c",
    "18.1": "18-w9", "18.2": "18-w5", "18.3": "18-x3",
}  # fmt: skip

UNREADABLE = "unreadable"
SIGNS = {DONE: "✓", TRIED: "✗", NOT_YET: "·", UNREADABLE: "!"}  # the best first
LABELS = {cell: label for label, cell in EXERCISES.items()}
MARK = "# Exercise "  # begins the line with an exercise's number that the hand-out puts above each stub
LEFT_OUT = re.compile(r"\.|(solutions|__MACOSX)$")  # names of folders and files with nothing of a student's begin so
COURSE = {"handout", "matmul-ladder", "my_pages", "notebooks", "web", "zh_CN"}  # folders of the course: no students
SHOWN = 200  # signs of a verdict below the table; the rows have all of it
NOT_RUN = "there is no verdict: the cell was not run, or its outputs were cleared"
LOST = "its code cell is not in the file, or is a cell of text now"


class AnswerRow(NamedTuple):
    """One student's answer to one exercise; or, with exercise "", a file that nobody can read, a folder without any.

    state    "done", "tried", "not yet" or "unreadable"
    verdict  what the page says first, "" for what is done
    """

    student: str
    page: str
    exercise: str
    state: str
    verdict: str
    file: str


@dataclass(frozen=True)
class ClassTable:
    """Where a class is: a table when printed. `rows`: a list of `AnswerRow`."""

    rows: list[AnswerRow]

    def __repr__(self):
        if not self.rows:
            return "There is no notebook of the course in this folder."
        signs, done = defaultdict(str), Counter()
        for row in self.rows:
            signs[row.student, row.page] += SIGNS[row.state]
            done[row.student] += row.state == DONE
        pages = sorted({row.page for row in self.rows})
        # Names stand last, since a Chinese sign takes two columns of a screen.
        table = [[*(f"{page:4}" for page in pages), "done", "student"]]
        table += [[*(f"{signs[name, page]:4}" for page in pages), f"{done[name]:4}", name] for name in sorted(done)]
        lines = ["  ".join(line) for line in table]
        lines += ["  ".join(f"{sign} {state}" for state, sign in SIGNS.items()) + "; one sign for each exercise", ""]
        for row in self.rows:
            if row.state in (TRIED, UNREADABLE):
                lines.append(f"{row.student}  {row.exercise or row.file}: {row.verdict[:SHOWN]}")
        return "\n".join(map(plain, lines)).rstrip()


def progress(folder: str | Path) -> ClassTable:
    """Read the verdicts in a folder of students' notebooks; nothing in them runs.

    A student is a folder in it; notebooks in `folder` itself are of one student, who is called like it.
    """
    folder = Path(folder)
    names = {place.name for place in folder.iterdir() if place.is_dir() and not LEFT_OUT.match(place.name)}
    students = {name: [] for name in names - COURSE}
    for path in sorted(folder.rglob("*.ipynb")):
        parts = path.relative_to(folder).parts
        if path.is_file() and not path.is_symlink() and not any(map(LEFT_OUT.match, parts)):
            own = len(parts) == 1 or parts[0] in COURSE
            students.setdefault(folder.resolve().name if own else parts[0], []).append(path)
    return ClassTable([row for name in sorted(students) for row in rows_of(name, students[name], folder)])


def rows_of(student: str, paths: list[Path], folder: Path) -> list[AnswerRow]:
    """A row for each exercise in a student's notebooks, in order: of two copies of a page, for the better verdict."""
    rows = []
    for path in paths:
        file = str(path.relative_to(folder))
        try:
            rows += [AnswerRow(student, label[:2], label, *said, file) for label, said in verdicts(path).items()]
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            said = error if isinstance(error, Refused) else "it is no notebook, or was cut off; ask for it again"
            rows.append(AnswerRow(student, path.name[:2], "", UNREADABLE, str(said), file))
    if not rows and (folder / student).is_dir():
        said = "no page of the course is in this folder; ask for the .ipynb files"
        return [AnswerRow(student, "?", "", UNREADABLE, said, student)]
    best = {(row.page, row.exercise): row for row in sorted(rows, key=lambda row: -[*SIGNS].index(row.state))}
    return [best[key] for key in sorted(best)]


def verdicts(path: Path) -> dict[str, tuple[str, str]]:
    """{number of the exercise: (state, what is said)} in a copy of a page. Raises many kinds of errors for others.

    The last verdict in an exercise's cells counts.
    """
    found = {}
    for label, _, outputs in own_cells(path, LABELS, MARK):
        if label:
            found[label] = verdict_in(outputs) or found.get(label, (NOT_YET, NOT_RUN))
    pages = {label[:2] for label in found}
    return {label: found.get(label, (UNREADABLE, LOST)) for label in EXERCISES if label[:2] in pages}
