"""What one page alone needs stands in a file called like it: short, of public names, and used by nobody else."""

import ast
import re
from pathlib import Path

import notebooks
import pytest

from helpers import exercises

SHARED = {"answers", "rules"}  # by several pages
FILES = {path.stem: path for path in Path(exercises.__file__).parent.glob("[!_]*.py")}
OWN = sorted(FILES.keys() - SHARED)
PAGES = {path.stem[3:]: path.read_text(encoding="utf-8") for path in notebooks.notebook_paths()}


def imported(path):
    """The modules of helpers that a file names in its imports, with their dots."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {"." * node.level + (node.module or "") for node in nodes if isinstance(node, ast.ImportFrom) and node.level}


@pytest.mark.parametrize("name", FILES)
def test_a_file_takes_what_rooms_offer_and_what_pages_share(name):
    for module in imported(FILES[name]):
        assert re.fullmatch(r"\.\.\w*|\.\.launch\.on_cuda|\.(answers|rules)", module), module


@pytest.mark.parametrize("name", OWN)
def test_a_pages_own_file_is_short_and_asked_by_that_page_alone(name):
    assert len(FILES[name].read_text(encoding="utf-8").splitlines()) <= 120
    assert [page for page, text in PAGES.items() if f"helpers.exercises.{name} import" in text] == [name]


def test_no_other_room_needs_an_exercise():
    rooms = Path(exercises.__file__).parent.parent
    asking = [path for path in rooms.rglob("*.py") if "from ..exercises" in path.read_text(encoding="utf-8")]
    assert asking == []
