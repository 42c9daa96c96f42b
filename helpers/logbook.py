"""A work log: what a reader wrote, guessed, saw and measured, from the pages as they were saved, as one file of HTML.

Nothing of a page runs in it, see `kernel_judge.stored`, and the file forbids all scripts, and the network. What a page
shows as the course has stored it is left out, so that none of the course's times is taken for the reader's.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from string import Template

from kernel_judge.stored import DONE, NOT_YET, TRIED, html_of, own_cells, safe, text_of

from . import files
from .classroom import LABELS, MARK, SIGNS, AnswerRow, progress
from .language import CHINESE, ENGLISH, NOW, said, spelled
from .notebook import stored

HTML = Path(__file__).with_name("logbook.html").read_text(encoding="utf-8")
WORDS = re.compile(r"\[\[(.*?)\]\]")  # in it: what is said in the language of its pages
OWN = re.compile(r"\b(mine|my_(?!guess|n\b)\w+)\b")  # a kernel of the reader's: a right one looks as the course's does
RATE = re.compile(r"\b(\w+ \(\w[\w, ]+\)|numpy_matmul) ([\d.,]+) GFLOP/s")  # as a chart's text has it


def work_log(folder: str | Path = ".") -> None:
    """Write the work log of the pages in a folder, as they were last saved: work_log.html in that folder.

    Where there is a folder for each student, each has a file that is called like it.
    """
    folder, rows = Path(folder), progress(folder).rows
    for student in sorted({row.student for row in rows if row.exercise}):
        file = folder / f"{'work_log' if student == folder.resolve().name else student}.html"
        files.replace_text(file, written([row for row in rows if row.student == student], folder))
        print(said("saved: {file}, of the pages as they were last saved", file=file))


def written(rows: list[AnswerRow], folder: Path) -> str:
    """The file of the reader whose rows these are."""
    table, pages, rates = [], [], {}
    for page in sorted({row.page for row in rows}):
        states = {row.exercise: row.state for row in rows if row.page == page}
        names = sorted({row.file for row in rows if row.page == page and row.state in (DONE, TRIED)})
        cells = [cell for name in names for cell in worked_cells(folder / name)]
        worked = {label for label, *_ in cells if label}
        states |= {label: NOT_YET for label in states if states[label] == TRIED and label not in worked}
        signs = {label: f"{SIGNS[state]} {label}" for label, state in states.items()}
        links = [f'<a class="{state}" href="#{label}">{signs[label]}</a>' for label, state in states.items()]
        lines = "\n".join(text_of(outputs) for *_, outputs in cells).split("\n")
        guesses = [safe(line) for line in lines if "your guess was" in line]
        table.append(f"<tr><th>{safe(page)}<td>{' '.join(links)}<td>{'<br>'.join(guesses)}")
        if worked:
            rates |= RATE.findall("\n".join(lines))
            pages.append(f"<h2>{safe(Path(names[0]).stem.replace('_', ' '))}</h2>")
        for label, source, outputs in cells if worked else ():
            head = f'<h3 id="{label}">{signs.pop(label)}</h3>' if label in signs else ""
            body = f"<pre>{safe(source)}</pre>{html_of(outputs)}"
            pages.append(f'{head}<section class="{states.get(label, "")}">{body}</section>')
    measured = [f"<tr><th>{safe(name)}<td>{rate}" for name, rate in rates.items()]
    parts = {"table": table, "measured": measured, "pages": pages}
    language = CHINESE if re.search("[\u4e00-\u9fff]", "".join(pages)) else NOW[0]
    page = Template(WORDS.sub(lambda found: spelled(language, found[1], {}), HTML))
    return page.substitute({name: "\n".join(lines) for name, lines in parts.items()}, student=safe(rows[0].student))


def worked_cells(path: Path) -> Iterator[tuple[str | None, str, list]]:
    """What `own_cells` has that differs from the course's page, or that shows a kernel of the reader's, but no time."""
    for label, source, outputs in own_cells(path, LABELS, MARK):
        source = re.sub(f"^{MARK}.*\n", "", source)
        known = [lines_of(one[source]) for one in (stored(ENGLISH), stored(CHINESE)) if source in one]
        same = known and (not outputs or lines_of(outputs) in known)
        if not same or (not label and OWN.search(source) and "GFLOP" not in text_of(outputs)):
            yield label, source, outputs


def lines_of(outputs: list[dict]) -> list[str]:
    """The lines of a cell's outputs, sorted: what is printed between pictures is stored in one piece, or in several."""
    return sorted(text_of(outputs).split("\n"))
