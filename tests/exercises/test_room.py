"""The room's listing says where an exercise is judged: a file is called like its page, and pages use what it offers."""

import re
from pathlib import Path

import notebooks

from helpers import exercises

SHARED = {"loads", "parts", "questions", "rules"}  # by several pages
PAGES = {path.stem[3:]: path.read_text(encoding="utf-8") for path in notebooks.notebook_paths()}


def test_a_file_is_called_like_its_page_or_shared():
    files = {path.stem for path in Path(exercises.__file__).parent.glob("*.py")} - {"__init__"}
    assert files - SHARED <= PAGES.keys()


def test_a_page_asks_the_judge_in_the_file_that_is_called_like_it():
    for name in exercises.__all__:
        file = getattr(exercises, name).__module__.rpartition(".")[2]
        own = {page for page, text in PAGES.items() if f"def {name}(" in text}  # page 01 has a `turned` of its own
        asking = {page for page, text in PAGES.items() if re.search(rf"\b{name}\(", text)} - own
        assert asking and (file in SHARED or asking == {file}), f"{name}, of {file}.py, is asked by {asking}"
