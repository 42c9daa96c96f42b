"""What goes wrong with a kernel, in words for its author."""

from collections.abc import Iterator
from contextlib import contextmanager


class KernelError(RuntimeError):
    """A kernel that cannot be built or must not be run; the message says where and what to do."""

    def _render_traceback_(self):
        """What Jupyter shows: the message alone. The way through the helpers would only hide it."""
        return [f"KernelError: {self}"]


class DeviceLost(KernelError):
    """The GPU stopped a kernel, and this process has lost the GPU with all that lay on it."""


@contextmanager
def no_exit(what: str) -> Iterator[None]:
    """Within it, somebody's code that ends Python, as sys.exit() does, raises KernelError instead."""
    try:
        yield
    except SystemExit as error:
        raise KernelError(f"{what} ends Python with sys.exit({error.code!r}); leave that out.") from None


class NotYet(Exception):
    """A stub that its learner has not filled in."""


def quoted(source: str, number: int | None, message: str) -> str:
    """A compiler's message with the number and the text of the line that it means, where it names one there is."""
    if number is None:
        return message.strip()
    lines = source.splitlines()
    line = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    return f"line {number}: {message.strip()}" + f"\n    {line}" * bool(line)
