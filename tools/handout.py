"""Make the hand-out: the pages as students get them, from the course's own notebooks, so that the two cannot drift.

    python tools/handout.py                          all pages, into handout/; their solutions into handout/solutions/
    python tools/handout.py --pages 00 01 02         these pages only
    python tools/handout.py --with-solutions-after   for the day after: each page ends with its solutions
    python tools/handout.py --folder DIR             somewhere else

A student's page has no outputs and no solutions. Its hints and stubs stay, and each stub gets a line with the number of
its exercise, so that `python -m helpers progress` finds the answer whatever an editor does to the file.
"""

import argparse
import copy
import re
import shutil
import sys
from pathlib import Path

import nbformat
import notebooks

from helpers.classroom import EXERCISES
from helpers.classroom.copies import MARK

FOLDER = notebooks.ROOT / "handout"
TITLE = notebooks.SOLUTION
TAG = "solution"  # of a paragraph that tells of a solution
FOLDED = re.compile(r"\n*<details><summary>A solution</summary>.*?</details>", re.DOTALL)
ABOUT_THE_FOLD = "\n\nThe next cell holds a solution, folded away. Click on it to open it."
NEXT = re.compile(r"\n*\*\*Next:\*\*.*")
LINK = re.compile(r"\[([^\]]*)\]\((\d\d_\w+\.ipynb)\)")
NUMBERS = {exercise.cell: label for label, exercise in EXERCISES.items()}
MADE_HERE = ".made-by-handout"  # a file that says that a folder may be made anew

README = """# Matmul ladder: hand-out

Your copy of the pages. Everything you write stays in these files: save them, and they are your answers.

| page | minutes |
|---|---|
{table}

Open a page in JupyterLab, run its cells from the top (Shift + Enter), and at *Your turn* replace what says `your turn`.
Each exercise judges itself, as often as you like, and its hints are folded below it. Leave the line `# Exercise …` at
the top of a cell as it is.

`python -m helpers progress .` says which exercises of this folder are done, and `python -m helpers doctor` what your
machine has. Where that `python` does not know the course, as on a server for the room, write it in a cell of a page:
`!{{sys.executable}} -m helpers progress .`

`{install}` installs the course.
The terms are in [glossary.md](glossary.md).
"""


def is_solution(cell):
    """Whether a cell is a solution, or tells of one."""
    return cell.source.startswith(TITLE) or TAG in cell.metadata.get("tags", [])


def student_page(master, pages, following="", solutions_after=False):
    """The student's copy of a page, a new notebook.

    `pages`: the stems of the pages in the hand-out. `following`: a link to the next of them, "" on the last page.
    """
    page = copy.deepcopy(master)
    page.cells = [cell for cell in page.cells if not is_solution(cell)]
    for cell in page.cells:
        if cell.cell_type == "markdown":
            cell.source = NEXT.sub(f"\n\n**Next:** {following}" if following else "", cell.source)
            cell.source = without_solutions(cell.source, pages)
        else:
            cell.outputs, cell.execution_count = [], None
            if cell.id in NUMBERS:
                cell.source = f"{MARK}{NUMBERS[cell.id]}\n{cell.source}"
        cell.metadata.pop("tags", None)  # they are for tests of stored outputs
    page.cells[0].source = "\n".join(line for line in page.cells[0].source.split("\n") if not line.startswith("[!["))
    page.cells[0].source = page.cells[0].source.replace("\n\n\n", "\n\n")
    if solutions_after:
        page.cells += appendix(master)
    return page


def without_solutions(text, pages):
    """A paragraph without folded solutions, its links to pages that are in the hand-out, its next page among them."""
    text = FOLDED.sub("", text).replace(ABOUT_THE_FOLD, "")
    return LINK.sub(lambda link: link[0] if link[2].removesuffix(".ipynb") in pages else link[1], text)


def appendix(master):
    """The solutions of a page as cells that stay folded, each below the number of its exercise."""
    cells, label = [nbformat.v4.new_markdown_cell("## Solutions", id="solutions")], None
    for cell in master.cells:
        label = NUMBERS.get(cell.id, label)
        if cell.source.startswith(TITLE):
            solution = copy.deepcopy(cell)
            solution.outputs, solution.execution_count = [], None
            solution.metadata = nbformat.from_dict(notebooks.FOLDED)
            heading = f"**Exercise {label}**"
            cells += [nbformat.v4.new_markdown_cell(heading, id=f"solution-{label.replace('.', '-')}"), solution]
        elif found := FOLDED.search(cell.source):
            cells.append(nbformat.v4.new_markdown_cell(f"**Exercise**{found[0]}", id=f"told-{cell.id}"))
    return cells


def title(page):
    """What the page is called, with its number."""
    return page.cells[0].source.split("\n")[0].removeprefix("# ")


def write(folder, paths, solutions_after=False):
    """Write the hand-out of these notebooks into the folder, which is made anew. FileExistsError: another's."""
    if folder.exists() and any(folder.iterdir()) and not (folder / MADE_HERE).exists():
        raise FileExistsError(f"{folder} holds something that this command did not make; name another --folder.")
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "solutions").mkdir(parents=True)
    (folder / MADE_HERE).write_text("python tools/handout.py makes this folder anew.\n")
    masters = [notebooks.read(path) for path in paths]
    links = [f"[{title(master)}]({path.name})" for master, path in zip(masters, paths, strict=True)]
    stems, rows = [path.stem for path in paths], []
    for path, master, link, following in zip(paths, masters, links, [*links[1:], ""], strict=True):
        page = student_page(master, stems, following, solutions_after)
        (folder / path.name).write_text(notebooks.as_text(page), encoding="utf-8")
        shutil.copy(path, folder / "solutions")
        rows.append(f"| {link} | {notebooks.minutes(master)} |")
    for place in (folder, folder / "solutions"):
        shutil.copy(notebooks.FOLDER / "glossary.md", place)
    install = f'pip install "matmul-ladder[lab] @ git+{notebooks.repository()}"'
    text = README.format(table="\n".join(rows), install=install)
    (folder / "README.md").write_text(text, encoding="utf-8")


def main(arguments=None):
    """Write the hand-out that the command line asks for. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pages", nargs="+", default=[], metavar="NN", help="numbers of pages; all by default")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where to (handout)")
    parser.add_argument("--with-solutions-after", action="store_true", help="each page ends with its solutions")
    options = parser.parse_args(arguments)
    known = [path.name[:2] for path in notebooks.notebook_paths()]
    if unknown := [page for page in options.pages if page not in known]:
        sys.exit(f"there is no page {' or '.join(unknown)}; there are: {' '.join(known)}")
    paths = notebooks.notebook_paths(options.pages)
    try:
        write(options.folder, paths, options.with_solutions_after)
    except OSError as error:
        sys.exit(f"error: {error}")
    print(f"{len(paths)} pages in {options.folder}, their solutions in {options.folder / 'solutions'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
