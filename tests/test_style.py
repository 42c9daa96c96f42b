"""What grows by itself: the lines of code, and the changes, which begin with the version that pyproject.toml names."""

import re
import tomllib
from pathlib import Path

from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent


def test_the_changes_begin_with_the_version_that_pyproject_names():
    """The version stands in pyproject.toml; the newest heading of CHANGELOG.md follows it."""
    newest = re.search(r"^## (\S+)", (ROOT / "docs" / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[1]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert Version(newest) == Version(project["version"]), "change the version in pyproject.toml, or the heading"


def lines_of_code():
    """How many lines of *.py there are: {"helpers", "product", "tests": lines}, as pyproject.toml counts them."""
    lines = dict.fromkeys(("helpers", "product", "tests"), 0)
    for file in [
        ROOT / "conftest.py",
        *(file for top in ("helpers", "packages", "tests") for file in (ROOT / top).rglob("*.py")),
    ]:
        parts = file.relative_to(ROOT).parts
        if "build" in parts:  # what `pip install ./PACKAGE` leaves there
            continue
        many = len(file.read_text(encoding="utf-8").splitlines())
        lines["tests" if "tests" in parts or file.name == "conftest.py" else "product"] += many
        if parts[0] == "helpers":
            lines["helpers"] += many
    return lines


def test_lines_only_fall():
    most = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["matmul-ladder"]["lines"]
    lines = lines_of_code()
    assert all(lines[part] <= most[part] for part in most), f"{lines}, more than {most}: make it shorter"
