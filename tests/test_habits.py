"""The habits of the house: rooms import downwards only, and the code is in one form."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

from distribution import PACKAGES, folder_of, sources

import helpers

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = Path(sys.executable).parent


def said(folder, *command):
    """The exit status, and all that the command printed in that folder."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def ruff(folder, *command):
    return said(folder, sys.executable, "-m", "ruff", *command, "--no-cache", ".")


def test_rooms_import_downwards_only():
    status, text = said(ROOT, str(SCRIPTS / "lint-imports"), "--no-cache")
    assert status == 0, text


def test_the_code_is_in_one_form():
    for command in (("check",), ("format", "--check")):
        status, text = ruff(ROOT, *command)
        assert status == 0, text


def test_no_function_hides_the_module_it_comes_from():
    """`from helpers.clock import contest` must not mean one thing or another by what was imported before."""
    hidden = []
    for found in pkgutil.walk_packages(helpers.__path__, "helpers."):
        if found.ispkg and "._" not in found.name:
            room = importlib.import_module(found.name)
            modules = {inner.name for inner in pkgutil.iter_modules(room.__path__)}
            hidden += [
                f"{found.name}.{name}" for name in modules & {*vars(room)} if not inspect.ismodule(getattr(room, name))
            ]
    assert hidden == []


# Where text becomes code, or bytes become objects: never those of a file that somebody else wrote. (`child.py` is
# given a function by its parent; the other two pass a launch to a child, and its answer back, through pipes.)
RUNS = {
    "ladder.py": ["eval"],  # the formulas of its steps
    "launch/cuda_source.py": ["exec"],
    "child.py": ["pickle.loads"],
    "in_child.py": ["pickle.load"],
    "native_child.py": ["pickle.load"],
    "triton_product.py": ["exec"],
}


def test_text_becomes_code_in_few_places():
    found = {}
    for folder, path in ((folder_of(package), path) for package in PACKAGES for path in sources(package)):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if re.fullmatch(r"(cloud)?pickle\.loads?|(marshal|yaml)\.\w*load\w*|shelve\.open|eval|exec", called):
                found.setdefault(path.relative_to(folder).as_posix(), []).append(called)
            assert not isinstance(node, ast.keyword) or node.arg != "allow_pickle"  # of np.load
    assert found == RUNS
