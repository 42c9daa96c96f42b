"""What the first command of the README does before it works, while it works, and when it cannot."""

import ctypes
import importlib.util
import os
import platform
import shutil
import socket
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import install
import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from helpers import needs

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ROOT / "tools" / "locks"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_installer_promises_what_the_project_does():
    oldest, beyond = (".".join(map(str, version)) for version in install.promised())
    assert SpecifierSet(PROJECT["requires-python"]) == SpecifierSet(f">={oldest},<{beyond}")
    assert set(install.EXTRAS) == set(PROJECT["optional-dependencies"])
    for need in needs.NEEDS.values():
        assert install.EXTRAS[need.extra][1] == need.megabytes


@pytest.mark.bulk
@pytest.mark.parametrize(
    "python, system, pins",
    [
        ("3.11.2", "windows", "constraints.txt"),
        ("3.14.0", "aarch64-apple-darwin", "constraints.txt"),
        ("3.14.0", "x86_64-manylinux_2_28", "constraints-cuda12.txt"),
    ],
)
def test_the_pins_can_be_installed(python, system, pins):
    """uv reads what each pin requires, Python above all, and for which systems it is built (jieba is Python only)."""
    extras = ["lab", "test", "many", "web", "blocks", "cutile", "cuda12" if "cuda12" in pins else "cuda13"]
    command = [sys.executable, "-m", "uv", "pip", "compile", "-q", "pyproject.toml", "-c", LOCKS / pins, "--no-header"]
    command += ["--no-annotate", "--only-binary", ":all:", "--no-binary", "jieba", "--system-certs"]
    command += ["--no-python-downloads", "--python-version", python, "--python-platform", system]
    command += [word for extra in extras for word in ("--extra", extra)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert not found.returncode, found.stderr
    lines = [line for line in (LOCKS / pins).read_text("utf-8").splitlines() if not line.startswith("#")]
    pinned = {canonicalize_name(pin.name): pin.specifier for pin in map(Requirement, lines)}
    resolved = [Requirement(line) for line in found.stdout.splitlines()]
    assert len(resolved) > 150
    assert {one.name for one in resolved if pinned.get(canonicalize_name(one.name)) != one.specifier} == set()


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """A folder that holds what the installer reads of the course, and nothing else."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "begun_anew.py", tmp_path / "tools")
    monkeypatch.setattr(install, "ROOT", tmp_path)
    monkeypatch.setattr(install, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(install, "PYTHON", tmp_path / ".venv" / "bin" / "python")
    return tmp_path


def other_python(monkeypatch, *version):
    monkeypatch.setattr(sys, "version_info", version)
    monkeypatch.setattr(platform, "python_version", lambda: ".".join(map(str, version)))


def told(monkeypatch, capsys, *words):
    """What `install.py` with these words says on standard error, and its exit status."""
    monkeypatch.setattr(sys, "argv", ["install.py", *words])
    status = install.main()
    return capsys.readouterr().err, status


@pytest.mark.parametrize("version", [(3, 11, 1), (3, 15, 0)])
def test_a_python_that_is_not_promised_is_refused_before_anything_is_written(version, empty, monkeypatch, capsys):
    other_python(monkeypatch, *version)
    text, status = told(monkeypatch, capsys)
    assert status == 1 and text.startswith("Not installed: the course needs Python 3.11.2 to 3.14, and ")
    assert f" is {'.'.join(map(str, version))}. Name another: make lab PYTHON=" in text
    assert not (empty / ".venv").exists()


@pytest.mark.parametrize(
    "place, name, answer, said",
    [
        (importlib.util, "find_spec", lambda name: None, "sudo apt install python3-venv"),
        (sys, "platform", "darwin", "Intel's Macs"),
        (os, "access", lambda path, how: False, "cannot be written by you. Copy the course's folder"),
        (shutil, "disk_usage", lambda where: SimpleNamespace(free=1.4e9), "and 1.4 GB are free"),
    ],
)
def test_a_machine_on_which_it_cannot_work_is_told(empty, monkeypatch, place, name, answer, said):
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(place, name, answer)
    with pytest.raises(install.Failed, match=said):
        install.refuse_what_cannot_work()


def printing(text, status=0):
    return [sys.executable, "-c", f"import sys; print({text!r}); sys.exit({status})"]


def test_no_network_is_told_with_uvs_own_words_above(monkeypatch, capsys):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # a port that nobody listens on
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://127.0.0.1:{closed.getsockname()[1]}/simple/")
        with pytest.raises(
            install.Failed, match=r"^while installing: no network: http://127.0.0.1.* cannot be reached"
        ):
            install.run(printing("a word\nerror: first\n  cause: second", 1), "installing")
    assert capsys.readouterr().out == "  | error: first\n  |   cause: second\n"


def test_no_space_is_told(capsys):
    with pytest.raises(install.Failed, match=r"no space: .* GB are left for .* Make room"):
        install.run(printing("error: (os error 28)", 2), "installing")


def test_pips_mirror_is_uvs_too(monkeypatch):
    monkeypatch.setattr(install, "PYTHON", Path(sys.executable))
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror.example/simple")
    assert install.settings_of_uv()["UV_DEFAULT_INDEX"] == "https://mirror.example/simple"


def venv_of(folder, version, pip=True):
    """A .venv whose Python says that it is of this version, and has pip or none."""
    (folder / ".venv" / "bin").mkdir(parents=True)
    install.PYTHON.write_text(f"#!/bin/sh\necho {version}; exit {0 if pip else 1}\n")
    install.PYTHON.chmod(0o755)
    (folder / ".venv" / "kept").touch()


@pytest.fixture
def ran(monkeypatch):
    """The commands that the installer gives, in place of running them."""
    commands = []
    monkeypatch.setattr(install, "run", lambda command, *how: commands.append(command))
    return commands


@pytest.mark.parametrize(
    "version, pip, fault",
    [
        ("", True, "has no Python that starts"),
        ("3 12 1", False, "is incomplete, as after an interrupt"),
        ("3 10 13", True, "has Python 3.10.13, which the course does not work with"),
    ],
)
def test_a_broken_venv_is_made_anew_with_lab(version, pip, fault, empty, ran, monkeypatch, capsys):
    venv_of(empty, version, pip)
    monkeypatch.setattr(sys, "argv", ["install.py", "many", "--small"])
    assert install.main() == 0
    assert f".venv {fault}: it is made anew." in capsys.readouterr().out
    assert ran[0][1:3] == ["-m", "venv"] and not (empty / ".venv" / "kept").exists()
    assert ran[-1][-1].endswith("[lab,many]")


@pytest.mark.parametrize(
    "words, system, driver, extras",
    [
        ([], "linux", None, "lab,cuda13"),
        ([], "linux", 12080, "lab,cuda12"),
        (["lab", "test"], "win32", 13000, "lab,test,cuda13"),
        ([], "darwin", None, "lab"),
        (["lab", "cuda12"], "linux", 13000, "lab,cuda12"),
    ],
)
def test_the_compiler_that_the_driver_wants_comes_with_lab(
    words, system, driver, extras, empty, ran, monkeypatch, capsys
):
    def library(name):
        if driver is None:
            raise OSError(f"there is no {name}")
        return SimpleNamespace(cuDriverGetVersion=lambda version: setattr(version._obj, "value", driver))

    venv_of(empty, "3 12 1")
    monkeypatch.setattr(ctypes, "CDLL", library)
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    monkeypatch.setattr(sys, "argv", ["install.py", *words])
    assert install.main() == 0
    assert ran[-1][-1].endswith(f"[{extras}]") and ("constraints-cuda12" in str(ran[-1])) == ("cuda12" in extras)
    said = capsys.readouterr().out
    assert all(install.row(extra) in said for extra in extras.split(","))  # with its size, before it is fetched


def test_a_venv_that_works_is_kept_whichever_python_adds_to_it(empty, ran, monkeypatch):
    """The remedy for a lack is given by `python3`, and `make lab` may have been given another."""
    venv_of(empty, "3 12 1")
    other_python(monkeypatch, 3, 10, 13)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)  # Debian's Python without python3-venv
    monkeypatch.setattr(shutil, "disk_usage", lambda where: SimpleNamespace(free=1.4e9))  # to go on needs less
    install.refuse_what_cannot_work()
    assert not install.make_venv()
    assert (empty / ".venv" / "kept").exists() and [command[2] for command in ran] == ["pip"]


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
def test_make_installs_again_where_the_venv_has_lost_its_python(tmp_path):
    for name in ("Makefile", "pyproject.toml", "tools/locks/constraints.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    (tmp_path / ".venv" / "lab.stamp").touch()

    def planned():
        command = ["make", "-n", "lab", "LAB_FLAGS=--small --port=8890"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    python.symlink_to(sys.executable)
    assert "tools/lab.py" in planned() and "tools/install.py" not in planned()
    python.unlink()
    python.symlink_to(tmp_path / "gone")
    assert planned().index("tools/install.py lab --small\n") < planned().index("tools/lab.py --port=8890\n")


@pytest.mark.parametrize(
    "error, said",
    [(KeyboardInterrupt(), "stopped. The same command goes on"), (OSError(28, "No space left"), "No space")],
)
def test_an_interrupt_and_a_full_disk_are_one_line(error, said, empty, monkeypatch, capsys):
    def fails():
        raise error

    monkeypatch.setattr(install, "make_venv", fails)
    text, status = told(monkeypatch, capsys)
    assert status == 1 and said in text and text.count("\n") == 1
