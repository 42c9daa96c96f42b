"""Writes files whole or not at all, and finds out beforehand whether they can be written."""

import contextlib
import os
import sys
import tempfile
from pathlib import Path


def replace_text(path: str | Path, text: str) -> None:
    """Write the text in the file's place, whole or not at all: raises OSError, and leaves what was there."""
    part = Path(f"{path}.part")
    part.unlink(missing_ok=True)  # a link there is not followed
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)


def try_writing(path: str | Path) -> None:
    """Find out whether a file could be written there, and make its folder. Raises OSError if it could not."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=Path(path).parent).close()


def print_in_utf8() -> None:
    """Let standard output and standard error be UTF-8, which has every sign; Windows' cp1252 has no ✓."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):  # a notebook's is no file, and one may be closed
            stream.reconfigure(encoding="utf-8", errors="replace")
