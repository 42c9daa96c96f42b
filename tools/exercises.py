"""Write teaching/exercises.md: all exercises of the course on one page, with their stubs and hints.

python tools/exercises.py            write it
python tools/exercises.py --check    change nothing; fail if it is not as it would be written
"""

import re
import sys

import notebooks
from handout import LANGUAGES, title

from helpers.classroom import EXERCISES

FILE = notebooks.ROOT / "teaching" / "exercises.md"
HEAD = "# All exercises\n\nMade by `python tools/exercises.py`; do not edit. Solutions are in the pages.\n"
HINT = re.compile(r"<details><summary>(.*?)</summary>(.*?)</details>", re.DOTALL)
HEADING = re.compile(r"^## (?:Your turn|Now you: .*)$", re.MULTILINE)  # above an exercise
LINK = re.compile(r"\[([^\]]*)\]\(glossary\.md#[^)]*\)")


def exercises() -> str:
    """The file's text."""
    text, numbers = [HEAD], {cell: label for label, cell in EXERCISES.items()}
    for path in notebooks.notebook_paths():
        page = notebooks.read(path)
        text.append(f"\n## {title(page)}\n")
        for at, cell in enumerate(page.cells):
            if cell.id in numbers:
                after = page.cells[at + 1].source if at + 1 < len(page.cells) else ""
                text.append(one(numbers[cell.id], page.cells[at - 1].source, cell.source, after))
    return "\n".join(text)


def one(label, prompt, stub, after):
    """One exercise: its prompt, its stub and its hints."""
    prompt = HEADING.split(prompt)[-1].strip()
    english = LANGUAGES["en"]
    prompt = LINK.sub(r"\1", english.about_the_fold.sub("", english.folded.sub("", prompt)))
    hints = [f"- *{name}*: {said}" for name, said in HINT.findall(english.folded.sub("", after)) if "hint" in name]
    return "\n".join([f"### {label}\n", prompt, f"\n```python\n{stub}\n```\n", *hints, ""])


if __name__ == "__main__":
    made = exercises()
    if "--check" not in sys.argv:
        FILE.write_text(made, encoding="utf-8")
    elif not FILE.exists() or FILE.read_text(encoding="utf-8") != made:
        sys.exit(f"{FILE.relative_to(notebooks.ROOT)} is old; run: python tools/exercises.py")
