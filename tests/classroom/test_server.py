"""The room's server: its configuration, and its trial, which sees an output that differs."""

import asyncio
import importlib.util
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import notebooks
import pytest

pwd = pytest.importorskip("pwd", reason="accounts of a POSIX system")
TEACHING = notebooks.ROOT / "teaching"
READY = importlib.util.find_spec("jupyterhub") and shutil.which("configurable-http-proxy")
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="to become a student takes root")


def cell(source, printed):
    output = {"output_type": "stream", "name": "stdout", "text": [printed]}
    return {"cell_type": "code", "source": [source], "outputs": [output], "metadata": {}}


@pytest.mark.bulk
@pytest.mark.skipif(not READY, reason="python3 tools/install.py room and npm install -g configurable-http-proxy")
def test_two_students_run_a_page_and_what_differs_is_seen(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(TEACHING)
    try_server = importlib.import_module("try_server")
    page = {"cells": [cell("print(6 * 7)", "42\n"), cell("print(1)", "2\n"), cell("1 / 0", "")]}
    hub = try_server.Hub(tmp_path)
    try:
        done = asyncio.run(try_server.afternoon(hub, 2, {"99": page}))
        assert (tmp_path / "hub.sqlite").stat().st_mode & 0o077 == 0
    finally:
        left = hub.end()
    differs = ["cell 1: '1' in place of '2'", "cell 2 failed: ZeroDivisionError: division by zero"]
    assert left == [] and {name: pages["99"][2] for name, pages in done.items()} == {
        "student00": differs,
        "student01": differs,
    }


class Settings(dict):
    """What `get_config()` gives: anything may be set, anywhere in it."""

    def __getattr__(self, name):
        return self.setdefault(name, Settings())

    def __setattr__(self, name, value):
        self[name] = value


def configured(monkeypatch, handout):
    monkeypatch.setenv("COURSE_HANDOUT", str(handout))
    settings = Settings()
    config = TEACHING / "jupyterhub_config.py"
    umask = os.umask(0)
    try:
        code = compile(config.read_text(encoding="utf-8"), config, "exec")
        exec(code, {"get_config": lambda: settings, "__file__": str(config)})
    finally:
        settings.umask = os.umask(umask)
    return settings


def test_a_server_opens_the_first_page_and_does_not_start_without_pages(monkeypatch, tmp_path):
    with pytest.raises(SystemExit, match=r"no pages in .*make handout"):
        configured(monkeypatch, tmp_path)
    for name in ("README.md", "04_tiling.ipynb", "02_naive.ipynb"):
        (tmp_path / name).write_text("{}")
    settings = configured(monkeypatch, tmp_path)
    assert settings.Spawner.default_url == "/lab/tree/matmul-ladder/02_naive.ipynb"
    assert settings.umask == 0o077  # what the hub writes is for nobody else


def test_a_server_in_a_closed_folder_is_told(monkeypatch, tmp_path, capsys):
    (tmp_path / "00.ipynb").write_text("{}")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "home" / "course" / ".venv"))
    (tmp_path / "home" / "course" / ".venv").mkdir(parents=True)
    (tmp_path / "home").chmod(0o750)
    configured(monkeypatch, tmp_path)
    assert f"cannot use {sys.prefix}: " in capsys.readouterr().err


def test_a_server_whose_pages_everybody_may_change_does_not_start(monkeypatch, tmp_path):
    (tmp_path / "all" / "handout").mkdir(parents=True)
    (tmp_path / "all" / "handout" / "00.ipynb").write_text("{}")
    (tmp_path / "all").chmod(0o777)
    with pytest.raises(SystemExit, match=r"^Everybody may write in .*/all, .* Run: sudo chmod o-w .*/all$"):
        configured(monkeypatch, tmp_path / "all" / "handout")
    (tmp_path / "all").chmod(0o1777)  # as /tmp is
    configured(monkeypatch, tmp_path / "all" / "handout")


def open_to_all(program):
    """Whether other accounts may run it."""
    path = Path(program).resolve()
    return path.exists() and all(place.stat().st_mode & 0o001 for place in (path, *path.parents))


@pytest.fixture
def place():
    """A folder that other accounts may enter. Pytest closes its own, again whenever another run begins."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def ada(monkeypatch, place):
    """A student with a home of her own, whose account is another's where this runs as root: (home, uid)."""
    root = os.geteuid() == 0
    uid, gid = (65534, 65534) if root else (os.getuid(), os.getgid())
    home = place / "home"
    home.mkdir()
    if root:
        python = next(filter(open_to_all, (sys.executable, "/usr/bin/python3")), None)
        if python is None:
            pytest.skip("no Python here that other accounts may run")
        monkeypatch.setattr(sys, "executable", python)
    os.chown(home, uid, gid)
    account = pwd.struct_passwd(("ada", "x", uid, gid, "", str(home), "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwnam", lambda name: account)
    return home


@pytest.fixture
def login(monkeypatch, tmp_path, ada):
    """What the server does for a student before hers starts."""
    handout = tmp_path / "handout"
    (handout / "solutions").mkdir(parents=True)
    (handout / "pictures").mkdir()
    for name in ("02.ipynb", ".hidden", "solutions/02.ipynb", "pictures/a.png"):
        (handout / name).write_text(f"the page {name}")
    secret = tmp_path / "secret"
    secret.write_text("root's")
    secret.chmod(0o600)
    (handout / "linked.ipynb").symlink_to(secret)

    def log_in():
        asyncio.run(log_in.hook(SimpleNamespace(user=SimpleNamespace(name="ada"))))

    log_in.settings = configured(monkeypatch, handout)
    log_in.hook = log_in.settings.Spawner.pre_spawn_hook
    return log_in


def below(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_a_student_gets_the_pages_once_and_no_solutions(ada, login):
    login()
    given = ada / "matmul-ladder"
    assert below(given) == {"02.ipynb", "pictures", "pictures/a.png"}
    assert {path.stat().st_uid for path in [given, *given.rglob("*")]} == {ada.stat().st_uid}
    (given / "02.ipynb").write_text("my answer")
    login()
    assert (given / "02.ipynb").read_text() == "my answer" and len(below(ada)) == 1 + len(below(given))


@pytest.fixture
def roots(place):
    """A folder of root's with a file in it, and what to say of both: nothing of that may change."""
    folder = place / "roots"
    folder.mkdir(mode=0o755)
    (folder / "file").write_text("root's own")
    (folder / "file").chmod(0o600)
    yield folder
    assert below(folder) == {"file"} and (folder / "file").read_text() == "root's own"
    assert {(path.stat().st_uid, path.stat().st_gid) for path in (folder, folder / "file")} == {(0, 0)}
    assert (folder / "file").stat().st_mode & 0o777 == 0o600


@ROOT
@pytest.mark.parametrize("made", ["", "made"])
def test_a_link_in_a_students_home_gives_nothing_of_roots_away(ada, login, roots, made):
    (ada / "matmul-ladder").symlink_to(roots / made)
    login()
    assert {path.name for path in ada.iterdir()} == {"matmul-ladder"}  # which was there, and is left alone


@ROOT
def test_a_link_that_is_put_there_while_the_pages_are_copied_is_followed_by_nobody(ada, login, roots, monkeypatch):
    """The folder that the copy is written into is swapped for a link to root's, before a page has come."""
    pages = login.hook.__globals__["packed"]

    def swap():
        until = time.monotonic() + 60
        while not (parts := list(ada.iterdir())) and time.monotonic() < until:
            time.sleep(0.01)
        parts[0].rename(ada / "away")
        parts[0].symlink_to(roots)
        return pages()

    monkeypatch.setitem(login.hook.__globals__, "packed", swap)
    with pytest.raises(RuntimeError, match="ada has no copy of the hand-out"):
        login()
    assert (ada / "away").is_dir() and not below(ada / "away")


def test_a_copy_that_never_ends_is_ended(ada, login, monkeypatch):
    monkeypatch.setitem(login.hook.__globals__, "SECONDS", 0.1)
    monkeypatch.setitem(login.hook.__globals__, "UNPACK", "import time\ntime.sleep(600)")
    with pytest.raises(RuntimeError, match="ada has no copy"):
        login()
    assert not list(ada.iterdir())


@ROOT
def test_the_server_of_a_student_runs_as_the_student_with_limits(ada, login, capfd):
    """And not as root, who would read the student's own configuration of Jupyter, which is code."""
    spawner = pytest.importorskip("jupyterhub.spawner", reason="python3 tools/install.py room")
    config = pytest.importorskip("traitlets.config").Config(login.settings)

    class Spawner(spawner.LocalProcessSpawner):
        def get_env(self):
            return {"PATH": os.environ["PATH"]}

        def get_args(self):
            return []

    user = SimpleNamespace(name="ada", id=1, url="/", server=None)
    one = Spawner(config=config, user=user, hub=SimpleNamespace())
    assert one.cmd[-1].endswith("jupyterhub-singleuser")
    one.cmd[-1:] = ["sh", "-c", "id -u; id -g; id -G; pwd; nice; cat /proc/self/limits"]
    asyncio.run(one.start())
    one.proc.wait()
    uid, gid, groups, home, nice, *limits = capfd.readouterr().out.splitlines()
    assert (uid, gid, groups, home) == ("65534", "65534", "65534", str(ada)) and int(nice) >= 5
    limits = {line[:26].strip(): line[26:].split()[:2] for line in limits}
    assert limits["Max processes"] == ["1500", "1500"] and limits["Max data size"] == [str(24 * 2**30)] * 2
