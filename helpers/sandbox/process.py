"""Starts child processes for `child`: forked from a server that has imported what they need, or as new processes.

Importing the packages takes most of a child's time. On Linux a server process does it once and forks a child for each
job; the descendants of the process that started it ask the same server. Elsewhere each child is a new process. Either
way a child works in a folder: it reads "job" there and writes "answer", and what it prints goes to "out" and "err".

Python's own fork server, of `multiprocessing`, imports the caller's script once more in each child, gives all children
the environment variables of the first, and leaves them running when the caller is killed.
"""

import atexit
import hashlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import contextmanager, suppress
from pathlib import Path

from ..devices import CUDA_OF_CHILD

STARTING = 120  # seconds within which a server has imported everything
FOLDER = "HELPERS_SERVERS"  # the variable that names the folder of the servers' sockets to this process's descendants
LOCK = threading.Lock()


def can_fork() -> bool:
    """Whether there can be a server: it waits with pidfds, which Linux has since 5.3."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


FORKS = can_fork()


@contextmanager
def start(folder: Path, environment: dict, task: Callable):
    """A child that does the job in that folder; it is ended when the context is. `task`: the function that is called.

    It has `pid`, `returncode` and `wait(timeout)`, as `subprocess.Popen` has them.
    """
    child = forked(folder, environment, task) if FORKS else None
    child = child or new_process(folder, environment)
    try:
        yield child
    finally:
        if hasattr(os, "killpg"):  # whatever it has started ends with it
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
        child.wait()


def new_process(folder, environment):
    """A child that begins with an empty interpreter.

    It looks for modules where this process does only once it has imported its own: a learner's file in this folder may
    be called like one of them.
    """
    path = list(map(str, sys.path))
    packages = [place for place in path if place not in ("", os.getcwd())]
    code = f"import sys; from helpers.sandbox._server import main; sys.path[:] = {path!r}; main({str(folder)!r})"
    with open(folder / "out", "wb") as out, open(folder / "err", "wb") as err:
        return subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=environment | {"PYTHONPATH": os.pathsep.join([environment["PYTHONPATH"], *packages])},
            start_new_session=True,  # an interrupt is meant for this process
        )


def forked(folder, environment, task):
    """A child that a server has forked; None where no server can be had."""
    order = {
        "folder": str(folder),
        "environment": {FOLDER: os.environ.get(FOLDER, "")} | environment,
        "directory": os.getcwd(),
        "path": list(map(str, sys.path)),
        "module": task.__module__,
    }
    with suppress(OSError, ValueError):
        try:
            return Forked(server_for(environment), order)
        except ConnectionError:  # the server was ended from outside, and its socket is left
            socket_of(environment).unlink(missing_ok=True)
            return Forked(server_for(environment), order)
    return None


class Forked:
    """A child that the server at that socket has forked, with what `subprocess.Popen` calls so."""

    def __init__(self, server: Path, order: dict):
        self.returncode, self.connection = None, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self.connection.settimeout(STARTING)
            self.connection.connect(str(server))
            self.connection.send(json.dumps(order).encode())
            self.pid = int(self.connection.recv(100))  # of nothing, where the server has ended, int makes a ValueError
        except BaseException:  # without this end of its connection the child is ended
            self.connection.close()
            raise

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status, once it has ended. Raises `subprocess.TimeoutExpired` after that many seconds."""
        if self.returncode is None:
            if not select.select([self.connection], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("a child", timeout)
            with self.connection:
                self.returncode = int(self.connection.recv(100) or -signal.SIGKILL)
        return self.returncode


def server_for(environment: dict) -> Path:
    """The socket of the server for children under those variables, which begins meanwhile. OSError: there is none."""
    with LOCK, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        place = socket_of(environment)
        if place.exists():
            return place
        new = f"{place}.{os.getpid()}"
        listener.bind(new)
        listener.listen()
        os.rename(new, place)  # who sees it can connect, and waits for an answer
        code = f"from helpers.sandbox._server import serve; serve({listener.fileno()}, {str(place)!r})"
        server = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,  # its end is the server's
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            pass_fds=[listener.fileno()],
            start_new_session=True,  # an interrupt is meant for this process
        )
    atexit.register(lambda: server.stdin.close())
    return place


def socket_of(environment):
    """Where the server for this Python and those variables listens: in its ancestors' folder, if they have one."""
    if not os.path.isdir(os.environ.get(FOLDER, "")):
        os.environ[FOLDER] = tempfile.mkdtemp(prefix="kernel-servers-")
    packages = sys.executable, __file__, environment[CUDA_OF_CHILD]
    return Path(os.environ[FOLDER], hashlib.sha256(repr(packages).encode()).hexdigest()[:16])
