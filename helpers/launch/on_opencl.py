"""OpenCL kernels, on any GPU or CPU driver that proves itself."""

import contextlib
import functools
import re
import time
from collections.abc import Callable

import numpy as np

from .. import devices, ladder, needs
from ..arguments import told
from ..devices import Device
from ..errors import KernelError, quoted
from .dialects import DIALECTS
from .kernel import Backend, Kernel, Work

with needs.loading("pyopencl"):
    import pyopencl as cl

OPENCL = DIALECTS["OpenCL"]
SIX = "int M, int N, int K, __global const float *A, __global const float *B, __global float *C"


def opencl_kernel(
    step: str, device: str | Device | None = None, *, like: str | None = None, **given: int
) -> "OpenCLKernel":
    """Build the OpenCL kernel of that step: k(A, B) -> C.

    `step`: a name in `ladder.steps("OpenCL")`; or OpenCL source of your own with one `__kernel` of (M, N, K, A, B, C),
    and `like`, the step whose work-group, global size and parameters it is launched with. `device`: part of a platform
    or device name, or a `devices.Device`; None takes the first that the step is for. `given`: parameters, such as
    TILE=16, which reach the source as macros; the others are this device's defaults. With none given, the sizes of some
    steps follow from the shape: `k.fitted(M, N, K)` is the kernel that multiplies that one.
    Raises ValueError for a step or parameter that cannot run here, KernelError for a source that does not compile.
    """
    if not isinstance(step, str):
        raise ValueError(f"{told(step)} is neither a step's name nor OpenCL source text.")
    asked = OPENCL.resolve(step, like, device, given)
    return OpenCLKernel(source=step if asked["own"] else OPENCL.source_of(asked["step"]), **asked)


def device_for(step, name):
    """The device of that name; with none, the first of a kind that the step has defaults for, or the first of all."""
    if isinstance(name, Device) and name.dialect == "OpenCL":
        return name
    return devices.opencl_device(None, tuple(step.defaults)) if step and name is None else devices.opencl_device(name)


@functools.cache
def context_of(device: Device):
    """The device's pyopencl context."""
    return cl.Context([device.handle])


class OpenCLBackend(Backend):
    """An OpenCL device, through a queue that times what it runs: what another queue copies can run beside it."""

    def __init__(self, device: Device):
        super().__init__(device)
        self.context = context_of(device)
        self.queue = cl.CommandQueue(self.context, properties=cl.command_queue_properties.PROFILING_ENABLE)

    def empty(self, size):
        """A buffer of so many float32. Raises pyopencl's MemoryError where there is no room."""
        flags, nbytes = cl.mem_flags.READ_WRITE, 4 * size
        if self.device.kind == "GPU":
            return cl.Buffer(self.context, flags, size=nbytes)
        # In NumPy's memory, which comes in large pages where the system has them, as NumPy's own operands do.
        return cl.Buffer(self.context, flags | cl.mem_flags.USE_HOST_PTR, hostbuf=aligned(nbytes))

    def write(self, buffer, X, start=0):
        """Copy X there, and wait."""
        cl.enqueue_copy(self.queue, buffer, X, dst_offset=4 * start)

    def read(self, buffer, start=0, end=None):
        """What lies there, as a new array."""
        found = np.empty((buffer.size // 4 if end is None else end) - start, np.float32)
        if found.size:
            cl.enqueue_copy(self.queue, found, buffer, src_offset=4 * start)
        return found

    def timed(self, multiply, launches):
        """Multiply so many times. Returns seconds a launch: by a GPU's profile of each, on a CPU by the wall."""
        start = time.perf_counter()
        asked = [multiply() for _ in range(launches)]
        events = [event for one in asked for event in (one if isinstance(one, list) else [one])]
        events[-1].wait()  # the queue runs them in order
        if self.device.kind == "GPU":
            return sum(event.profile.end - event.profile.start for event in events) * 1e-9 / launches
        return (time.perf_counter() - start) / launches

    def __del__(self):
        # What is still queued would write to memory that NumPy has given to others by then.
        with contextlib.suppress(cl.Error):
            self.queue.finish()


def aligned(nbytes):
    """So many bytes of NumPy's memory, as an array that begins at a large page if it fills one, else at a small one."""
    page = 1 << 21 if nbytes >= 1 << 21 else 1 << 12  # bytes
    memory = np.empty(nbytes + page, np.uint8)
    start = -memory.ctypes.data % page
    return memory[start : start + nbytes]


class OpenCLKernel(Kernel):
    """A `__kernel` with the step's work-group and global size. A learner's is built once it has passed a check."""

    dialect, backend = "OpenCL", OpenCLBackend

    def __init__(self, **asked: object):
        super().__init__(**asked)
        if not self.own:
            self.compile()

    def build(self) -> None:
        """Build it now. Raises KernelError for what does not compile, and for other arguments than M, N, K, A, B, C."""
        try:
            macros = [f"-D{name}={value}" for name, value in self.parameters.items()]
            self.program = cl.Program(context_of(self.device), self.source).build(list(macros))
            kernels = self.program.all_kernels()
        except cl.RuntimeError as error:
            raise KernelError(f"{self} does not compile.\n{compiler_says(str(error), self.source)}") from None
        if len(kernels) != 1:
            raise KernelError(f"the source must hold exactly one __kernel, not {len(kernels)}.")
        self.function, buffer = kernels[0], cl.Buffer(context_of(self.device), cl.mem_flags.READ_WRITE, size=4)
        try:
            self.function.set_args(*[np.int32(1)] * 3, *[buffer] * 3)
        except (cl.Error, TypeError):
            raise KernelError(f"{self.function.function_name} must take six arguments, in this order: {SIX}.") from None

    def fitted(self, M: int, N: int, K: int) -> "OpenCLKernel":
        """The kernel that multiplies a product of that size: itself, or one with sizes for that shape, built once."""
        if not self.by_shape:
            return self
        if N == 1 and not self.own:
            return built("column", self.device)
        p = ladder.STEPS[self.step].by_shape(self.parameters, self.device, M, N, K)
        what, like = (self.source, self.step) if self.own else (self.step, None)
        k = built(what, self.device, like=like, **p)
        k.checked = self.checked
        return k

    def launcher(self, work: Work) -> Callable:
        """What asks for the kernel once, and returns its event."""
        self.compile()
        # A kernel object of its own keeps its arguments: to set them takes longer than a small product.
        function = cl.Kernel(self.program, self.function.function_name)
        function.set_args(*map(np.int32, work.sizes), work.A, work.B, work.C)
        M, N, _ = work.sizes
        return functools.partial(
            cl.enqueue_nd_range_kernel, work.on.queue, function, self.global_size(M, N), self.block
        )


built = functools.cache(opencl_kernel)


# Intel's and NVIDIA's compilers write "FILE:3:7: error: ...", PoCL's "error: FILE:3:7: ...".
ERROR = re.compile(r"^(?:error: )?\S*?(\d+):\d+: (?:(?:fatal )?error: )?(.*)", re.MULTILINE)


def compiler_says(log, source):
    """The compiler's own errors, each with the source line it means; the whole log if none is recognised."""
    found = [(place[1], place[2]) for place in ERROR.finditer(log) if "error: " in place[0]]
    said = dict.fromkeys(quoted(source, int(number), message) for number, message in found)
    return "\n".join(said) or log.rpartition("BUILD_PROGRAM_FAILURE")[2].strip()
