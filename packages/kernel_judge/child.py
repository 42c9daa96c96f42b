"""Calls a function in a child process: a crash, or a loop that never ends, costs the child and not who asks.

`multiprocessing` forks it from a server that has loaded some modules, or spawns it where there is none.
"""

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import connection, forkserver
from types import ModuleType

import psutil

from .findings import Finding, Kind

FORKS = sys.platform == "linux"
SERVER = forkserver.ForkServer()  # of this module alone: a learner's programs may use Python's
STARTING = threading.Lock()
LOOK = 0.25  # seconds between two looks at how a child is doing
STILL = 60  # seconds that a child may go without computing: on a busy machine it waits its turn


@dataclass(frozen=True)
class Outcome:
    """What came of a child.

    value   what the function returned; None if it did not come so far
    begun   whether it was called: to unpack it may build a kernel
    error   of an exception the name of its type, and what it says; None for none
    why     of a crash or a hang a `Finding`; None for none
    """

    value: object = None
    begun: bool = False
    error: tuple[str, str] | None = None
    why: Finding | None = None


def preload(*modules: str, server: forkserver.ForkServer = SERVER) -> None:
    """Let a server load these modules, which takes most of the time of a child, if it has not begun yet."""
    server.set_forkserver_preload([__name__, *modules])


def in_child(
    packed: bytes, seconds: float, environment: dict[str, str], server: forkserver.ForkServer = SERVER
) -> Outcome:
    """Call a pickled function without arguments in a child process that has that environment. Returns an `Outcome`.

    seconds  of computing, so that a busy machine does not cut it short; a child that does nothing for so long, or for
             `STILL` seconds where that is longer, is ended, too
    server   what it is forked from: that has loaded its modules under the environment of its first child
    """
    context = multiprocessing.get_context("forkserver" if FORKS else "spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = start(context, server, environment, theirs, packed)
    theirs.close()
    said = {}
    try:
        if not in_time(process, ours, seconds, said):
            said["why"] = Finding(Kind.HANG, "late", values={"seconds": f"{seconds:.0f}"})
        elif not said.keys() & {"value", "error"}:
            process.join()
            said["why"] = crash(process.exitcode)
    finally:
        process.kill()
        process.join()
    return Outcome(**said)


def start(context, server: forkserver.ForkServer, environment: dict[str, str], *job: object):
    """Start a process under that environment, and with nobody for `__main__`: a script needs no `if __name__ == ...`.

    Until it has loaded its modules, it does not look in the folder where a learner's files may be called like these.
    """
    with STARTING:
        process = context.Process(target=run, args=(environment, [*sys.path], *job), daemon=True)
        main, variables, path = sys.modules["__main__"], dict(os.environ), [*sys.path]
        asked = forkserver.connect_to_new_process
        try:
            sys.modules["__main__"] = ModuleType("__main__")
            sys.path[:] = filter(None, path)
            os.environ.update(environment)
            forkserver.connect_to_new_process = server.connect_to_new_process
            process.start()
        finally:
            sys.modules["__main__"], sys.path[:] = main, path
            os.environ.clear()
            os.environ.update(variables)
            forkserver.connect_to_new_process = asked
    return process


def in_time(process, ours, seconds: float, said: dict) -> bool:
    """Put what the child says into `said`, until it has said all or has ended; False where its time is over before.

    A driver on many cores computes more than one second in a second; then the wall's clock counts.
    """
    begun = moved = time.monotonic()
    computed = 0.0
    while not said.keys() & {"value", "error"}:
        if ours.poll(LOOK):
            try:
                name, said[name] = ours.recv()
            except EOFError:
                break
        now, before = time.monotonic(), computed
        with suppress(psutil.Error):  # it has ended by now
            computed = min(sum(psutil.Process(process.pid).cpu_times()[:2]), now - begun)
        if computed != before:
            moved = now
        if computed >= seconds or now - moved >= max(seconds, STILL):
            return False
    return True


def crash(status: int) -> Finding:
    """Why a child ended before its time."""
    key = "divides_by_zero" if status == -signal.SIGFPE else "ended_itself" if status >= 0 else "far_outside"
    return Finding(Kind.CRASH, key, values={"status": status})


def run(environment: dict[str, str], path: list[str], theirs, packed: bytes) -> None:
    """In the child: call the function, under that environment, and say what came of it."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = path
    try:
        function = pickle.loads(packed)
        theirs.send(("begun", True))
        theirs.send(("value", function()))
    except Exception as error:
        theirs.send(("error", (type(error).__name__, str(error))))


def end_with_parent() -> None:
    """End this process once its parent has ended, however that was."""
    connection.wait([multiprocessing.parent_process().sentinel])
    os._exit(1)
