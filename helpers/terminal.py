"""Where one reads, on a terminal, in a file or a notebook: signs such as ✓, and columns of Chinese."""

import contextlib
import sys
import unicodedata


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
