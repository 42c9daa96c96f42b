"""The process that children are forked from. `process` starts it; nothing else runs this.

It reads one line of JSON for each child, and answers with two lines: "pid" and the child's process id, and "status"
and its exit status once it has ended. It serves one child at a time. When nobody is left to ask, it ends, and its child
too.
"""

import importlib
import json
import os
import select
import signal
import sys
import traceback
from contextlib import suppress

from ._child import main

IMPORTED = ("judge", "instruments")  # the rooms with tasks for a child


def serve() -> None:
    """Import what children need, then fork one for each request on standard input."""
    answers = os.dup(1)
    os.dup2(2, 1)  # whatever an import prints is no answer
    for room in IMPORTED:
        importlib.import_module(f"helpers.{room}")
    while request := read_line():
        pid = os.fork()
        if pid == 0:
            os.close(answers)
            do(json.loads(request))
        with suppress(OSError):  # the child does it, too; whoever is first, it is done before it may have to be ended
            os.setpgid(pid, pid)
        os.write(answers, b"pid %d\n" % pid)
        os.write(answers, b"status %d\n" % ended(pid))


def read_line():
    """One line from standard input, unbuffered, so that `select` sees whatever was not read; empty at its end."""
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(0, 65536)
        if not piece:
            return b""
        line += piece
    return line


def ended(pid):
    """Wait for the child; end it when standard input ends. Returns its exit status, negative for a signal."""
    place = os.pidfd_open(pid)
    ready, _, _ = select.select([place, 0], [], [])
    os.close(place)
    if 0 in ready and not read_line():
        os.killpg(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def do(request):
    """In the child: become what a new process would be, do the job, and end."""
    os.setpgid(0, 0)  # so that it can be ended with whatever it starts
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for stream, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(os.path.join(request["folder"], name), os.O_WRONLY | os.O_CREAT), stream)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["directory"])
    sys.path[:] = request["path"]
    status = 1
    try:
        main(request["folder"])
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
