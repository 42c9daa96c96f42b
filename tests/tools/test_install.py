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
PYTHONS = ["3.11.2", "3.12.0", "3.13.0", "3.14.0"]  # Debian 12's, and the first of each later version
LINUX, ELSEWHERE = "x86_64-manylinux_2_28", ("aarch64-manylinux_2_28", "windows", "aarch64-apple-darwin")


def test_these_are_the_pythons_that_the_course_promises():
    promise = SpecifierSet(PROJECT["requires-python"])
    oldest, beyond = (".".join(map(str, version)) for version in install.promised())
    assert promise == SpecifierSet(f">={oldest},<{beyond}")
    assert PYTHONS[0] == oldest and all(promise.contains(version) for version in PYTHONS)
    assert not any(promise.contains(version) for version in ("3.11.1", "3.15.0"))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"Python {oldest} to {PYTHONS[-1].removesuffix('.0')}" in readme


@pytest.mark.bulk
@pytest.mark.parametrize(
    "python, system, pins",
    [(python, LINUX, "constraints.txt") for python in PYTHONS]
    + [(python, system, "constraints.txt") for python in (PYTHONS[0], PYTHONS[-1]) for system in ELSEWHERE]
    + [(python, LINUX, "constraints-cuda12.txt") for python in (PYTHONS[0], PYTHONS[-1])],
)
def test_the_pins_can_be_installed(python, system, pins):
    """uv reads what each pin requires, Python above all, and for which systems it is built (jieba is Python only)."""
    extras = ["lab", "test", "many", "web", "blocks", "mutants", "cuda12" if "cuda12" in pins else "cuda13"]
    command = [sys.executable, "-m", "uv", "pip", "compile", "-q", "pyproject.toml", "-c", LOCKS / pins, "--no-header"]
    command += ["--no-annotate", "--only-binary", ":all:", "--no-binary", "jieba", "--system-certs"]
    command += ["--no-python-downloads", "--python-version", python, "--python-platform", system]
    command += [word for extra in extras for word in ("--extra", extra)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert not found.returncode, found.stderr
    pinned = {canonicalize_name(pin.name): pin.specifier for pin in map(Requirement, lines(LOCKS / pins))}
    resolved = [Requirement(line) for line in found.stdout.splitlines()]
    assert len(resolved) > 150
    assert {one.name for one in resolved if pinned.get(canonicalize_name(one.name)) != one.specifier} == set()


def lines(path):
    return [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """A folder that holds nothing but the settings of the course."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    monkeypatch.setattr(install, "ROOT", tmp_path)
    monkeypatch.setattr(install, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(install, "PYTHON", tmp_path / ".venv" / "bin" / "python")
    return tmp_path


def other_python(monkeypatch, *version):
    monkeypatch.setattr(sys, "version_info", version)
    monkeypatch.setattr(platform, "python_version", lambda: ".".join(map(str, version)))


@pytest.mark.parametrize("version", [(3, 9, 18), (3, 10, 13), (3, 11, 1), (3, 15, 0)])
def test_a_python_that_is_not_promised_is_refused(version, empty, monkeypatch):
    other_python(monkeypatch, *version)
    name = ".".join(map(str, version))
    with pytest.raises(install.Failed, match=rf"Python 3.11.2 to 3.14, .* is {name}. Name another: make lab PYTHON="):
        install.refuse_what_cannot_work()
    assert not (empty / ".venv").exists()


@pytest.mark.parametrize(
    "place, name, answer, said",
    [
        (importlib.util, "find_spec", lambda name: None, "sudo apt install python3-venv"),
        (sys, "platform", "darwin", "Intel's Macs"),
    ],
)
def test_a_machine_on_which_it_cannot_work_is_told(empty, monkeypatch, place, name, answer, said):
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(place, name, answer)
    with pytest.raises(install.Failed, match=said):
        install.refuse_what_cannot_work()


def test_too_little_space_is_said_before_anything_is_written(empty, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda where: types_free(1.4e9))
    with pytest.raises(install.Failed, match=r"takes 2.4 GB in .*\.venv, and 1.4 GB are free"):
        install.refuse_what_cannot_work()
    assert not (empty / ".venv").exists()
    (empty / ".venv").mkdir()  # an install that goes on needs less
    install.refuse_what_cannot_work()


def types_free(free):
    return shutil._ntuple_diskusage(int(1e12), int(1e12 - free), int(free))


def printing(text, status=0):
    return [sys.executable, "-c", f"import sys; print({text!r}); sys.exit({status})"]


def test_the_largest_are_named():
    downloads = install.Downloads()
    for number in range(1, 6):
        downloads.note(f" Downloading p{number} ({number}.0MiB)")
    assert downloads.left() == "16 of 16 MB still to come: p5 (5 MB), p4 (4 MB), p3 (3 MB), …"
    for number in range(1, 6):
        downloads.note(f"  Downloaded p{number}")
    assert downloads.left() == ""


def test_no_network(monkeypatch, capsys):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # a port that nobody listens on
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://127.0.0.1:{closed.getsockname()[1]}/simple/")
        with pytest.raises(
            install.Failed, match=r"^while installing: no network: http://127.0.0.1.* cannot be reached"
        ):
            install.run(printing("a word\nerror: first\n  cause: second", 1), "installing")
    assert capsys.readouterr().out == "  | error: first\n  |   cause: second\n"


@pytest.mark.parametrize("words", ["error: (os error 28)", "OSError: [Errno 28] No space left on device: 'x'"])
def test_no_space(words, capsys):
    with pytest.raises(install.Failed, match=r"no space: .* GB are left for .* Make room"):
        install.run(printing(words, 2), "installing")


def test_pips_mirror_is_uvs_too(monkeypatch):
    monkeypatch.setattr(install, "PYTHON", Path(sys.executable))
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror.example/simple")
    assert install.settings_of_uv()["UV_DEFAULT_INDEX"] == "https://mirror.example/simple"
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://another.example/simple")
    assert install.settings_of_uv()["UV_DEFAULT_INDEX"] == "https://another.example/simple"


def told(monkeypatch, capsys, *words):
    """What `install.py` with these words says on standard error, and its exit status."""
    monkeypatch.setattr(sys, "argv", ["install.py", *words])
    status = install.main()
    return capsys.readouterr().err, status


def test_the_extras_are_those_of_the_project():
    assert set(install.EXTRAS) == set(PROJECT["optional-dependencies"])
    for need in needs.NEEDS.values():
        assert install.EXTRAS[need.extra][1] == need.megabytes


@pytest.mark.parametrize("word, mean", [("labb", " Did you mean lab?"), ("MKL", "")])
def test_an_unknown_word_is_refused_with_those_there_are(word, mean, empty, monkeypatch, capsys):
    text, status = told(monkeypatch, capsys, word)
    assert status == 1 and text.startswith(f"Not installed: there is no {word!r}.{mean} There are: lab, cuda13, ")
    assert text.count("\n") == 1 and [path.name for path in empty.iterdir()] == ["pyproject.toml"]


def test_help_lists_what_there_is_with_its_size(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["install.py", "--help"])
    with pytest.raises(SystemExit):
        install.main()
    said = capsys.readouterr().out
    assert all(f"{name:8} {size:4} MB" in said for name, (_, size) in install.EXTRAS.items())


def test_a_folder_that_cannot_be_written_is_named(empty, monkeypatch, capsys):
    monkeypatch.setattr(os, "access", lambda path, how: False)  # root may write everywhere
    text, status = told(monkeypatch, capsys)
    remedy = "Copy the course's folder to a place of your own, and go there."
    assert status == 1 and text == f"Not installed: {empty} cannot be written by you. {remedy}\n"


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
    (empty / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "begun_anew.py", empty / "tools")
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

    (empty / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "begun_anew.py", empty / "tools")
    venv_of(empty, "3 12 1")
    monkeypatch.setattr(ctypes, "CDLL", library)
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    monkeypatch.setattr(sys, "argv", ["install.py", *words])
    assert install.main() == 0
    assert ran[-1][-1].endswith(f"[{extras}]") and ("constraints-cuda12" in str(ran[-1])) == ("cuda12" in extras)
    said = capsys.readouterr().out
    assert all(install.row(extra) in said for extra in extras.split(","))  # with its size, before it is fetched


@pytest.mark.parametrize("caller", [(3, 10, 13), (3, 13, 0)])
def test_a_venv_that_works_is_kept_whichever_python_adds_to_it(caller, empty, ran, monkeypatch):
    """The remedy for a lack is given by `python3`, and `make lab` may have been given another."""
    venv_of(empty, "3 12 1")
    other_python(monkeypatch, *caller)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)  # Debian's Python without python3-venv
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
