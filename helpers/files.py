"""Writes files whole or not at all, and finds out beforehand whether they can be written. Reads others' as data."""

import json
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has another lock
    fcntl = None
    import msvcrt

LONGEST = 1000  # characters of a line of others' text
# Never through a link, nor waiting for somebody to write into a pipe. Windows has neither.
OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class Refused(ValueError):
    """A file that others wrote and that is not read; the message says why and what to do."""


def read_json(path: Path, most: int, remedy: str, below: Path | None = None) -> object:
    """What is in a file of JSON that others wrote: dicts, lists, texts and numbers, whatever they are called.

    Raises ValueError for what is no JSON, and what `read_others` raises.
    """
    try:
        return json.loads(read_others(path, most, remedy, below))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_others(path: Path, most: int, remedy: str, below: Path | None = None) -> bytes:
    """The bytes of a file that others wrote, at most so many. `remedy`: what to do about a larger one.

    `below`: the folder that it must lie in, by default its own; no link leads there. What a hard link names cannot be
    told from a file. Raises `Refused` for a link, for what is no file (it is not even opened) and for a large one,
    OSError where it cannot be read.
    """
    path = Path(path)
    below = Path(below or path.parent)
    named = os.path.join(os.path.realpath(below), path.relative_to(below))
    before = path.lstat()
    if stat.S_ISREG(before.st_mode):
        with open(os.open(path, OPEN), "rb") as file:
            # Asked once it is open, so that what is put there meanwhile does not count.
            found = os.fstat(file.fileno())
            itself = os.path.samestat(before, found) and stat.S_ISREG(found.st_mode)
            if itself and os.path.normcase(os.path.realpath(path)) == os.path.normcase(named):
                text = file.read(most + 1) if before.st_size <= most else b""
                if (size := max(len(text), before.st_size)) > most:
                    raise Refused(
                        f"a file of {f'{size / 1e6:.0f} M' if size >= 1e6 else f'{size / 1e3:.0f} k'}B: {remedy}"
                    )
                return text
    elif not stat.S_ISLNK(before.st_mode):
        raise Refused("it is no file, but a folder, a pipe or a device; ask for the file itself")
    raise Refused("it is a symbolic link, which is not followed; ask for the file itself")


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


def replace_text(path: Path, text: str, follow: bool = True) -> None:
    """Write the text beside the file, then put it in the file's place: whole, or not at all.

    `follow`: through a link to the file that it names, and into a pipe. Without it, whatever is called so is replaced:
    for a folder in which others may put something. Raises OSError, with the path and the remedy, where that cannot be
    done. What stood there before is as it was.
    """
    path = Path(path)
    part = None
    try:
        if follow and path.exists() and not path.is_file():  # a pipe or /dev/stdout: there is nothing to replace
            path.write_text(text, encoding="utf-8")
            return
        path = path.resolve() if follow else path
        refuse_read_only(path)
        part, file = open_beside(path)
        with file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())  # a full disk is noticed here, and not once the old file is gone
        if path.is_file() and not path.is_symlink():
            os.chmod(part, stat.S_IMODE(path.stat().st_mode))
        os.replace(part, path)
    except BaseException as error:  # an interrupt, too, leaves nothing half-written behind
        if part is not None:
            with suppress(OSError):
                os.unlink(part)
        if isinstance(error, OSError):
            raise cannot_write(path, error) from None
        raise


def try_writing(path: Path, make_folder: bool = False) -> None:
    """Find out whether `replace_text` could write that file, before work is spent on what it would say.

    `make_folder`: make its folder, if there is none. Raises OSError, with the path and the remedy. The file itself is
    not touched.
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        if path.exists() and not path.is_file():
            return
        path = path.resolve()
        if make_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        refuse_read_only(path)
        part, file = open_beside(path)
        try:
            with file:
                file.write("\n")
        finally:
            os.unlink(part)
    except OSError as error:
        raise cannot_write(path, error) from None


def open_beside(path):
    """A new file in the same folder, for writing: its path, and the open file."""
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    return part, open(part, "x", encoding="utf-8")


def refuse_read_only(path):
    """Raise PermissionError for a file that its owner has made read-only, though it could be replaced."""
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(0, "the file is read-only")


def cannot_write(path, error):
    """The error to raise where that path cannot be written: why, what is left, and what to do."""
    return OSError(
        f"{path} cannot be written ({error.strerror or error}). What was there is unchanged. "
        f"Make room or give the permission, or name another place."
    )


def set_aside(path: Path) -> Path:
    """Rename a damaged file, so that a new one can take its place and nothing is lost. Returns its new path."""
    aside, count = path.with_name(f"{path.name}.damaged"), 1
    while aside.exists():
        count += 1
        aside = path.with_name(f"{path.name}.damaged-{count}")
    try:
        os.rename(path, aside)
    except OSError as error:
        raise cannot_write(path, error) from None
    return aside


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Within it, no other process or thread is within it for that folder: for who reads a file, changes and writes it.

    A process that ends lets go of the lock. Where there are no locks, as on some network disks, it goes on without.
    """
    try:
        file = open(Path(folder) / "lock", "a", encoding="utf-8")  # noqa: SIM115, closed below
    except OSError as error:
        raise cannot_write(Path(folder) / "lock", error) from None
    with file:
        with suppress(OSError):
            if fcntl:
                fcntl.flock(file, fcntl.LOCK_EX)
            else:
                wait_for_windows(file)
        yield  # closing the file lets go of the lock


def wait_for_windows(file, seconds=10):
    """Lock the first byte of the file, once whoever holds it lets go."""
    until = time.monotonic() + seconds
    while True:
        try:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
