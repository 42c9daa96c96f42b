"""The packages of the distribution, and those of them that stand by themselves: pyproject.toml lists them."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
PACKAGES = [pattern.rstrip("*") for pattern in SETTINGS["setuptools"]["packages"]["find"]["include"]]
ALONE = [package for package in PACKAGES if package != "helpers"]


def folder_of(package):
    """Where a package lies."""
    return ROOT / package if package == "helpers" else ROOT / "packages" / package


def sources(package):
    """The *.py files of a package without its tests, and without what `pip install ./PACKAGE` leaves there."""
    files = folder_of(package).rglob("*.py")
    return [file for file in files if not {"tests", "build"} & set(file.relative_to(ROOT).parts)]
