"""What goes wrong in a child costs the child: it is named, and nothing of it is left."""

import ctypes
import functools
import linecache
import os
import pickle
import signal
import subprocess
import sys
import time
from contextlib import suppress
from multiprocessing import forkserver

import psutil
import pytest

from kernel_judge import child
from kernel_judge.packing import packed

linux = pytest.mark.skipif(sys.platform != "linux", reason="forked children, and the signals of Linux")


def in_child(call, seconds=60, **environment):
    return child.in_child(packed(call), seconds, dict(os.environ) | environment)


def looks_for_ever():
    while True:
        pass


def raises():
    raise LookupError("nothing to be found")


class BuiltThere:
    """What ends the process that unpacks it, as a compiler may."""

    def __reduce__(self):
        return os._exit, (4,)


def took_down(status):
    return f"it took its process down (exit status {status}), likely with an index far outside an array"


ENDS = [  # what a child does, what is said of it
    (lambda: os._exit(3), "it ended its process (exit status 3)"),
    (lambda: sys.exit(0), "it ended its process (exit status 0)"),
    (lambda: ctypes.string_at(8), took_down(-signal.SIGSEGV)),
    (lambda: os.abort(), took_down(-signal.SIGABRT)),
    (lambda: os.kill(os.getpid(), signal.SIGFPE), "likely since it divides an integer by zero"),
    (looks_for_ever, "it still ran after 2 s of computing"),
]


@linux
@pytest.mark.parametrize("call, said", ENDS)
def test_however_a_child_ends_it_is_told(call, said):
    outcome = in_child(call, 2)
    assert outcome.begun and outcome.value is outcome.error is None and said in outcome.why.message, outcome


def test_what_is_returned_or_raised_is_there_and_what_is_printed_is_not(capfd):
    assert in_child(lambda: print("printed") or 42).value == 42 and capfd.readouterr() == ("", "")
    assert in_child(raises).error == ("LookupError", "nothing to be found")
    assert in_child(lambda: lambda: 0).error[0] in ("PicklingError", "AttributeError")


def test_it_is_known_whether_a_child_had_begun():
    outcome = in_child(functools.partial(print, BuiltThere()))
    assert not outcome.begun and outcome.why.message == "it ended its process (exit status 4)"


def surroundings():
    return dict(os.environ), os.getcwd(), [*sys.path]


@linux
def test_a_child_has_the_surroundings_that_it_is_given(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    environment, folder, path = in_child(surroundings, A_VARIABLE="42").value
    assert environment["A_VARIABLE"] == "42" and "A_VARIABLE" not in os.environ
    assert folder == str(tmp_path) and path == sys.path
    assert forkserver._forkserver._forkserver_pid is None, "a learner's own programs have a server of their own"


def is_gone(pid):
    """Wait until that process has ended; a zombie has, too."""
    for _ in range(600):
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return
        time.sleep(0.1)
    raise AssertionError(f"process {pid} still runs")


WAITS = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
sys.path[:0] = [{here!r}]
from test_child import in_child, looks_for_ever
try:
    in_child(looks_for_ever)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@linux
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
def test_no_child_outlives_the_process_that_waits_for_it(by):
    code = WAITS.format(here=os.path.dirname(__file__))
    path = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=path, text=True) as asker:
        while not grandchildren(asker.pid):  # the server's child
            pass
        family = [one.pid for one in psutil.Process(asker.pid).children(recursive=True)]
        asker.send_signal(by)
        assert by == signal.SIGKILL or asker.stdout.readline() == "interrupted\n"
    for pid in family:
        is_gone(pid)


def grandchildren(pid):
    """Processes that its children have started."""
    found = []
    for one in psutil.Process(pid).children():
        with suppress(psutil.NoSuchProcess):  # some live for a moment only
            found += one.children()
    return found


class Clock:
    """A machine of one's own: each look at the child takes a second, of which the child computes a share."""

    pid = None

    def __init__(self, monkeypatch, share, ends_after):
        self.now, self.share, self.ends_after = 0.0, share, ends_after
        monkeypatch.setattr(child.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(child.psutil, "Process", lambda pid: self)

    def poll(self, seconds):
        self.now += 1
        return self.now * (self.share or 1) >= self.ends_after

    def recv(self):
        return "value", 1

    def cpu_times(self):
        return self.now * self.share, 0.0, 0.0, 0.0


NEVER = float("inf")


@pytest.mark.parametrize(
    "share, ends_after, seconds, in_time, by",
    [
        (0.1, 30, 60, True, 300),  # a busy machine: ten times as long, and no hang
        (0.1, NEVER, 60, False, 600),
        (0.0, NEVER, 2, False, 60),  # it waits for ever; on a busy machine, it may wait for its turn
        (0.0, 50, 2, True, 50),
        (8.0, NEVER, 60, False, 60),  # for a driver on many cores the wall's clock counts
    ],
)
def test_a_child_is_out_of_time_by_its_own_computing(monkeypatch, share, ends_after, seconds, in_time, by):
    clock = Clock(monkeypatch, share, ends_after)
    assert child.in_time(clock, clock, seconds, {}) == in_time and clock.now == pytest.approx(by, abs=1)


def test_a_jitted_function_takes_the_lines_of_its_cell_along(monkeypatch):
    cuda = pytest.importorskip("numba.cuda")
    cell, lines, names = "<a cell>", ["@cuda.jit\n", "def mine(A):\n", "    A[0] = 1\n"], {"cuda": cuda}
    monkeypatch.setitem(linecache.cache, cell, (1, None, lines, cell))
    exec(compile("".join(lines), cell, "exec"), names)
    sent = packed(names["mine"])
    del linecache.cache[cell]
    pickle.loads(sent)
    assert linecache.getlines(cell) == lines
