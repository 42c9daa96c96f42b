"""What a reader may count on: public names say what they take and return, rooms say which question they answer."""

import importlib
import inspect
import re
import tomllib
from pathlib import Path

import pytest
from distribution import ALONE, PACKAGES
from packaging.version import Version

import helpers

# "" is helpers itself.
ROOMS = ("", "checking", "clock", "exercises", "instruments", "launch", "pictures")
KERNELS = {"cuda", "opencl"}  # these hold kernels, and answer no question
ROOT = Path(__file__).resolve().parent.parent


def public_names(room):
    """(name, value) of all that the room offers: what it lists or has, and what old_roc's modules define."""
    module = importlib.import_module(room if room in ALONE else f"helpers.{room}".rstrip("."))
    has = [name for name, value in vars(module).items() if name[0] != "_" and not inspect.ismodule(value)]
    offered = [(name, getattr(module, name)) for name in getattr(module, "__all__", has)]
    modules = ("amd", "hsa", "roc", "vocabulary") if room == "old_roc" else ()
    return offered + [
        (name, value)
        for each in [importlib.import_module(f"old_roc.{one}") for one in modules]
        for name, value in vars(each).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == each.__name__
    ]


def functions_of(name, value):
    """(name, function, whether it is a method) of all that the type hints of a function or class are about.

    Of a class: its public methods and properties, and its __init__, also those it inherits from another of the course.
    """
    if inspect.isfunction(value):
        yield name, value, False
    if not inspect.isclass(value):
        return
    ours = [one for one in value.__mro__ if one.__module__.partition(".")[0] in (*PACKAGES, __name__)]
    for attribute in dict.fromkeys(key for one in ours for key in vars(one)):
        found = inspect.getattr_static(value, attribute)
        function = found.fget if isinstance(found, property) else getattr(found, "__func__", found)
        named = attribute == "__init__" or not attribute.startswith("_")
        if inspect.isfunction(function) and named and function.__module__ != "typing":  # which makes a Protocol's
            yield f"{name}.{attribute}", function, not isinstance(found, staticmethod)


def missing_hints(name, function, is_method):
    """What has no type hint, each as 'name: parameter' or 'name: return'. What __init__ returns is known."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())[is_method:]
    missing = [f"{name}: {p.name}" for p in parameters if p.annotation is p.empty]
    if signature.return_annotation is signature.empty and not name.endswith("__init__"):
        missing.append(f"{name}: return")
    return missing


@pytest.mark.parametrize("room", [*ROOMS, *ALONE])
def test_what_a_room_offers_has_type_hints(room):
    functions = [function for name, value in public_names(room) for function in functions_of(name, value)]
    missing = [hint for function in functions for hint in missing_hints(*function)]
    assert functions and not missing, "without a type hint: " + ", ".join(missing)


def asks_a_question(docstring):
    """Whether the first line is a line of its own, and puts a question."""
    lines = (docstring or "").splitlines()
    return bool(lines) and "?" in lines[0] and (len(lines) == 1 or not lines[1].strip())


def test_every_room_says_which_question_it_answers():
    rooms = {file.parent.name for file in Path(helpers.__file__).parent.glob("*/__init__.py")} - KERNELS
    assert rooms == set(ROOMS) - {""}
    silent = [room for room in rooms if not asks_a_question(importlib.import_module(f"helpers.{room}").__doc__)]
    assert not silent


def test_the_changes_begin_with_the_version_that_pyproject_names():
    """The version stands in pyproject.toml; the newest heading of CHANGELOG.md follows it."""
    newest = re.search(r"^## (\S+)", (ROOT / "docs" / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[1]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert Version(newest) == Version(project["version"]), "change the version in pyproject.toml, or the heading"


@pytest.mark.parametrize("name, screens", [("ARCHITECTURE.md", 1.3), ("CONTRIBUTING.md", 1), ("CHANGELOG.md", 1)])
def test_what_one_reads_before_a_change_is_short(name, screens):
    """Of the changes, the newest version."""
    text = (ROOT / "docs" / name).read_text(encoding="utf-8").split("\n## 1.0")[0]
    short = len(text.splitlines()) <= 60 * screens and len(text.split()) <= 850 * screens
    assert short, f"{name} is longer: move what one seldom needs"


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
