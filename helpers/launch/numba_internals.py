"""Every part of Numba beside its public interface that the course leans on. When Numba moves, mend this file.

`tests/launch/test_numba_internals.py` proves each of them and says what broke.
"""

import copy
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace

import numpy as np

from .errors import no_exit


def plain_function(kernel) -> Callable | None:
    """The Python function inside a `@cuda.jit` function of either target; None for anything else."""
    return getattr(kernel, "py_func", None)


def is_device_function(kernel) -> bool:
    """Whether it is `@cuda.jit(device=True)`: called by kernels, never launched. (In the simulator, then on a GPU.)"""
    return bool(getattr(kernel, "_device", False) or getattr(kernel, "targetoptions", {}).get("device", False))


def is_jitted(value) -> bool:
    """Whether it is what `@cuda.jit` returns: a dispatcher for a GPU, or the simulator's stand-in for one."""
    return (hasattr(value, "py_func") and hasattr(value, "targetoptions")) or type(value).__name__ == "FakeCUDAKernel"


def simulated_thread():
    """The simulator's `cuda`, with threadIdx and the like, of the thread that asks; None outside a simulated kernel."""
    from numba.cuda.simulator import kernel

    return kernel._get_kernel_context()


def simulators_own() -> tuple[str, str]:
    """The folder of the simulator's files, whose frames stand below a kernel's, and that of `cuda.atomic`, above it."""
    from numba.cuda.simulator import kernelapi

    return os.path.dirname(kernelapi.__file__), kernelapi.__file__


def dtype_of(kind):
    """The NumPy dtype of a Numba type or of a NumPy one, as the simulator understands both."""
    from numba.cuda.simulator.kernelapi import numpy_support, types

    return numpy_support.as_dtype(kind) if isinstance(kind, types.Type) else np.dtype(kind)


def let_simulator_align() -> None:
    """Let the simulator's cuda.shared.array and cuda.local.array take `alignment`, which means nothing there."""
    from numba.cuda.simulator import kernelapi

    dynamic = kernelapi.FakeCUDAShared.array

    def shared_array(self, shape, dtype, alignment=None):
        if shape == 0:
            return dynamic(self, shape, dtype)
        frame = sys._getframe(1)
        # As in the simulator: an array for each line that asks for one.
        place = frame.f_code.co_filename, frame.f_lineno
        return self._allocations.setdefault(place, np.empty(shape, dtype_of(dtype)))

    def local_array(self, shape, dtype, alignment=None):
        return np.empty(shape, dtype_of(dtype))

    kernelapi.FakeCUDAShared.array = shared_array
    kernelapi.FakeCUDALocal.array = local_array


class Turn:
    """Takes the place of the event on which a simulated thread waits at a barrier: the thread waits for its next turn.

    A thread waits in `wait`, for the first time before its kernel begins; the manager of its block calls `take`.
    """

    def __init__(self):
        self.mine, self.over, self.ended = threading.Semaphore(0), threading.Semaphore(0), False

    def wait(self) -> None:
        """In the thread: end this turn, and wait for the next."""
        self.over.release()
        self.mine.acquire()

    def clear(self) -> None:
        """Do nothing: the simulator clears an event before it waits for it."""

    def take(self) -> bool:
        """In the manager: let the thread run until its next barrier, or its end. Returns whether it has not ended."""
        self.mine.release()
        self.over.acquire()
        return not self.ended


ONE_LAUNCH = threading.RLock()


def let_simulator_take_turns() -> None:
    """Let the simulator run one launch at a time, and a block's threads one at a time, each up to its next barrier.

    It has one place for the kernel that runs, and a kernel one for its grid: launches of two threads would mix.
    """
    from numba.cuda.simulator import kernel

    launch, configure = kernel.FakeCUDAKernel.__call__, kernel.FakeCUDAKernel.__getitem__

    def launch_alone(self, *arguments):
        if self._device or isinstance(threading.current_thread(), kernel.BlockThread):  # called, and not launched
            return launch(self, *arguments)
        with ONE_LAUNCH:
            return launch(self, *arguments)

    kernel.BlockManager.run = run_in_turns
    kernel.FakeCUDAKernel.__call__ = launch_alone
    kernel.FakeCUDAKernel.__getitem__ = lambda self, configuration: configure(copy.copy(self), configuration)


def run_in_turns(manager, grid_point, *arguments) -> None:
    """Run a block's threads one at a time, each as far as its next barrier: in place of `BlockManager.run`.

    The simulator's own lets all of them run at once and asks again and again which of them wait. That takes several
    times as long, and who comes first differs from run to run. Raises what a thread raised, as it does.
    """
    waiting = [waiting_thread(manager, grid_point, point, arguments) for point in np.ndindex(*manager._block_dim)]
    while waiting:
        for thread in list(waiting):
            if thread.syncthreads_event.take():
                continue
            thread.join()  # only then its exception is known
            waiting.remove(thread)
            if thread.exception:
                for other in waiting:
                    other.abort = True  # the simulator ends such a thread at its barrier
                    other.syncthreads_event.take()
                raise thread.exception[0].with_traceback(thread.exception[1])


def waiting_thread(manager, grid_point, point, arguments):
    """The thread of a simulated block at that point: started, and waiting for its first turn."""
    from numba.cuda.simulator.kernel import BlockThread

    turn = Turn()

    def compute():
        turn.mine.acquire()
        try:
            if not thread.abort:
                with no_exit("the kernel"):  # a thread that ends so would say nothing
                    manager._f(*arguments)
        finally:
            turn.ended = True
            turn.over.release()

    thread = BlockThread(compute, manager, grid_point, point, manager._debug)
    thread.syncthreads_event = turn
    thread.start()
    return thread


@contextmanager
def simulator_with(shared_array, local_array, syncthreads, launch) -> Iterator[None]:
    """Within it, the simulator calls these four in place of its own.

    shared_array, local_array   (shape, dtype) -> an array, for cuda.shared.array and cuda.local.array
    syncthreads, launch         the simulator's own -> what takes its place: a thread's method, and a kernel's __call__
    """
    from numba.cuda.simulator import kernel, kernelapi

    with ExitStack() as stack:
        for owner, name, make in (
            (kernelapi.FakeCUDAShared, "array", lambda own: staticmethod(shared_array)),
            (kernelapi.FakeCUDALocal, "array", lambda own: staticmethod(local_array)),
            (kernel.BlockThread, "syncthreads", syncthreads),
            (kernel.FakeCUDAKernel, "__call__", launch),
        ):
            own = vars(owner)[name]
            setattr(owner, name, make(own))
            stack.callback(setattr, owner, name, own)
        yield


def compile_ptx(function: Callable, signature: tuple, capability: tuple[int, int], lines: bool = False) -> str:
    """PTX of a plain function for that compute capability, with no GPU. Raises whatever Numba raises.

    `lines`: let the PTX say which line of the source each instruction comes from. The instructions stay the same.
    """
    from numba import cuda
    from numba.cuda import dispatcher

    # Functions that a kernel calls are compiled for the current device: there may be none, and it is not asked.
    asked = dispatcher.get_current_device
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)
    try:
        return cuda.compile_ptx(function, signature, cc=capability, lineinfo=lines)[0]
    finally:
        dispatcher.get_current_device = asked


def is_complaint(error: BaseException | None) -> bool:
    """Whether it is an error by which Numba refuses a kernel, and not a fault of what is installed."""
    return any(kind.__name__ == "NumbaError" for kind in type(error).__mro__)


def let_compiler_resolve_shared(module) -> None:
    """Tell Numba's compiler that `module.shared` is `cuda.shared`."""
    from numba import cuda
    from numba.cuda import cudadecl

    @cudadecl.register_attr
    class Attributes(cudadecl.AttributeTemplate):
        key = cudadecl.types.Module(module)

        def resolve_shared(self, asked):
            return cudadecl.types.Module(cuda.shared)
