"""Writes files whole or not at all, and finds out beforehand whether they can be written. Reads others' as data."""

import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path

LONGEST = 1000  # characters of a line of others' text


class Refused(ValueError):
    """A file that others wrote and that is not read; the message says why and what to do."""


def read_json(path: str | Path, most: int, remedy: str) -> object:
    """What is in a JSON file of others; raises `Refused`, with the `remedy`, for one of more than `most` bytes."""
    size = Path(path).stat().st_size
    if size > most:
        raise Refused(f"a file of {size / 1e6:.0f} MB: {remedy}")
    return json.loads(Path(path).read_bytes())


def plain(text: str) -> str:
    """Others' text fit for a line of a screen: nothing in it steers a terminal, or is seen where it does not stand."""
    cut = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in cut)


def replace_text(path: str | Path, text: str) -> None:
    """Write the text in the file's place, whole or not at all: raises OSError, and leaves what was there."""
    part = Path(f"{path}.part")
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
