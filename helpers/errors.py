"""What goes wrong with a kernel, in words for its author: the course's own errors."""

from collections.abc import Iterator
from contextlib import contextmanager

from .language import ENGLISH, spelled


class KernelError(RuntimeError):
    """A kernel that cannot be built or must not be run; the message says where and what to do.

    `sentence`: its key and values, see `language.spelled`.
    """

    def __init__(self, key: str, **values: object):
        super().__init__(spelled(ENGLISH, key, values))
        self.sentence = key, values

    def _render_traceback_(self):
        """What Jupyter shows: the message alone. The way through helpers and a compiler would only hide it."""
        return [f"KernelError: {self}"]


class OutOfTime(KernelError):
    """A launch that still ran when its time was over. Its value `line`: of its source, where it stood; 0 for none."""


@contextmanager
def in_our_words() -> Iterator[None]:
    """Within it, what `cuda_without_gpu` finds wrong with a kernel is raised as an error of the course."""
    from cuda_without_gpu import errors  # loaded where a kernel is

    try:
        yield
    except errors.OutOfTime as late:
        raise OutOfTime(str(late), line=late.line) from None
    except errors.KernelError as error:
        raise KernelError(str(error)) from None


def quoted(source: str, number: int | None, message: str) -> str:
    """A compiler's message with the number and the text of the line that it means, where it names one there is."""
    if number is None:
        return message.strip()
    lines = source.splitlines()
    text = f"line {number}: {message.strip()}"
    return f"{text}\n    {lines[number - 1].strip()}" if 0 < number <= len(lines) else text
