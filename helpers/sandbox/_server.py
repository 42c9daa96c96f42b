"""The process that children are forked from. `process` starts it; nothing else runs this.

Whoever wants a child connects to its socket and sends a byte and one line of JSON. It answers in such lines: "pid" and
the child's process id, then, as often as it is asked to "look", "looked" and what the child has used, and last "status"
and its exit status. A child whose asker is gone is ended. When standard input ends, so does it, with all children.

A child in the jail cannot connect. It has lines, sockets over which it sends the server one end of a connection; what
it asks for there goes into its own jail, whatever it says.
"""

import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import tempfile
import traceback
from contextlib import suppress
from functools import partial
from pathlib import Path

from .. import jail
from ._child import main
from ._limits import used_by

IMPORTED = ("judge", "instruments")  # the rooms with tasks for a child
PATIENCE = 10  # seconds for one line of an asker that has begun to send it
LONGEST = 1_000_000  # bytes of it
TOGETHER = 8  # children that a child in the jail may have at once
LINES = "HELPERS_LINES"  # the variable that tells a child in the jail the numbers of its lines, as JSON


def serve(listener: int, place: str) -> None:
    """Import what children need, then fork one for each request. `listener`: the number of the socket at `place`."""
    for room in IMPORTED:
        importlib.import_module(f"helpers.{room}")
    importlib.import_module("helpers.instruments.compiler").warm_up()
    devices = importlib.import_module("helpers.devices")
    for driver in filter(None, (devices.oclgrind_library(), devices.visible_cpu_runtime())):
        devices.load_problem(driver)  # no more than loaded: its threads would not reach a child
    gc.freeze()  # a child that collected garbage among all that was imported would write to, and so copy, all of it
    Server(socket.socket(fileno=listener), Path(place)).serve()


class Server:
    """What waits for askers, for children that end, and for its own end; each event is a function to call."""

    def __init__(self, listener, place):
        self.listener, self.place, self.children = listener, place, {}  # process id: the folder of its jail, or None
        self.events = selectors.DefaultSelector()
        self.await_(0, self.leave)
        self.await_(listener, self.accept)

    def await_(self, place, do):
        """Call do() whenever there is something to read there."""
        self.events.register(place, selectors.EVENT_READ, do)

    def serve(self):
        """Until standard input ends."""
        while True:
            for key, _ in self.events.select():
                if key.fd in self.events.get_map():  # an event before this one may have settled it
                    key.data()

    def accept(self):
        """Somebody wants a child, and is none in the jail."""
        asker, _ = self.listener.accept()
        asker.settimeout(PATIENCE)
        self.await_(asker, partial(self.hear, asker))

    def hear(self, asker):
        """Fork the child that is asked for, or take the line that comes with it, for children in that jail."""
        self.events.unregister(asker)
        with suppress(OSError, ValueError):  # it is gone again
            _, lines, *_ = socket.recv_fds(asker, 1, 2)
            request = read_request(asker)
            if "line" in request:
                line = socket.socket(fileno=lines[0])
                self.await_(line, partial(self.hear_inside, line, request["line"]))
            else:
                self.begin(asker, request, request["jail"], lines)
                return
        asker.close()

    def hear_inside(self, line, folder):
        """A child in that jail wants one of its own, or is gone."""
        try:
            _, sent, *_ = socket.recv_fds(line, 1, 1)
            asker = socket.socket(fileno=sent[0])
        except (OSError, IndexError):
            self.events.unregister(line)
            line.close()
            return
        asker.settimeout(PATIENCE)
        request = None
        with suppress(OSError, ValueError, RecursionError):
            request = read_request(asker)
        if request is None or list(self.children.values()).count(folder) > TOGETHER:
            asker.close()
        else:
            self.begin(asker, request, folder)

    def begin(self, asker, request, folder, lines=()):
        """Fork a child, into the jail that has that folder, or into none. `lines`: file numbers, which it gets."""
        pid = os.fork()
        if pid == 0:
            asker.close()  # who holds it could answer in the server's place
            self.forget()
            do(request, folder, lines)
        for line in lines:
            os.close(line)
        with suppress(OSError):  # the child does it, too; whoever is first, it is done before it may have to be ended
            os.setpgid(pid, pid)
        self.children[pid] = folder
        place = os.pidfd_open(pid)
        self.await_(place, partial(self.report, place, pid, asker))
        self.await_(asker, partial(self.answer, pid, asker))
        tell(asker, "pid", pid)

    def answer(self, pid, asker):
        """The asker wants to know how the child is doing, or where it stands, or is gone, and so is its child then."""
        try:
            said = asker.recv(100)
        except OSError:
            said = b""
        if said == b"look\n":
            tell(asker, "looked", used_by(pid))
        elif said == b"where\n":
            os.kill(pid, signal.SIGUSR1)
        else:
            self.events.unregister(asker)
            end(pid)

    def forget(self):
        """In a child: leave everything that is the server's."""
        for key in list(self.events.get_map().values()):
            if key.fd:  # standard input gets another place
                os.close(key.fd)
        self.events.close()

    def report(self, place, pid, asker):
        """The child has ended."""
        del self.children[pid]
        self.events.unregister(place)
        os.close(place)
        end(pid)  # others of its group may be left
        tell(asker, "status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        if asker.fileno() in self.events.get_map():
            self.events.unregister(asker)
        asker.close()

    def leave(self):
        """Nobody is left to ask."""
        for pid in self.children:
            end(pid)
        with suppress(OSError):
            self.place.unlink()
            self.place.parent.rmdir()  # the last one does
        sys.exit()


def read_request(asker):
    """What is asked for, from the one line of JSON that says it."""
    return json.loads(asker.makefile("rb").readline(LONGEST))


def tell(asker, word, value):
    """Send the asker one line, if it is still there."""
    with suppress(OSError):
        asker.sendall(json.dumps([word, value]).encode() + b"\n")


def end(pid):
    """End the child and whatever it started."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def do(request, folder, lines):
    """In the child: become what a new process would be, in the jail or not, do the job, and end."""
    status = 1
    try:
        os.setpgid(0, 0)  # so that it can be ended with whatever it starts
        if folder:
            jail.enter(folder)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for stream, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(os.path.join(request["folder"], name), os.O_WRONLY | os.O_CREAT), stream)
        os.environ.clear()
        os.environ.update(request["environment"])
        os.environ.pop(LINES, None)
        if lines:
            os.environ[LINES] = json.dumps(dict(zip(request["lines"], lines, strict=True)))
        tempfile.tempdir = None  # it was found by the variables of the server
        os.chdir(request["directory"])
        sys.path[:] = request["path"]
        main(request["folder"])
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
