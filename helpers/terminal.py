"""What is printed on a terminal, or into a file, that cannot carry every sign."""

import codecs
import contextlib
import sys
import unicodedata

# The name of an error handler: what a stream cannot carry, such as ✓ under Windows' cp1252, is written plainly.
PLAIN = "helpers.plain"
PLAINLY = {"✓": "+", "✗": "x", "·": "-", "–": "-", "…": "...", "×": "x"}


def plainly(error: UnicodeError) -> tuple[str, int]:
    """Write a few signs in ASCII and any other as a question mark; as Python calls handlers of encoding errors."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(PLAINLY.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


codecs.register_error(PLAIN, plainly)


def print_plainly() -> None:
    """Let standard output and standard error write what they cannot carry plainly, where they would raise otherwise."""
    for stream in (sys.stdout, sys.stderr):
        if getattr(stream, "errors", None) in ("strict", "backslashreplace"):
            with contextlib.suppress(AttributeError, ValueError):  # a notebook's has no encoding; one may be closed
                stream.reconfigure(errors=PLAIN)


def columns(text: str) -> int:
    """How many columns of a screen a text takes: a Chinese sign takes two, an accent that is put above another none."""
    wide = sum(unicodedata.east_asian_width(sign) in "WF" for sign in text)
    return len(text) + wide - sum(unicodedata.combining(sign) > 0 for sign in text)


def padded(text: str, width: int) -> str:
    """The text with blanks behind it, so that it takes `width` columns of a screen."""
    return text + " " * (width - columns(text))
