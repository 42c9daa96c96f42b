"""Writes files whole or not at all, and finds out beforehand whether they can be written. Reads others' as data."""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

PATIENCE = 60  # seconds for somebody else to let go of a lock, which is held for a moment
LONGEST = 1000  # characters of a line of others' text


class Refused(ValueError):
    """A file that others wrote and that is not read; the message says why and what to do."""


def read_json(path: Path, most: int, remedy: str) -> object:
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


def replace_text(path: Path, text: str) -> None:
    """Write the text in the file's place, whole or not at all; raises OSError, with the path and the remedy."""
    with place_beside(path) as part:
        with open(part, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())  # a full disk is noticed here, and not once the old file is gone
        os.replace(part, path)


def try_writing(path: Path, make_folder: bool = False) -> None:
    """Find out whether `replace_text` could write that file; raises OSError, with the path and the remedy."""
    with place_beside(path, make_folder=make_folder) as part:
        part.write_text("\n")


@contextmanager
def place_beside(path, make_folder=False):
    """The path of a new file beside that one, which is gone afterwards. An OSError within says path and remedy."""
    path = Path(path)
    try:
        if path.exists() and not path.is_file():  # a folder, or /dev/stdout
            raise OSError(0, "it is no file")
        if make_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(0, "the file is read-only")
        part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
        try:
            yield part
        finally:  # an interrupt, too, leaves nothing half-written behind
            with suppress(OSError):
                part.unlink()
    except OSError as error:
        raise OSError(
            f"{path} cannot be written ({error.strerror or error}). What was there is unchanged. "
            f"Make room or give the permission, or name another place."
        ) from None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Within it, no other process or thread is within it for that folder: for who reads a file, changes and writes it.

    The folder is made if there is none. A process that ends lets go of the lock. Where there are no locks, as on some
    network disks, or in a folder that cannot be written, it goes on without.
    """
    from filelock import FileLock  # which loads asyncio: for who locks, and not for all who import this

    with ExitStack() as stack:
        with suppress(OSError, NotImplementedError):
            Path(folder).mkdir(parents=True, exist_ok=True)
            stack.enter_context(FileLock(Path(folder) / "lock", timeout=PATIENCE))
        yield
