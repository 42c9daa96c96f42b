"""Where one reads, on a terminal, in a file or a notebook: signs such as ✓, columns of Chinese, a bar for who waits."""

import contextlib
import sys
import time
import unicodedata
from contextlib import AbstractContextManager


def print_in_utf8() -> None:
    """Let standard output and standard error be UTF-8, which has every sign; Windows' cp1252 has no ✓."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):  # a notebook's is no file, and one may be closed
            stream.reconfigure(encoding="utf-8", errors="replace")


def columns(text: str) -> int:
    """How many columns of a screen a text takes: a Chinese sign takes two."""
    return len(text) + sum(unicodedata.east_asian_width(sign) in "WF" for sign in text)


def padded(text: str, width: int) -> str:
    """The text with blanks behind it, so that it takes `width` columns of a screen."""
    return text + " " * (width - columns(text))


def in_a_notebook() -> bool:
    """Whether this process is a Jupyter kernel."""
    return "IPython" in sys.modules and hasattr(sys.modules["IPython"].get_ipython(), "kernel")


class ProgressBar(AbstractContextManager):
    """A bar of tqdm's while something takes long, in a notebook or on a terminal. It is gone when the work is done.

    `total`: seconds at most, or None where nobody knows. `patience`: seconds before the bar is shown.
    """

    def __init__(self, what: str, total: float | None = None, patience: float = 2):
        from tqdm.auto import tqdm

        self.what, self.start = what, time.monotonic()
        when = dict(delay=patience, mininterval=0, miniters=0, disable=None)  # None: where there is neither, nowhere
        self.bar = tqdm(total=total, leave=False, bar_format="{desc} {bar}" if total else "{desc}", **when)

    def update(self, note: str) -> None:
        """Show how many seconds are over, and what is done now."""
        done, total = time.monotonic() - self.start, self.bar.total
        of_at_most = f" of at most {total:.0f} s" if total else ""
        self.bar.set_description_str(f"{self.what}: {done:.0f} s{of_at_most} | {note}", refresh=False)
        self.bar.update(min(done, total or done) - self.bar.n)

    def __exit__(self, *_):
        self.bar.n = self.bar.total or 0  # of what is not done tqdm would leave the widget
        self.bar.close()
