"""How large each page is: what a reader has to take in before the page is done.

    python tools/sizes.py           a line for each page
    python tools/sizes.py 03 04     those whose names begin so

Words are those of the prose, without hints, solutions' paragraphs, blocks of code and addresses; code is counted in
cells and lines, without the set-up cell and solutions; brackets are sentences or asides in round brackets; pages are
references to other pages of the course.
"""

import re
import sys
from dataclasses import dataclass, fields

from notebooks import SOLUTION, notebook_paths, read


@dataclass(frozen=True)
class Size:
    """Of one page."""

    words: int
    cells: int
    lines: int
    brackets: int
    pages: int


MOST = dict(cells=16, lines=90, brackets=8, pages=3)  # words are as many as a tired reader needs


def size_of(notebook, number: str) -> Size:
    """The `Size` of a notebook with that number, such as "03"."""
    prose = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    prose = re.sub(r"<details>.*?</details>|^```.*?^```", "", prose, flags=re.DOTALL | re.MULTILINE)
    prose = re.sub(r"!?\[!\[[^\]]*\]\([^)]*\)\]\([^)]*\)", "", prose)  # badges
    linked = re.sub(r'\]\(([^)"]*)[^)]*\)', lambda found: f"] {found[1]} ", prose)
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", prose)
    text = re.sub(r"`[^`\n]*`|\$[^$\n]*\$", "x", plain)
    pages = set(re.findall(r"\b(?:pages?|and|to|,) ([01]\d)\b", text)) | set(re.findall(r"\b(\d\d)_\w+\.ipynb", linked))
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"][1:]
    code = [source for source in code if not source.startswith(SOLUTION)]
    return Size(
        words=len(text.split()),
        cells=len(code),
        lines=sum(bool(line.strip()) for source in code for line in source.splitlines()),
        brackets=len(re.findall(r"\([^()]{3,}\)", text)),
        pages=len(pages - {number}),
    )


def main(names):
    """Print the table; what is over MOST has an asterisk. Returns the exit status, 1 where anything is."""
    columns = [field.name for field in fields(Size)]
    print(f"{'page':24}" + "".join(f"{name:>10}" for name in columns))
    total, over = dict.fromkeys(columns, 0), False
    for path in notebook_paths(names):
        size = vars(size_of(read(path), path.stem[:2]))
        marks = {name: f"{many}{'*' * (many > MOST.get(name, many))}" for name, many in size.items()}
        print(f"{path.stem:24}" + "".join(f"{marks[name]:>10}" for name in columns))
        over = over or any(str(mark).endswith("*") for mark in marks.values())
        total = {name: total[name] + size[name] for name in columns}
    print(f"{'all':24}" + "".join(f"{total[name]:>10}" for name in columns))
    return int(over)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
