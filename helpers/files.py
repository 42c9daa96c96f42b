"""Writes files whole or not at all, and finds out beforehand whether they can be written."""

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


def replace_text(path: Path, text: str) -> None:
    """Write the text beside the file, then put it in the file's place: whole, or not at all.

    Raises OSError, with the path and the remedy, where that cannot be done. What stood there before is as it was.
    """
    path = Path(path)
    part = None
    try:
        if path.exists() and not path.is_file():  # a pipe or /dev/stdout: there is nothing to replace
            path.write_text(text, encoding="utf-8")
            return
        path = path.resolve()  # through a link, to the file it names
        refuse_read_only(path)
        part, file = open_beside(path)
        with file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())  # a full disk is noticed here, and not once the old file is gone
        if path.exists():
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
