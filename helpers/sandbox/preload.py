"""What the server loads that children are forked from: it takes most of the time of a child that begins anew."""

import gc
import signal
from contextlib import suppress

from ..launch import DIALECTS, dialect
from . import inside  # noqa: F401, what a child runs

signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is meant for the notebook
for name in DIALECTS:
    with suppress(ImportError):  # a child says what is missing
        dialect(name)
gc.freeze()  # a child that collected garbage among all of this would write to, and so copy, all of it
