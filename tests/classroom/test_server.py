"""The room's server: its configuration, and its trial, which sees an output that differs."""

import asyncio
import importlib.util
import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import notebooks
import pytest

TEACHING = notebooks.ROOT / "teaching"
sys.path.insert(0, str(TEACHING))
try_server = importlib.import_module("try_server")


def cell(source, printed, tags=()):
    output = {"output_type": "stream", "name": "stdout", "text": [printed]}
    return {"cell_type": "code", "source": [source], "outputs": [output], "metadata": {"tags": list(tags)}}


PAGE = {
    "cells": [
        {"cell_type": "markdown", "source": ["# A page"]},
        cell("print(6 * 7)", "42\n"),
        cell("print(1)", "2\n"),
        cell("print(3)", "4\n", [try_server.MACHINES]),
        cell("1 / 0", ""),
    ]
}
READY = importlib.util.find_spec("jupyterhub") and shutil.which("configurable-http-proxy")


@pytest.mark.skipif(not READY, reason="pip install '.[room]' and npm install -g configurable-http-proxy")
def test_two_students_run_a_page_and_what_differs_is_seen(tmp_path):
    hub = try_server.Hub(tmp_path)
    try:
        done = asyncio.run(try_server.afternoon(hub, 2, {"99": PAGE}))
    finally:
        left = hub.end()
    assert left == [] and list(done) == ["student00", "student01"]
    for pages in done.values():
        seconds, memory, differs = pages["99"]
        assert seconds > 0 and memory > 10_000_000
        assert differs == ["cell 2: '1' in place of '2'", "cell 4 failed: ZeroDivisionError: division by zero"]


@pytest.mark.parametrize(
    "wrong, says",
    [
        ("--pages 99", "there is no page 99"),
        ("--students 0", "0 students try nothing"),
        ("", "JupyterHub is not installed: python3 tools/install.py lab room"),
    ],
)
def test_what_cannot_be_tried_is_told_before_anything_starts(wrong, says, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["try_server.py", *wrong.split()])
    monkeypatch.setattr(try_server, "find_spec", lambda name: None)
    monkeypatch.setattr(try_server, "Hub", None)
    with pytest.raises(SystemExit) as ended:
        try_server.main()
    assert ended.value.code == 2 and says in capsys.readouterr().err


def test_what_a_progress_bar_leaves_is_not_compared():
    bar = {"output_type": "display_data", "data": {"application/vnd.jupyter.widget-view+json": {}, "text/plain": "x"}}
    shown = {"output_type": "execute_result", "data": {"text/plain": ["<f at 0x7f3a>"]}}
    assert try_server.text_of([bar, shown]) == "<f at 0x>"


class Settings(dict):
    """What `get_config()` gives: anything may be set, anywhere in it."""

    def __getattr__(self, name):
        return self.setdefault(name, Settings())

    def __setattr__(self, name, value):
        self[name] = value


def configured(monkeypatch, handout):
    monkeypatch.setenv("COURSE_HANDOUT", str(handout))
    settings = Settings()
    code = (TEACHING / "jupyterhub_config.py").read_text(encoding="utf-8")
    exec(compile(code, "jupyterhub_config.py", "exec"), {"get_config": lambda: settings})
    return settings


def test_a_server_opens_the_first_page_and_does_not_start_without_pages(monkeypatch, tmp_path):
    with pytest.raises(SystemExit, match=r"no pages in .*make handout"):
        configured(monkeypatch, tmp_path)
    for name in ("README.md", "04_tiling.ipynb", "02_naive.ipynb"):
        (tmp_path / name).write_text("{}")
    assert configured(monkeypatch, tmp_path).Spawner.default_url == "/lab/tree/matmul-ladder/02_naive.ipynb"


@pytest.mark.skipif(os.name != "posix", reason="modes of a POSIX system")
def test_a_server_in_a_closed_folder_is_told(monkeypatch, tmp_path, capsys):
    (tmp_path / "00.ipynb").write_text("{}")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "home" / "course" / ".venv"))
    (tmp_path / "home" / "course").mkdir(parents=True)
    (tmp_path / "home").chmod(0o750)
    configured(monkeypatch, tmp_path)
    assert f"cannot use {sys.prefix}: " in capsys.readouterr().err


def test_a_student_gets_the_pages_once_and_no_solutions(monkeypatch, tmp_path):
    handout, home = tmp_path / "handout", tmp_path / "home"
    (handout / "solutions").mkdir(parents=True)
    (handout / "02.ipynb").write_text("{}")
    (handout / "solutions" / "02.ipynb").write_text("{}")
    settings = configured(monkeypatch, handout)
    monkeypatch.setattr(Path, "expanduser", lambda path: home)
    owners = []
    monkeypatch.setattr(shutil, "chown", lambda path, user: owners.append(user))
    settings.Spawner.pre_spawn_hook(SimpleNamespace(user=SimpleNamespace(name="ada")))
    assert [path.name for path in (home / "matmul-ladder").iterdir()] == ["02.ipynb"] and set(owners) == {"ada"}
    (home / "matmul-ladder" / "02.ipynb").write_text("my answer")
    settings.Spawner.pre_spawn_hook(SimpleNamespace(user=SimpleNamespace(name="ada")))
    assert (home / "matmul-ladder" / "02.ipynb").read_text() == "my answer"


@pytest.mark.skipif(os.name != "posix", reason="limits of a POSIX system")
def test_each_students_server_has_limits(monkeypatch, tmp_path):
    import resource

    given = {}
    (tmp_path / "00.ipynb").write_text("{}")
    monkeypatch.setattr(resource, "setrlimit", lambda what, limits: given.update({what: limits}))
    monkeypatch.setattr(os, "nice", lambda by: given.update(nice=by))
    configured(monkeypatch, tmp_path).LocalProcessSpawner.popen_kwargs["preexec_fn"]()
    assert given["nice"] > 0 and given[resource.RLIMIT_NPROC][0] < 5000 and given[resource.RLIMIT_DATA][0] < 50 * 2**30
