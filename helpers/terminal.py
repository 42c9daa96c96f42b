"""What is printed on a terminal, or into a file, that cannot carry every sign."""

import codecs
import contextlib
import sys

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
