"""CUDA kernels: on a GPU, or on the PTX machine where there is none."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numba import cuda, float32

from .. import devices
from . import operands
from .contestant import Work
from .cuda_source import from_function, from_ladder, from_text
from .errors import DeviceLost, KernelError
from .given import told
from .kernel import Kernel, no_room
from .on_ptx import CompiledKernel
from .operands import OnDevice
from .resolve import Dialect

SIGNATURE = (float32[:, ::1],) * 3  # A, B, C: float32, C-contiguous
MOST_BLOCKS_DOWN = 65535  # along y: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"


def cuda_kernel(
    step: str | Callable,
    device: str | None = None,
    *,
    like: str | None = None,
    parameters: str | None = None,
    **given: int | str,
) -> "CudaKernel | CompiledKernel":
    """Build the CUDA kernel of that step: k(A, B) -> C.

    `step` is a name in `ladder.steps("CUDA")`; or a kernel of your own, as a `@cuda.jit` function or as source text,
    with `like` naming the step whose block, grid and parameters it is launched with. `parameters="tuned"` takes those
    that `tune` found on this device, and the defaults where it found none; `given` are single ones, such as TILE=16.
    `device`: None; CUDA has one, the current GPU, or the PTX machine where there is none. Raises ValueError for a step,
    parameter or tile that cannot run here, KernelError for a source that is no kernel; a check compiles yours.
    """
    asked = CUDA.resolve(step, like, device, parameters, given)
    if not asked["own"]:
        function, source = from_ladder(asked["step"], asked["parameters"]), CUDA.source_of(asked["step"])
    elif isinstance(step, str):
        function, source = from_text(step, asked["parameters"]), step
    else:
        function, source = from_function(step)
    kind = CompiledKernel if asked["device"] is devices.PTX_MACHINE else CudaKernel
    return kind(function, source=source, **asked)


def only_device(step, name):
    """The one CUDA device.

    Raises ValueError for a name, since there is nothing to choose, and for a GPU that has not what the step uses.
    """
    if name is not None:
        raise ValueError(
            f"device={told(name)}: CUDA kernels run on the current GPU, or on the PTX machine; leave it out."
        )
    device, least = devices.cuda_device(), step.capability if step else ()
    if least and device.kind == "GPU" and tuple(device.handle.compute_capability) < least:
        raise ValueError(
            f"{step.name} needs the matrix units of a GPU of compute capability {least[0]}.{least[1]} or more, such as "
            f"an A100 or an RTX 3070; {device.name} has {'.'.join(map(str, device.handle.compute_capability))}."
        )
    return device


CUDA = Dialect(
    name="CUDA",
    folder="cuda",
    suffix="py",
    language="python",
    comment="#",
    begins="@cuda.jit",
    device=only_device,
    build=cuda_kernel,
)


class CudaKernel(Kernel):
    """A `@cuda.jit` function with the step's block and grid."""

    dialect, build_seconds = "CUDA", None

    def __init__(self, function: Any, **asked: object):
        super().__init__(**asked)
        self.function = function
        if not self.own:  # of a learner's, a check says what is wrong with it, better than the GPU's compiler
            self.compile()

    def compile(self) -> None:
        """Compile it for the GPU, if that has not been done. Raises KernelError for what does not compile."""
        if self.build_seconds is not None:
            return
        start = time.perf_counter()
        try:
            self.function.compile(SIGNATURE)
        except Exception as error:  # Numba raises many kinds; the learner needs its words
            raise KernelError(f"{self} does not compile:\n{str(error).strip()}") from None
        self.build_seconds = time.perf_counter() - start

    def refuse_size(self, M: int, N: int, K: int) -> None:
        """Raise what speaks against that size, a grid that CUDA does not launch included."""
        super().refuse_size(M, N, K)
        blocks = self.grid(M, N)[1]
        if blocks > MOST_BLOCKS_DOWN:
            raise ValueError(
                f"{self} needs {blocks} blocks along y for a C of {M} x {N}; CUDA allows {MOST_BLOCKS_DOWN}. "
                f"Multiply a part at a time, or choose larger tiles."
            )

    def upload(self, A: np.ndarray, B: np.ndarray, fill: float = np.nan) -> "CudaWork":
        """Copy A (M, K) and B (K, N) to the GPU, beside a C full of `fill`."""
        self.compile()
        return CudaWork(self, *operands.pair_for(A, B, self.device), fill)

    def place(self, X: np.ndarray, over: OnDevice | None = None) -> OnDevice:
        """Copy X to the device, over another matrix of that shape, or into memory of its own."""
        X = operands.as_placed("X", X)
        with told_plainly():
            if over is None:
                return OnDevice(X.shape, guarded(X)[0], self.device)
            operands.refuse_another_shape(X, over)
            over.memory.copy_to_device(X, stream=stream())
            wait(stream())
            return over


# What the driver says, after which it refuses whatever this process asks next; and what that means.
STOPPED = {
    "ILLEGAL_ADDRESS": "it read or wrote outside the memory that it was given, such as past the end of an array",
    "MISALIGNED_ADDRESS": "a load or store of several numbers at once did not begin where such a one may",
    "INVALID_ADDRESS_SPACE": "it took an address of one kind of memory for one of another",
    "LAUNCH_TIMEOUT": "it ran longer than the system allows: an endless loop, or a barrier that some never reach",
    "LAUNCH_FAILED": "it failed while it ran, mostly by an access outside its shared or its own memory",
    "ILLEGAL_INSTRUCTION": "it came to an instruction that the GPU does not know",
    "HARDWARE_STACK_ERROR": "its calls went deeper than its stack",
    "ASSERT": "an assert in it did not hold",
}


@contextmanager
def told_plainly() -> Iterator[None]:
    """Within it, an error after which the GPU is lost to this process is raised as `DeviceLost`, in plain words."""
    try:
        yield
    except Exception as error:
        for name, what in STOPPED.items():
            if f"CUDA_ERROR_{name}" in str(error):
                raise DeviceLost(
                    f"the GPU stopped a kernel: {what} (CUDA_ERROR_{name}). It may be one that was launched before. "
                    f"Nothing more runs on the GPU from here: restart the kernel (the notebook's, in its menu), "
                    f"and run the cells again without that launch."
                ) from None
        raise


STREAMS = threading.local()


def stream():
    """This thread's stream, so that a copy can run beside a kernel: the main thread's is the default, as libraries'."""
    if threading.current_thread() is threading.main_thread():
        return 0
    if not hasattr(STREAMS, "own"):
        STREAMS.own = cuda.stream()
    return STREAMS.own


def wait(on):
    """Wait for what was asked on that stream; on the default one nobody need."""
    if on:
        on.synchronize()


class CudaArrays(Work):
    """A, B and C on the device that Numba computes on, each with a guard behind it."""

    def __init__(self, device, A, B, fill):
        self.shape, self.stream = (A.shape[0], B.shape[1]), stream()
        try:
            with told_plainly():
                pair = ((X.memory, None) if isinstance(X, OnDevice) else guarded(X) for X in (A, B))
                (self.d_A, self.d_B), self.behind = zip(*pair, strict=True)
                self.d_C, self.d_guard = guarded(operands.filled(self.shape, fill), behind=operands.CANARY)
        except Exception as error:
            if "OUT_OF_MEMORY" not in str(error):
                raise
            raise no_room(device) from None

    def download(self):
        """C as a new NumPy array. Raises KernelError if something wrote past its end, or if the GPU is lost."""
        with told_plainly():
            guard, C = (d_X.copy_to_host(stream=self.stream) for d_X in (self.d_guard, self.d_C))
            wait(self.stream)
            operands.refuse_past_the_end(guard)
            return C

    def left_alone(self, A, B):
        """Whether A and B, and the NaN behind them, are as they were uploaded."""
        with told_plainly():
            found = [d_X.copy_to_host(stream=self.stream) for d_X in (self.d_A, self.d_B, *self.behind)]
            wait(self.stream)
        behind = np.full(operands.GUARD, np.nan, np.float32)
        return all(map(operands.same_bits, found, (A, B, behind, behind)))

    def timed(self, launches):
        """Multiply so many times between two events of the GPU. Returns seconds a launch.

        A launch that is shorter than Python takes to ask for it, some ten microseconds, seems to last as long as that.
        """
        with told_plainly():
            start, stop = cuda.event(timing=True), cuda.event(timing=True)
            start.record(self.stream)
            for _ in range(launches):
                self.multiply()
            stop.record(self.stream)
            stop.synchronize()
            return cuda.event_elapsed_time(start, stop) / 1e3 / launches

    def memory(self):
        """Bytes of each array and its guard, by the array."""
        guard = 4 * operands.GUARD
        return {id(d_X): d_X.nbytes + guard for d_X in (self.d_A, self.d_B, self.d_C)}


class CudaWork(CudaArrays):
    """A, B and C on the device, ready for a kernel to be launched again and again."""

    def __init__(self, k, A, B, fill):
        super().__init__(k.device, A, B, fill)
        self.configured = k.function[k.grid(*self.shape), k.block, self.stream]

    def multiply(self):
        """Ask for the kernel once."""
        self.configured(self.d_A, self.d_B, self.d_C)


def guarded(X, behind=np.nan):
    """X on the device, or room for it where X is only a shape, and the guard behind it, full of `behind`."""
    guard, size = operands.GUARD, X.nbytes // 4
    d_all = cuda.device_array(size + guard, np.float32)
    d_X, d_guard = d_all[:size], d_all[size:]
    if isinstance(X, np.ndarray):
        d_X.copy_to_device(X.ravel(), stream=stream())
    if guard:
        d_guard.copy_to_device(np.full(guard, behind, np.float32), stream=stream())
    wait(stream())
    return d_X.reshape(*X.shape), d_guard
