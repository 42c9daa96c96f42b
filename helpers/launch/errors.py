"""What goes wrong with a kernel, in words for its author."""


class KernelError(RuntimeError):
    """A kernel that cannot be built or must not be run; the message says where and what to do."""

    def _render_traceback_(self):
        """What Jupyter shows: the message alone. The way through the helpers would only hide it."""
        return [f"KernelError: {self}"]


class DeviceLost(KernelError):
    """The GPU stopped a kernel, and this process has lost the GPU with all that lay on it."""


class NotYet(Exception):
    """A stub that its learner has not filled in."""
