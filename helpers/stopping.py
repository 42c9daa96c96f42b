"""What a notebook or a command says in one line, in place of a traceback: when it is stopped, or lacks something."""

import contextlib
import functools
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator

INTERRUPTED = 130  # the exit status that shells give a program that Ctrl-C ended


def answer_in_one_line(others: Callable[[object], Callable[[BaseException], bool]]) -> None:
    """Say in one line that a cell or a command was stopped; `others`: shell -> what answers other errors of a cell."""
    shell = "IPython" in sys.modules and sys.modules["IPython"].get_ipython()
    if shell:  # all its tracebacks, since `set_custom_exc` misses a stop between two statements of a cell
        shell.showtraceback = functools.partial(one_line, shell.showtraceback, others(shell))
    elif sys.argv[:1] == ["-m"]:  # what Python puts there until the command begins
        sys.excepthook = one_line_of_a_command


def one_line(usual, answered, raised=None, *how, **more):
    """A stopped cell ends with an error all the same, so that "Run All" ends. `raised`: as sys.exc_info() has it."""
    _, error, _ = raised or sys.exc_info()
    if isinstance(error, KeyboardInterrupt):
        print("Stopped. Nothing is broken: run the cell again.", file=sys.stderr)
    elif not answered(error):
        usual(raised, *how, **more)


def one_line_of_a_command(kind, error, trace):
    """Python itself sets the exit status after it, that of a program which Ctrl-C ended."""
    if issubclass(kind, KeyboardInterrupt):
        print("\ninterrupted. Nothing was written.", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


@contextlib.contextmanager
def ctrl_c_is_heard(left: str) -> Iterator[None]:
    """Within it, Ctrl-C ends the process in one line, with status 130, and within a second.

    Python raises KeyboardInterrupt only when the call of a driver or a compiler that it is in returns. So a thread
    gives that a third of a second, and then ends the process. `left`: a sentence on what was done so far.
    """
    heard, told = socket.socketpair()
    told.setblocking(False)
    once = threading.Lock()

    def say():
        if once.acquire(blocking=False):
            print(f"\ninterrupted. {left}", file=sys.stderr, flush=True)

    def answer():
        while number := heard.recv(1):
            if number[0] == signal.SIGINT:
                time.sleep(0.3)
                say()
                time.sleep(0.2)
                os._exit(INTERRUPTED)

    before = signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=answer, daemon=True).start()
    try:
        yield
    except KeyboardInterrupt:
        say()
        sys.exit(INTERRUPTED)
    finally:
        signal.set_wakeup_fd(before)
        told.close()
