"""Make the hand-out: the pages as students get them, from the course's own notebooks, so that the two cannot drift.

    python tools/handout.py                          all pages, into handout/; their solutions into handout/solutions/
    python tools/handout.py --pages 00 01 02         these pages only
    python tools/handout.py --language zh_CN         the Chinese pages
    python tools/handout.py --with-solutions-after   for the day after: the same pages again, with their solutions
    python tools/handout.py --folder DIR             somewhere else

A student's page has no outputs and no solutions. Its hints and stubs stay, and each stub gets a line with the number of
its exercise, so that `python -m helpers progress` finds its verdict whatever an editor does to the file.
"""

import argparse
import copy
import json
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import nbformat
import notebooks

from helpers.classroom import EXERCISES, MARK

FOLDER = notebooks.ROOT / "handout"
TITLE = notebooks.SOLUTION
TAG = "solution"  # of a paragraph that tells of a solution
LINK = re.compile(r"\[([^\]]*)\]\((\d\d_\w+\.ipynb)\)")
NUMBERS = {cell: label for label, cell in EXERCISES.items()}
MADE_HERE = ".made-by-handout"  # a file that says that a folder may be made anew

README = """# Matmul ladder: hand-out

Your copy of the pages. Everything you write stays in these files: save them, and they are your answers.

| page | minutes |
|---|---|
{table}

Open a page in JupyterLab, run its cells from the top (Shift + Enter), and at *Your turn* replace what says `your turn`.
Each exercise judges itself, as often as you like, and its hints are folded below it. Leave the line `# Exercise …` at
the top of a cell as it is.

`python -m helpers progress .` says which exercises of this folder are done, `python -m helpers log .` puts your work on
one page to hand in, `work_log.html`, and `python -m helpers doctor` says what your machine has. Where that `python`
does not know the course, as on a server for the room, write it in a cell of a page:
`!{{sys.executable}} -m helpers progress .`

The terms are in [glossary.md](glossary.md).
"""
README_CHINESE = """# 矩阵乘法的阶梯：讲义

这是发给你的一份。你写的一切都留在这些文件里：保存好，它们就是你的答卷。

| 页 | 分钟 |
|---|---|
{table}

用 JupyterLab 打开一页，从上到下运行单元格（Shift + Enter）；到了“轮到你了”，把写着 `your turn` 的地方换成你的代码。
每道练习都会自己评判，想试多少次都行，提示折叠在它下面。单元格顶上那行 `# Exercise …` 请不要改动。

`python -m helpers progress .` 告诉你这个文件夹里哪些练习做完了，`python -m helpers doctor` 告诉你这台机器有什么。如果
那个 `python` 不认识这门课（例如在教室的服务器上），就在页面的单元格里写：`!{{sys.executable}} -m helpers progress .`

术语都在 [glossary.md](glossary.md) 里。
"""


@dataclass(frozen=True)
class Language:
    """What a hand-out says itself, and what its pages say of their solutions, in one language."""

    pages: Path
    readme: str
    following: str  # begins the link to the next page
    about_the_fold: re.Pattern
    solution: str
    solutions: str
    exercise: str

    @property
    def next(self) -> re.Pattern:
        """The line that leads to the next page."""
        return re.compile(rf"\n*{re.escape(self.following)}.*")

    @property
    def folded(self) -> re.Pattern:
        """A solution that is told in prose."""
        return re.compile(rf"\n*<details><summary>{self.solution}</summary>.*?</details>", re.DOTALL)


LANGUAGES = {
    "en": Language(
        notebooks.FOLDER,
        README,
        "**Next:**",
        re.compile(r"\n*The next cell holds a solution.*"),
        "A solution",
        "Solutions",
        "Exercise",
    ),
    "zh_CN": Language(
        notebooks.FOLDER / "zh_CN",
        README_CHINESE,
        "**下一页：**",
        re.compile(r"\n*下一个单元格里是一份解答.*"),
        "解答",
        "解答",
        "练习",
    ),
}


def is_solution(cell):
    """Whether a cell is a solution, or tells of one."""
    return cell.source.startswith(TITLE) or TAG in cell.metadata.get("tags", [])


def student_page(master, pages, language, following="", solutions_after=False):
    """The student's copy of a page, a new notebook.

    `pages`: the stems of the pages in the hand-out. `following`: a link to the next of them, "" on the last page.
    """
    page = copy.deepcopy(master)
    page.cells = [cell for cell in page.cells if not is_solution(cell)]
    for cell in page.cells:
        if cell.cell_type == "markdown":
            cell.source = language.next.sub(f"\n\n{language.following} {following}" * bool(following), cell.source)
            cell.source = without_solutions(cell.source, pages, language)
        else:
            cell.outputs, cell.execution_count = [], None
            if cell.id in NUMBERS:
                cell.source = f"{MARK}{NUMBERS[cell.id]}\n{cell.source}"
        cell.metadata.pop("tags", None)  # they are for tests of stored outputs
    page.cells[0].source = "\n".join(line for line in page.cells[0].source.split("\n") if not line.startswith("[!["))
    page.cells[0].source = page.cells[0].source.replace("\n\n\n", "\n\n")
    if solutions_after:
        page.cells += appendix(master, language)
    return page


def without_solutions(text, pages, language):
    """A paragraph without folded solutions, its links to pages that are in the hand-out, its next page among them."""
    text = language.about_the_fold.sub("", language.folded.sub("", text)).replace("](../glossary.md", "](glossary.md")
    return LINK.sub(lambda link: link[0] if link[2].removesuffix(".ipynb") in pages else link[1], text)


def appendix(master, language):
    """The solutions of a page as cells that stay folded, each below the number of its exercise."""
    cells, label = [nbformat.v4.new_markdown_cell(f"## {language.solutions}", id="solutions")], None
    for cell in master.cells:
        label = NUMBERS.get(cell.id, label)
        if cell.source.startswith(TITLE):
            solution = copy.deepcopy(cell)
            solution.outputs, solution.execution_count = [], None
            solution.metadata = nbformat.from_dict(notebooks.FOLDED)
            heading = f"**{language.exercise} {label}**"
            cells += [nbformat.v4.new_markdown_cell(heading, id=f"solution-{label.replace('.', '-')}"), solution]
        elif found := language.folded.search(cell.source):
            cells.append(nbformat.v4.new_markdown_cell(f"**{language.exercise}**{found[0]}", id=f"told-{cell.id}"))
    return cells


def title(page):
    """What the page is called, with its number."""
    return page.cells[0].source.split("\n")[0].removeprefix("# ")


def write(folder, paths, language="en", solutions_after=False):
    """Write the hand-out of these notebooks into the folder, which is made anew. FileExistsError: another's."""
    if folder.exists() and any(folder.iterdir()) and not (folder / MADE_HERE).exists():
        raise FileExistsError(f"{folder} holds something that this command did not make; name another --folder.")
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "solutions").mkdir(parents=True)
    stems, words = [path.stem for path in paths], LANGUAGES[language]
    about = dict(pages=[stem[:2] for stem in stems], language=language)
    (folder / MADE_HERE).write_text(f"{json.dumps(about)}\n", encoding="utf-8")
    masters = [notebooks.read(words.pages / path.name) for path in paths]
    links = [f"[{title(master)}]({path.name})" for master, path in zip(masters, paths, strict=True)]
    rows = []
    for path, master, link, following in zip(paths, masters, links, [*links[1:], ""], strict=True):
        page = student_page(master, stems, words, following, solutions_after)
        (folder / path.name).write_text(notebooks.as_text(page), encoding="utf-8")
        solved = notebooks.as_text(master).replace("](../glossary.md", "](glossary.md")
        (folder / "solutions" / path.name).write_text(solved, encoding="utf-8")
        rows.append(f"| {link} | {notebooks.minutes(notebooks.read(path))} |")
    for place in (folder, folder / "solutions"):
        shutil.copy(notebooks.FOLDER / "glossary.md", place)
    (folder / "README.md").write_text(words.readme.format(table="\n".join(rows)), encoding="utf-8")


def handed_out(folder):
    """What the hand-out in that folder was made of: its pages' numbers and its language; {} where there is none."""
    try:
        return json.loads((folder / MADE_HERE).read_text("utf-8"))
    except (OSError, ValueError):
        return {}


def main(arguments=None):
    """Write the hand-out that the command line asks for. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pages", nargs="+", metavar="NN", help="numbers of pages; all by default")
    parser.add_argument("--language", choices=LANGUAGES, help="of the pages (en)")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where to (handout)")
    parser.add_argument(
        "--with-solutions-after",
        action="store_true",
        help="each page ends with its solutions; by default the pages that were handed out, in their language",
    )
    options = parser.parse_args(arguments)
    before = handed_out(options.folder) if options.with_solutions_after else {}
    options.pages = before.get("pages", []) if options.pages is None else options.pages
    options.language = options.language or before.get("language", "en")
    known = [path.name[:2] for path in notebooks.notebook_paths()]
    if unknown := [page for page in options.pages if page not in known]:
        sys.exit(f"there is no page {' or '.join(unknown)}; there are: {' '.join(known)}")
    paths = notebooks.notebook_paths(options.pages)
    try:
        write(options.folder, paths, options.language, options.with_solutions_after)
    except OSError as error:
        sys.exit(f"error: {error}")
    print(f"{len(paths)} pages in {options.folder}, their solutions in {options.folder / 'solutions'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
