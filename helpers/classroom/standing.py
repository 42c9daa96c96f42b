"""Who is where: the verdicts that a class's pages hold, read from their files, as a table and as rows.

Nothing of a student's runs. A verdict is the text that the page printed when its cell was last run: whoever edits the
file can type another, and it stays when the answer above it changes.
"""

import csv
import io
import os
import re
from collections import Counter, defaultdict
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from .. import files
from ..terminal import columns, padded
from .exercises import EXERCISES, GIVEN

DONE, TRIED, NOT_YET, UNREADABLE = "done", "tried", "not yet", "unreadable"
SIGNS = {DONE: "✓", TRIED: "✗", NOT_YET: "·", UNREADABLE: "!"}
ORDER = [UNREADABLE, NOT_YET, TRIED, DONE]  # of two copies of a page, the better verdict counts
LABELS = {cell: label for label, cell in EXERCISES.items()}
VERDICTS = {"✓": DONE, "✗": TRIED, "…": NOT_YET}  # what a line of a verdict begins with
GOES_ON = re.compile(r"\n {4}(?=\S)")  # a long verdict goes on below, see `wrapped` of judge
MARK = "# Exercise "  # begins the line with an exercise's number that the hand-out puts above each stub
LARGEST = 10_000_000  # bytes of a notebook: one with more holds a flood of output, and is not read
CHINESE = "zh_CN"  # the folder of the pages in Chinese, beside those in English
LEFT_OUT = {"solutions", "__MACOSX"}  # folders, beside the hidden ones
# A spreadsheet computes what begins so, in wide letters too.
FORMULA = re.compile(r"^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
PACKED = re.compile(r"\.(zip|rar|7z|tar|tgz|gz|xz)$", re.IGNORECASE)
SHOWN = 200  # signs of a verdict below the table; the rows have all of it
NOTEBOOK = re.compile(r"\.ipynb(\.\w{1,8})?$", re.IGNORECASE)  # a mail program or a browser may add .txt or .json
NOT_RUN = "there is no verdict: the cell was not run, or its outputs were cleared"
AS_GIVEN = "the answer is the one that the page begins with"
LOST = "its code cell is not in the file, or is a cell of text now"


@dataclass(frozen=True)
class AnswerRow:
    """One student's answer to one exercise; or, with exercise "", a file that nobody can read, a folder without any.

    Its texts are students' own, made fit for a line of a screen.
    state    "done", "tried", "not yet" or "unreadable"
    verdict  what the page says first, "" for what is done
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
        for row in said:
            more = "…" if len(row.verdict) > SHOWN else ""
            lines.append(f"{row.student}  {row.exercise or row.file}: {row.verdict[:SHOWN]}{more}")
        return "\n".join(lines)

    def csv(self) -> str:
        """The rows, with a line of names above them. An apostrophe stands before what would be a formula."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([field.name for field in fields(AnswerRow)])
        writer.writerows([FORMULA.sub(r"'\g<0>", cell) for cell in astuple(row)] for row in self.rows)
        return text.getvalue()


def progress(folder: str | Path) -> ClassTable:
    """Read the verdicts in a folder of students' notebooks; nothing in them runs.

    A student is a folder in it; notebooks that lie in `folder` itself are those of one student, who is called like it.
    Raises FileNotFoundError where there is no such folder.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is no folder; name one that holds a folder for each student.")
    best = {}
    for row in (row for path in notebooks_in(folder) for row in read(path, folder)):
        key = row.student, row.page, row.exercise
        if key not in best or ORDER.index(row.state) > ORDER.index(best[key].state):
            best[key] = row
    rows = list(best.values())
    rows += [*lost(rows), *without_pages(folder, {row.student for row in rows})]
    return ClassTable(sorted(rows, key=lambda row: (row.student, row.page, row.exercise)))


def notebooks_in(folder: Path) -> list[Path]:
    """The notebooks in the folder and those below, but for an editor's copies and the hand-out's solutions."""
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if is_a_students(name)]
        found += [Path(place, name) for name in names if NOTEBOOK.search(name) and not name.startswith(".")]
    return sorted(found)


def is_a_students(name):
    """Whether a folder of that name may hold a student's work."""
    return not name.startswith(".") and name not in LEFT_OUT


def read(path: Path, folder: Path) -> list[AnswerRow]:
    """A row for each exercise in one notebook; where none can be read, a row that says so."""
    inside = path.relative_to(folder)
    folders = [name for name in inside.parts[:-1] if name != CHINESE]
    student = folders[0] if folders else folder.resolve().name
    page = (re.match(r"\d\d", path.name) or "?")[0]

    def row(page, label="", state=UNREADABLE, said=""):
        return AnswerRow(student, page, label, state, said, str(inside))

    try:
        found = verdicts(path)
    except files.Refused as error:
        return [row(page, said=str(error))]
    if not found and page in {label[:2] for label in EXERCISES}:
        return [row(page, said="no cell of an exercise is in it")]
    return [row(label[:2], label, *verdict) for label, verdict in found.items()]


def verdicts(path: Path) -> dict[str, tuple[str, str]]:
    """{number of the exercise: (state, what is said)} in a copy of a page. Raises `files.Refused` for what is none.

    An exercise's cells are the one with its stub and the code cells that follow, up to the next prose. The last of
    their verdicts counts.
    """
    found, label = {}, None
    try:
        for cell in files.read_json(path, LARGEST, "clear its outputs and save it again")["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] != "code" or source.lstrip().startswith("# @title"):
                label = None
            elif label := exercise_of(cell, source) or label:
                before = found.get(label, (NOT_YET, NOT_RUN))
                found[label] = verdict_in(cell.get("outputs", [])) or before
                if GIVEN.get(label, "\0") in source or (before[1] == AS_GIVEN and found[label][0] == TRIED):
                    found[label] = NOT_YET, AS_GIVEN
    except files.Refused:
        raise
    except OSError as error:
        raise files.Refused(f"it cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise files.Refused(
            "it is no text in UTF-8, UTF-16 or UTF-32: perhaps it was cut off; ask for it again"
        ) from None
    except ValueError:
        why = "it is not JSON: perhaps it was cut off" if path.stat().st_size else "it is empty"
        raise files.Refused(f"{why}; ask for it again") from None
    except (LookupError, TypeError, AttributeError):
        raise files.Refused("it is no notebook; ask for it again") from None
    return found


def exercise_of(cell: dict, source: str) -> str | None:
    """The number of the exercise whose stub this cell is: by its mark, or by its id. None for any other.

    The mark outlives an editor that gives cells ids of its own.
    """
    if MARK in source:
        marked = (line.strip().removeprefix(MARK).strip() for line in source.splitlines() if MARK in line)
        if label := next((number for number in marked if number in EXERCISES), None):
            return label
    return LABELS.get(str(cell.get("id") or cell.get("metadata", {}).get("id")))  # Colab keeps it there


def verdict_in(outputs: list[dict]) -> tuple[str, str] | None:
    """(state, what is said first) of the verdict in a cell's outputs; None where there is none.

    Of several, as for several wishes, one that is not met decides, and so does an error.
    """
    lines = []
    for output in outputs:
        if output["output_type"] == "error":
            return TRIED, " ".join(f"{output['ename']}: {output['evalue']}".split())
        text = output["text"] if output.get("name") == "stdout" else output.get("data", {}).get("text/plain", "")
        lines += GOES_ON.sub(" ", "".join(text)).splitlines()
    states = [VERDICTS.get(line[:1]) for line in lines]
    for state in (TRIED, NOT_YET):
        if state in states:
            said, *below = lines[states.index(state) :]
            kinds = [line for line in below[:1] if line.startswith("  ")]  # what is wrong stands below "✗ ... is wrong"
            return state, " ".join((kinds or [said[1:]])[0].split())
    return (DONE, "") if DONE in states else None


def lost(rows: list[AnswerRow]) -> list[AnswerRow]:
    """A row for each exercise that is in none of a student's copies of its page."""
    there = {(row.student, row.exercise) for row in rows}
    pages = {(row.student, row.page): row.file for row in rows if row.exercise}
    return [
        AnswerRow(student, page, label, UNREADABLE, LOST, file)
        for (student, page), file in pages.items()
        for label in EXERCISES
        if label[:2] == page and (student, label) not in there
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
    try:
        names = sorted(path.name for path in place.iterdir())
    except OSError as error:
        return f", which cannot be opened: {error.strerror}"
    if not names:
        return "; it is empty"
    packed = [name for name in names if PACKED.search(name)]
    return f", only {', '.join(names[:3])}; {'unpack ' + packed[0] if packed else 'ask for the .ipynb files'}"
