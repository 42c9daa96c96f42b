"""What the server loads that children are forked from: it takes most of the time of a child that begins anew."""

import gc
from contextlib import suppress

from ..launch import DIALECTS, dialect
from . import inside  # noqa: F401, what a child runs

for name in DIALECTS:
    with suppress(ImportError):  # a child says what is missing
        dialect(name)
gc.freeze()  # a child that collected garbage among all of this would write to, and so copy, all of it
