"""What goes wrong with a kernel, in words for its author."""


class KernelError(RuntimeError):
    """A kernel that cannot be built or must not be run; the message says where and what to do."""

    def _render_traceback_(self):
        """What Jupyter shows: the message alone. The way through this package and Numba would only hide it."""
        return [f"KernelError: {self}"]


class KernelWarning(UserWarning):
    """What a kernel does wrong, where `enable` was told to warn and to go on."""


class OutOfTime(KernelError):
    """A launch that still ran when its time was over. `line`: of its source, where it stood then; 0 for none known."""

    def __init__(self, message: str, line: int = 0):
        super().__init__(message)
        self.line = line


class NotNative(KernelError):
    """A kernel that does not run natively, and may on the PTX machine; the message says what it uses."""


class MayMissBarrier(NotNative):
    """The same, for a barrier that some threads may miss, as far as the control flow tells."""
