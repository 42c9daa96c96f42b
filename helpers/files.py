"""Writes files whole or not at all, and finds out beforehand whether they can be written. Reads others' as data."""

import json
import os
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
    try:
        return json.loads(Path(path).read_bytes())
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def plain(value: object) -> object:
    """Others' text fit for a line of a screen: nothing in it steers a terminal, or is seen where it does not stand.

    What is in lists and dicts, as JSON has them, too; numbers stay as they are.
    """
    if isinstance(value, str):
        cut = value if len(value) <= LONGEST else f"{value[: LONGEST - 1]}…"
        return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in cut)
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {plain(name): plain(one) for name, one in value.items()}
    return value


def replace_text(path: str | Path, text: str) -> None:
    """Write the text in the file's place, whole or not at all: raises OSError, and leaves what was there."""
    part = Path(f"{path}.part")
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)
    finally:  # an interrupt, too, leaves nothing half-written behind
        part.unlink(missing_ok=True)


def try_writing(path: str | Path) -> None:
    """Find out whether `replace_text` could write that file, and make its folder. Raises OSError if it could not."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file.")
    tempfile.TemporaryFile(dir=path.parent).close()
