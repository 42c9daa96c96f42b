"""What goes wrong with a kernel, in words for its author."""

from collections.abc import Iterator
from contextlib import contextmanager

from cuda_without_gpu.errors import KernelError as KernelError
from cuda_without_gpu.errors import quoted as quoted


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
