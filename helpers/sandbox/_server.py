"""The process that children are forked from. `process` starts it; nothing else runs this.

Whoever wants a child connects to its socket and sends one line of JSON. It answers in such lines: "pid" and
the child's process id, then, as often as it is asked to "look", "looked" and what the child has used, and last "status"
and its exit status. A child whose asker is gone is ended. When standard input ends, so does it, with all children.
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

from ._child import main
from ._limits import used_by

IMPORTED = ("judge", "instruments")  # the rooms with tasks for a child
PATIENCE = 10  # seconds for one line of an asker that has begun to send it
LONGEST = 1_000_000  # bytes of it


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
        self.listener, self.place, self.children = listener, place, set()  # process ids
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
        """Somebody wants a child."""
        asker, _ = self.listener.accept()
        asker.settimeout(PATIENCE)
        self.await_(asker, partial(self.hear, asker))

    def hear(self, asker):
        """Fork the child that is asked for."""
        self.events.unregister(asker)
        try:
            request = json.loads(asker.makefile("rb").readline(LONGEST))
        except (OSError, ValueError):  # it is gone again
            asker.close()
        else:
            self.begin(asker, request)

    def begin(self, asker, request):
        """Fork a child."""
        pid = os.fork()
        if pid == 0:
            asker.close()  # who holds it could answer in the server's place
            self.forget()
            do(request)
        with suppress(OSError):  # the child does it, too; whoever is first, it is done before it may have to be ended
            os.setpgid(pid, pid)
        self.children.add(pid)
        place = os.pidfd_open(pid)
        self.await_(place, partial(self.report, place, pid, asker))
        self.await_(asker, partial(self.answer, pid, asker))
        tell(asker, "pid", pid)

    def answer(self, pid, asker):
        """The asker wants to know how the child is doing, or is gone, and so is its child then."""
        try:
            said = asker.recv(100)
        except OSError:
            said = b""
        if said == b"look\n":
            tell(asker, "looked", used_by(pid))
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
        self.children.remove(pid)
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


def tell(asker, word, value):
    """Send the asker one line, if it is still there."""
    with suppress(OSError):
        asker.sendall(json.dumps([word, value]).encode() + b"\n")


def end(pid):
    """End the child and whatever it started."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def do(request):
    """In the child: become what a new process would be, do the job, and end."""
    status = 1
    try:
        os.setpgid(0, 0)  # so that it can be ended with whatever it starts
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for stream, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(os.path.join(request["folder"], name), os.O_WRONLY | os.O_CREAT), stream)
        os.environ.clear()
        os.environ.update(request["environment"])
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
