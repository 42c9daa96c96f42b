"""Children cost nothing but themselves: forked from a server or new, they are ended, and nothing of them is left."""

import gc
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
import types

import psutil
import pytest

from helpers import devices, opencl_kernel
from helpers.sandbox import Job, _server, in_child, prepare, process
from helpers.sandbox.child import child_environment
from helpers.sandbox.job import packed

WAYS = ["forked", "new"] if process.FORKS else ["new"]
forks = pytest.mark.skipif(not process.FORKS, reason="this system has no fork server; children are new processes")


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    monkeypatch.setattr(process, "FORKS", request.param == "forked")
    return request.param


@pytest.mark.parametrize("problem", [AttributeError, OSError(38, "Function not implemented")], ids=["macOS", "old"])
def test_where_the_system_has_no_pidfd_children_are_new_processes(monkeypatch, problem):
    def pidfd_open(pid):
        raise problem

    monkeypatch.setattr(os, "pidfd_open", pidfd_open, raising=False)
    assert not process.can_fork()


def look_around(job, name):
    """A task: what a child sees of its surroundings."""
    print("printed by a child")
    return {
        "pid": os.getpid(),
        "variable": os.environ.get(name),
        "directory": os.getcwd(),
        "session": os.getsid(0),
        "input": sys.stdin.read() if sys.stdin else "",
    }


def frozen(job):
    return gc.get_freeze_count()


def sleep_on(job, seconds):
    time.sleep(seconds)


def end_at_once(job):
    os.kill(os.getpid(), signal.SIGSEGV)


def raise_an_error(job):
    raise LookupError("nothing to be found")


def started(folder, task, **arguments):
    """Start a child with that task in that folder."""
    folder.mkdir(exist_ok=True)
    job = Job(task, "OpenCL", "", "naive", {}, None, arguments)
    (folder / "job").write_bytes(packed(job))
    return process.start(folder, child_environment(compiler=False), task)


def test_a_child_has_the_surroundings_that_it_is_given(way, tmp_path, monkeypatch):
    monkeypatch.setenv("A_VARIABLE_OF_THIS_TEST", "42")
    monkeypatch.chdir(tmp_path)
    with started(tmp_path / "job folder", look_around, name="A_VARIABLE_OF_THIS_TEST") as child:
        assert child.wait(60) == child.returncode == 0
    done, value, findings = pickle.loads((tmp_path / "job folder" / "answer").read_bytes())
    assert done and findings == [] and value["variable"] == "42" and value["directory"] == str(tmp_path)
    assert value["pid"] == child.pid != os.getpid() and value["input"] == ""
    assert value["session"] != os.getsid(0), "an interrupt that is meant for the notebook would end it"
    assert (tmp_path / "job folder" / "out").read_text() == "printed by a child\n"


@forks
def test_what_goes_wrong_in_a_child_is_its_status_and_its_last_words(tmp_path):
    with started(tmp_path / "a", end_at_once) as child:
        assert child.wait(60) == child.returncode == -signal.SIGSEGV
    with started(tmp_path / "b", raise_an_error) as child:
        assert child.wait(60) == child.returncode == 1
    assert (tmp_path / "b" / "err").read_text().strip().endswith("LookupError: nothing to be found")
    assert not (tmp_path / "a" / "answer").exists() and not (tmp_path / "b" / "answer").exists()


def test_a_child_ends_with_its_context(way, tmp_path):
    with started(tmp_path, sleep_on, seconds=1000) as child, pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.01)
    assert not psutil.pid_exists(child.pid) or psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE


@forks
def test_children_come_from_one_server_and_a_new_one_where_it_was_ended(tmp_path, monkeypatch):
    monkeypatch.delenv(process.FOLDER, raising=False)  # a server of this process's own, which it may end

    def parent_of_a_child(folder):
        with started(folder, sleep_on, seconds=1000) as child:
            return psutil.Process(child.pid).ppid()

    server = parent_of_a_child(tmp_path / "a")
    assert parent_of_a_child(tmp_path / "b") == server != os.getpid()
    os.kill(server, signal.SIGKILL)
    psutil.Process(server).wait(60)
    assert parent_of_a_child(tmp_path / "c") not in (server, os.getpid())


@forks
def test_two_children_at_once_come_from_one_server(tmp_path):
    with started(tmp_path / "a", sleep_on, seconds=1000) as one:
        with started(tmp_path / "b", sleep_on, seconds=1000) as two:
            server = psutil.Process(one.pid).parent()
            assert one.pid != two.pid and server == psutil.Process(two.pid).parent()
        assert two.returncode == -signal.SIGKILL and one.returncode is None and psutil.pid_exists(one.pid)


@forks
def test_a_forked_child_does_not_look_for_garbage_in_what_its_server_imported():
    assert in_child(opencl_kernel("naive"), frozen).value > 10_000


@forks
def test_another_python_has_servers_of_its_own(monkeypatch):
    environment = child_environment(compiler=False)
    here = process.socket_of(environment)
    assert process.socket_of(child_environment(compiler=True)) != here
    monkeypatch.setattr(sys, "executable", "/another/python")
    assert process.socket_of(environment) != here


@forks
def test_a_child_ends_with_the_process_that_asked_for_it_though_the_server_goes_on(tmp_path):
    code = ASKER.format(here=os.path.dirname(__file__), folder=str(tmp_path / "job"))
    prepare(compiler=False)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=own_path(), text=True) as asker:
        child, server = (psutil.Process(int(pid)) for pid in asker.stdout.readline().split())
        asker.kill()
    child.wait(60)
    assert server.is_running() and server.status() != psutil.STATUS_ZOMBIE


@forks
def test_an_interrupted_start_leaves_a_server_that_answers_rightly(tmp_path, monkeypatch):
    def interrupt(said):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(process, "int", interrupt, raising=False)  # what is done once the child was forked
        with pytest.raises(KeyboardInterrupt), started(tmp_path / "a", sleep_on, seconds=1000):
            pass
    with started(tmp_path / "b", look_around, name="HOME") as child:
        assert child.wait(60) == child.returncode == 0
    assert pickle.loads((tmp_path / "b" / "answer").read_bytes())[1]["pid"] == child.pid


@forks
def test_an_asker_that_is_gone_again_or_says_nothing_keeps_nobody_waiting(tmp_path):
    environment = child_environment(compiler=False)
    prepare(compiler=False)
    for order in (b"", b"{"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as gone:
            gone.connect(str(process.socket_of(environment)))
            gone.send(order)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as silent:
        silent.connect(str(process.socket_of(environment)))
        with started(tmp_path, look_around, name="HOME") as child:
            assert child.wait(60) == 0 and isinstance(child, process.Forked)


SCRIPT = """
import os, sys
print("the script begins", flush=True)
from helpers import opencl_kernel
from helpers.sandbox import in_child, process
from helpers.sandbox.first_build import binary_of
process.FORKS = sys.argv[1] == "forked"
if process.FORKS:
    process.new_process = None
outcome = in_child(opencl_kernel("naive"), binary_of)
print(type(outcome.value).__name__, outcome.findings)
"""


@pytest.mark.parametrize("way", [pytest.param(way, marks=[pytest.mark.bulk] * (way != WAYS[0])) for way in WAYS])
def test_a_script_without_a_guard_runs_once_beside_files_called_like_modules(way, tmp_path):
    """As in https://github.com/nipype/pydra/issues/876, and many questions about `if __name__ == "__main__"`."""
    beside = tmp_path / "my files, 我的"
    beside.mkdir()
    for module in ("numpy", "random", "selectors", "socket"):
        (beside / f"{module}.py").write_text("raise SystemExit('the wrong one')")
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, str(tmp_path / "script.py"), way]
    environment = own_path()
    environment.pop(process.FOLDER, None)  # so that its server begins in that folder
    done = subprocess.run(command, env=environment, cwd=beside, capture_output=True, text=True, timeout=300)
    assert done.stdout == "the script begins\ndict []\n", done.stderr


@forks
def test_a_server_imports_what_a_task_needs_once_and_nothing_of_others(monkeypatch):
    module, warmed = types.ModuleType("helpers.of_this_test"), []
    module.warm_up = lambda: warmed.append(1)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(_server.gc, "freeze", lambda: None)
    for name in (module.__name__, module.__name__, "helpers.that_is_not_there", "a_test_of_mine"):
        _server.load(name)
    assert warmed == [1]


ASKER = """
import sys, time
sys.path[:0] = [{here!r}]
from pathlib import Path
from test_process import psutil, sleep_on, started
with started(Path({folder!r}), sleep_on, seconds=1000) as child:
    print(child.pid, psutil.Process(child.pid).ppid(), flush=True)
    time.sleep(1000)
"""


def own_path():
    """An environment in which another process finds this package."""
    return dict(os.environ, PYTHONPATH=devices.python_path())


@forks
def test_no_server_and_no_child_outlive_the_process_that_asked(tmp_path):
    code = ASKER.format(here=os.path.dirname(__file__), folder=str(tmp_path / "job"))
    environment = own_path()
    environment[process.FOLDER] = str(tmp_path)  # with no server in it
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment, text=True) as asker:
        family = [psutil.Process(int(pid)) for pid in asker.stdout.readline().split()]
        assert len(family) == 2 and list(tmp_path.glob("*"))
        asker.kill()
    _, alive = psutil.wait_procs(family, timeout=60)
    assert not alive and [place.name for place in tmp_path.iterdir()] == ["job"], "its socket is gone, too"
