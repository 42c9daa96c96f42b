"""What runs in other processes: a child, and the server that children are forked from. `process` starts both.

Who wants a child connects to its socket and sends one message, the order, in JSON. It answers with the child's process
id, and once the child has ended with its exit status. A child whose asker is gone is ended. When standard input ends,
so does the server, with all children.
"""

import functools
import gc
import importlib
import json
import os
import pickle
import select
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

from ..launch import DIALECTS, KernelError, dialect
from ..launch.operands import leave_guards_out
from ._limits import limit_this_process
from .findings import Finding

LONGEST = 1_000_000  # bytes of an order
for name in DIALECTS:  # what builds kernels, for all children
    with suppress(ImportError):
        dialect(name)


def serve(listener: int, place: str) -> None:
    """Fork a child for each order, until standard input ends. `listener`: the number of the socket at `place`."""
    # Those who have connected, and not ordered yet; and {process id: (its pidfd, its asker)}.
    listener, silent, children = socket.socket(fileno=listener), set(), {}
    while True:
        ready, _, _ = select.select([0, listener, *silent, *chain(*children.values())], [], [])
        if 0 in ready:
            break
        for pid, (ended, asker) in list(children.items()):
            if ended in ready or asker in ready:
                finish(pid, *children.pop(pid))
        for asker in silent.intersection(ready):
            silent.remove(asker)
            try:
                order = json.loads(asker.recv(LONGEST))
                load(order["module"])
                pid = fork(order, [listener, asker, *silent, *(other for _, other in children.values())])
            except (OSError, ValueError):  # it is gone again
                asker.close()
                continue
            children[pid] = os.pidfd_open(pid), asker
            with suppress(OSError):
                asker.send(str(pid).encode())
        if listener in ready:
            silent.add(listener.accept()[0])
    for pid, (ended, asker) in children.items():
        finish(pid, ended, asker)
    with suppress(OSError):
        Path(place).unlink()
        Path(place).parent.rmdir()  # the last one does


@functools.cache
def load(module: str) -> None:
    """Import a module with tasks, if it is one of this package, and let its `warm_up`, if it has one, do the rest."""
    if module.startswith("helpers."):
        with suppress(Exception):  # a child says what is wrong with it
            getattr(importlib.import_module(module), "warm_up", bool)()
    gc.freeze()  # a child that collected garbage among all that was imported would write to, and so copy, all of it


def fork(order: dict, sockets: list) -> int:
    """Fork a child, which leaves the server's sockets, as who holds one could answer on it. Returns the child's id."""
    pid = os.fork()
    if pid == 0:
        for each in sockets:
            each.close()
        do(order)
    with suppress(OSError):  # the child does it, too; it is done before somebody may have to end the child
        os.setpgid(pid, pid)
    return pid


def finish(pid: int, ended: int, asker: socket.socket) -> None:
    """End a child, with what it has started, that has ended itself or whose asker is gone, and say its exit status."""
    os.killpg(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(ended)
    with asker, suppress(OSError):
        asker.send(str(os.waitstatus_to_exitcode(status)).encode())


def do(order: dict) -> None:
    """In the child: become what a new process would be, do the job, and end."""
    status = 1
    try:
        os.setpgid(0, 0)  # so that it can be ended with whatever it starts
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for stream, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(os.path.join(order["folder"], name), os.O_WRONLY | os.O_CREAT), stream)
        os.environ.clear()
        os.environ.update(order["environment"])
        tempfile.tempdir = None  # it was found by the variables of the server
        os.chdir(order["directory"])
        sys.path[:] = order["path"]
        main(order["folder"])
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def main(folder: str) -> None:
    """Do the job in "job" and write to "answer" whether it is done, its value and findings.

    The value of a task that yields is the list of what it yields; each is written at once, so that no crash loses it.
    """
    limit_this_process()
    job = pickle.loads(Path(folder, "job").read_bytes())
    if job.device is None:
        leave_guards_out()  # what watches the kernel watches the ends of the buffers, too
    value, findings = None, []
    try:
        value = job.task(job, **job.arguments)
        if isinstance(value, Iterator):
            yields, value = value, []
            for one in yields:
                value.append(one)
                write_answer(folder, False, value, [])
    except KernelError as error:
        findings = [Finding("does not compile", str(error))]
    write_answer(folder, True, value, findings)


def write_answer(folder, *answer):
    """Write the answer, whole or not at all."""
    part = Path(folder, "part")
    part.write_bytes(pickle.dumps(answer))
    os.replace(part, Path(folder, "answer"))
