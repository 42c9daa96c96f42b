"""Who is where: every answer in a folder of students' notebooks, judged on this machine, as a table and as rows."""

import csv
import io
import re
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from ..judge import Report
from .copies import Unreadable, answers
from .homework import EXERCISES, answer_in, judge_apart

DONE, TRIED, NOT_YET, UNREADABLE = "done", "tried", "not yet", "unreadable"
SIGNS = {DONE: "✓", TRIED: "✗", NOT_YET: "·", UNREADABLE: "!"}
ORDER = [UNREADABLE, NOT_YET, TRIED, DONE]  # of two copies of a page, the better answer counts
LEFT_OUT = {".ipynb_checkpoints", "solutions"}


@dataclass(frozen=True)
class Row:
    """One student's answer to one exercise; or, with exercise "", a notebook that nobody can read.

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
        return text.getvalue()


def progress(folder: Path | str, each: Callable[[str], None] = lambda said: None) -> Progress:
    """Judge every answer in a folder of students' notebooks, each answer that two students share once.

    A student is a folder in it; notebooks that lie in `folder` itself are those of one student, who is called like it.
    `each`: is told what is judged next. Raises FileNotFoundError where there is no such folder.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is no folder; name one that holds a folder for each student.")
    judged, best = {}, {}
    for path in notebooks_in(folder):
        inside = path.relative_to(folder)
        student = inside.parts[0] if len(inside.parts) > 1 else folder.resolve().name
        each(str(inside))
        for row in rows_of(path, student, str(inside), judged):
            key = row.student, row.page, row.exercise
            if key not in best or ORDER.index(row.state) > ORDER.index(best[key].state):
                best[key] = row
    return Progress([best[key] for key in sorted(best)])


def notebooks_in(folder: Path) -> list[Path]:
    """The notebooks in the folder and those below, but for an editor's copies and the hand-out's solutions."""
    found = (path for path in folder.rglob("*.ipynb") if path.is_file())
    return sorted(path for path in found if not LEFT_OUT & set(path.relative_to(folder).parts[:-1]))


def rows_of(path, student, name, judged):
    """The rows of one notebook. `judged`: {(exercise, answer): Report}, which grows."""
    try:
        found = answers(path)
    except Unreadable as error:
        page = re.match(r"\d\d", path.name)
        return [Row(student, page[0] if page else "?", "", UNREADABLE, str(error), name)]
    rows = []
    for label, source in found.items():
        report = answer_in(label, source)
        if not isinstance(report, Report):
            key = label, report
            if key not in judged:
                judged[key] = judge_apart(*key)
            report = judged[key]
        rows.append(Row(student, EXERCISES[label].page, label, *state_of(report), name))
    return rows


def state_of(report: Report) -> tuple[str, str]:
    """(state, the verdict in a line)."""
    if report:
        return DONE, ""
    first = report.findings[0]
    if first.kind == "not yet":
        return NOT_YET, first.message
    return TRIED, " ".join(f"{first.kind}: {first.message}".split())
