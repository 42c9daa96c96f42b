"""Starts a child process, and waits for it: `multiprocessing` forks it from a server, or spawns it where none is.

A server's environment is that of its start, so there is one for each kind of child; what else a child's environment
holds, such as Oclgrind's settings, it sets itself before it loads a driver.
"""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import connection, forkserver
from types import ModuleType

import psutil

from .. import devices
from .inside import run
from .progress import ProgressBar

FORKS = sys.platform == "linux"
CONTEXT = multiprocessing.get_context("forkserver" if FORKS else "spawn")
STARTING = threading.Lock()
SERVERS: dict[str, forkserver.ForkServer] = {}  # {what CUDA kernels meet in its children: the server}
LOOK = 0.25  # seconds between two looks at how a child is doing
STILL = 60  # seconds that a child may go without computing: on a busy machine it waits its turn


def start(folder, environment: dict, module: str, packed: bytes, seconds: float):
    """A child process that does the packed job in that folder, in so many seconds; `module`: of its task.

    A learner's script need not have `if __name__ == "__main__"`: the child has nobody for `__main__`.
    """
    process = CONTEXT.Process(target=run, args=(folder, environment, [*sys.path], packed, seconds))
    ask = server(environment, module).connect_to_new_process
    with as_a_child_is_started(environment), changed(vars(forkserver), {"connect_to_new_process": ask}):
        process.start()
    return process


def start_server(environment: dict, module: str) -> None:
    """Start the server that such a child is forked from, which takes a second, and do not wait for it."""
    if FORKS:
        with as_a_child_is_started(environment):
            server(environment, module).ensure_running()


@contextmanager
def as_a_child_is_started(environment: dict) -> Iterator[None]:
    """Within it, this process has what a child shall have, and no other thread starts one."""
    own = [place for place in sys.path if place not in ("", os.getcwd())]
    with (
        STARTING,
        changed(os.environ, environment),
        changed(sys.modules, {"__main__": ModuleType("__main__")}),
        changed(vars(sys), {"path": own}),
    ):
        yield


@contextmanager
def changed(names: dict, values: dict) -> Iterator[None]:
    """Within it, these names have those values."""
    before = {name: names[name] for name in values if name in names}
    names.update(values)
    try:
        yield
    finally:
        for name in values.keys() - before.keys():
            del names[name]
        names.update(before)


def server(environment, module):
    """This process's own server for such children, which leaves alone the one that a learner's programs may use."""
    meets = environment[devices.CUDA_OF_CHILD]
    if meets not in SERVERS:
        SERVERS[meets] = forkserver.ForkServer()
        ours = [module] if module.startswith("helpers.") else []
        SERVERS[meets].set_forkserver_preload(["helpers.sandbox.preload", *ours])
    return SERVERS[meets]


def end(process) -> None:
    """End the child, with whatever it has started."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join()


def wait_patiently(process, seconds: float, what: str) -> bool:
    """Wait until the child ends, with a progress bar. Returns False where it still runs once its time is over.

    That is when it has computed for `seconds`, or not at all for so long, or for `STILL` seconds where that is longer:
    what another process takes of the machine does not count. A driver on many cores computes more than one second in a
    second; then the wall's clock counts.
    """
    begun = moved = time.monotonic()
    computed = 0.0
    with ProgressBar(what, seconds) as bar:
        while not connection.wait([process.sentinel], LOOK):
            now, before = time.monotonic(), computed
            with suppress(psutil.Error):  # it has ended by now
                computed = min(sum(psutil.Process(process.pid).cpu_times()[:2]), now - begun)
            if computed != before:
                moved = now
            if computed >= seconds or now - moved >= max(seconds, STILL):
                return False
            bar.update(computed, "of computing")
    return True
