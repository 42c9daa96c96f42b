"""Starts child processes for `child`: forked from a server that has imported what they need, or as new processes.

Importing the packages takes most of a child's time. On Linux a server process does it once and forks a child for each
job, and those children ask the same server for children of their own; elsewhere each child is a new process. Either way
a child works in a folder: it reads "job" there and writes "answer", and what it prints goes to "out" and "err".
"""

import atexit
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

from ..devices import CUDA_OF_CHILD
from ._limits import used_by

FORKS = sys.platform == "linux" and hasattr(os, "pidfd_open")  # what the server waits with
STARTING = 120  # seconds within which a server has imported everything
FOLDER = "HELPERS_SERVERS"  # the variable that names the folder of the servers' sockets to this process's descendants
SERVERS = []  # those that this process has started
GONE = b'["gone", 0]\n'  # what a server has said that says no more
LOCK = threading.Lock()


@contextmanager
def start(folder: Path, environment: dict):
    """A child that does the job in that folder under those environment variables; it is ended when the context is.

    The child has `look()`, what `used_by` says of it, `wait(seconds)`, which says whether it has ended, and then
    `status`, its exit status, negative for a signal.
    """
    child = None
    with suppress(OSError, ValueError):  # where no server can be had
        try:
            child = Forked(folder, environment) if FORKS else None
        except ConnectionError:  # the server was ended from outside, and its socket is left
            socket_of(environment).unlink(missing_ok=True)
            child = Forked(folder, environment)
    child = child or NewProcess(folder, environment)
    try:
        yield child
    finally:
        child.end()


def start_server(environment: dict) -> None:
    """Let the server for children under those environment variables begin, if there is none; it does so meanwhile."""
    if FORKS:
        with suppress(OSError):  # then children are new processes
            server_for(environment)


def server_for(environment):
    """The socket of the server for children under those variables. Raises OSError where none can be had.

    The server is a process that has imported the helpers, and forks a child for each request that comes to its socket.
    """
    with LOCK, socket.socket(socket.AF_UNIX) as listener:
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
    SERVERS.append(server)
    atexit.register(server.stdin.close)
    return place


def socket_of(environment):
    """Where the server listens that has imported the packages of this Python under those variables.

    The folder is that of this process's ancestors, if they have one: a child that has a kernel tried shares theirs.
    """
    if not os.path.isdir(os.environ.get(FOLDER, "")):
        os.environ[FOLDER] = tempfile.mkdtemp(prefix="kernel-servers-")
    packages = sys.executable, __file__, environment[CUDA_OF_CHILD]
    return Path(os.environ[FOLDER], hashlib.sha256(repr(packages).encode()).hexdigest()[:16])


class Forked:
    """A child that the server has forked."""

    def __init__(self, folder, environment):
        self.status, self.heard, self.server = None, b"", socket.socket(socket.AF_UNIX)
        request = {
            "folder": str(folder),
            "environment": {FOLDER: os.environ.get(FOLDER, "")} | environment,
            "directory": os.getcwd(),
            "path": sys.path,
        }
        try:
            self.server.connect(str(server_for(environment)))
            self.server.sendall(json.dumps(request).encode() + b"\n")
            self.pid = self.said("pid", STARTING)
            if self.pid is None or self.pid <= 1:
                raise ValueError("the server does not begin")
        except BaseException:  # without an asker, the child is ended
            self.server.close()
            raise

    def said(self, word, seconds):
        """What the server sends behind that word; None if that takes longer. Raises ValueError for another word."""
        self.server.settimeout(seconds)
        while b"\n" not in self.heard:
            try:
                self.heard += self.server.recv(100) or GONE
            except TimeoutError:
                return None
            except ConnectionError:
                self.heard = GONE
        line, _, self.heard = self.heard.partition(b"\n")
        said, value = json.loads(line)
        if said == "status" and word == "looked":  # it has ended meanwhile
            self.status = value
            return None
        if said != word:
            raise ValueError(f"the server said {line!r}, and was asked for its {word}")
        return value

    def look(self):
        """What `used_by` says of it."""
        with suppress(OSError, ValueError):
            self.server.sendall(b"look\n")
            return self.said("looked", STARTING) or (0.0, 0.0)
        return 0.0, 0.0

    def wait(self, seconds):
        """Wait so long. Returns whether it has ended."""
        if self.status is None:
            try:
                self.status = self.said("status", seconds)
            except ValueError:  # the server was ended, and its child with it
                self.status = -signal.SIGKILL
        return self.status is not None

    def end(self):
        """End it, if it has not ended, and whatever it started."""
        with suppress(ProcessLookupError, PermissionError):  # a child that has ended may have left others behind
            os.killpg(self.pid, signal.SIGKILL)
        self.wait(STARTING)
        self.server.close()


class NewProcess:
    """A child that begins with an empty interpreter."""

    def __init__(self, folder, environment):
        with open(folder / "out", "wb") as out, open(folder / "err", "wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-c", f"from helpers.sandbox._child import main; main({str(folder)!r})"],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=dict(environment, PYTHONPATH=os.pathsep.join(place or os.getcwd() for place in sys.path)),
                start_new_session=True,
            )
        self.pid = self.process.pid

    @property
    def status(self):
        """Its exit status, negative for a signal; None while it runs."""
        return self.process.returncode

    def look(self):
        """What `used_by` says of it."""
        return used_by(self.pid)

    def wait(self, seconds):
        """Wait so long. Returns whether it has ended."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self):
        """End it, if it has not ended, and whatever it started."""
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        self.process.kill()  # one that has ended does not mind
        self.process.wait()
