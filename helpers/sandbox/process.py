"""Starts child processes for `child`: forked from a server that has imported what they need, or as new processes.

Importing the packages takes most of a child's time. On Linux a server process does it once and forks a child for each
job; elsewhere each child is a new process. Either way a child works in a folder: it reads "job" there and writes
"answer", and what it prints goes to "out" and "err".
"""

import atexit
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

FORKS = sys.platform == "linux" and hasattr(os, "pidfd_open")  # what the server waits with
STARTING = 120  # seconds within which a server has imported everything
SERVERS = {}  # NUMBA_ENABLE_CUDASIM -> the `Server` whose packages were imported under it
LOCK = threading.Lock()


@contextmanager
def start(folder: Path, environment: dict):
    """A child that does the job in that folder under those environment variables; it is ended when the context is.

    The child has `pid`, `wait(seconds)`, which says whether it has ended, and then `status`, its exit status, negative
    for a signal.
    """
    child = forked(folder, environment) if FORKS else None
    child = child or NewProcess(folder, environment)
    try:
        yield child
    finally:
        child.end()


def forked(folder, environment):
    """A child of the server; None where the server cannot be had or is busy with another thread's child."""
    if not LOCK.acquire(blocking=False):
        return None
    key = (os.getpid(), environment["NUMBA_ENABLE_CUDASIM"])
    try:
        if key not in SERVERS or SERVERS[key].process.poll() is not None:
            SERVERS[key] = Server(environment)
        return Forked(SERVERS[key], folder, environment)
    except BaseException as error:  # it ended, could not begin, or this was interrupted: its next answer means nothing
        if key in SERVERS:
            SERVERS.pop(key).process.kill()
        LOCK.release()
        if isinstance(error, (OSError, ValueError)):
            return None
        raise


def start_server(environment: dict) -> None:
    """Let the server for children under those environment variables begin, if there is none; it does so meanwhile."""
    key = (os.getpid(), environment["NUMBA_ENABLE_CUDASIM"])
    if FORKS and key not in SERVERS and LOCK.acquire(blocking=False):
        try:
            with suppress(OSError):  # then the child will say so
                SERVERS[key] = Server(environment)
        finally:
            LOCK.release()


class Server:
    """A process that has imported the helpers and forks a child for each line it is sent."""

    def __init__(self, environment):
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from helpers.sandbox._server import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,  # `select` sees only what was not read yet
            env=environment,
            start_new_session=True,  # an interrupt is meant for this process
        )
        self.heard = b""
        self.answers = selectors.DefaultSelector()
        self.answers.register(self.process.stdout, selectors.EVENT_READ)
        atexit.register(self.close)

    def ask(self, request):
        """Send one request. Raises OSError if the server is gone."""
        left = json.dumps(request).encode() + b"\n"
        while left:
            left = left[self.process.stdin.write(left) :]

    def number(self, word, seconds):
        """The number that it sends behind that word; None if that takes longer. Raises ValueError for anything else."""
        while b"\n" not in self.heard:
            if not self.answers.select(seconds):
                return None
            self.heard += self.process.stdout.read(100) or b"gone\n"
        line, _, self.heard = self.heard.partition(b"\n")
        said, _, number = line.decode().partition(" ")
        if said != word:
            raise ValueError(f"the server said {line!r}, and was asked for its {word}")
        return int(number)

    def close(self):
        """End it, and the child that it waits for."""
        with suppress(OSError):
            self.process.stdin.close()
        self.process.stdout.close()


class Forked:
    """A child that the server has forked."""

    def __init__(self, server, folder, environment):
        self.server, self.status = server, None
        server.ask({"folder": str(folder), "environment": environment, "directory": os.getcwd(), "path": sys.path})
        self.pid = server.number("pid", STARTING)
        if self.pid is None or self.pid <= 1:
            raise ValueError("the server does not begin")

    def wait(self, seconds):
        """Wait so long. Returns whether it has ended."""
        if self.status is None:
            try:
                self.status = self.server.number("status", seconds)
            except ValueError:  # the server was ended, and its child with it
                self.status = -signal.SIGKILL
        return self.status is not None

    def end(self):
        """End it, if it has not ended, and whatever it started."""
        with suppress(ProcessLookupError, PermissionError):  # a child that has ended may have left others behind
            os.killpg(self.pid, signal.SIGKILL)
        if self.status is None and not self.wait(STARTING):
            self.server.process.kill()  # what it says from now on means nothing
        LOCK.release()


class NewProcess:
    """A child that begins with an empty interpreter."""

    def __init__(self, folder, environment):
        with open(folder / "out", "wb") as out, open(folder / "err", "wb") as err:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    "import sys; from helpers.sandbox._child import main; main(sys.argv[1])",
                    str(folder),
                ],
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
