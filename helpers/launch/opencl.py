"""The OpenCL ladder, one file a step; on any GPU or CPU driver that proves itself."""

import functools
import re
import time
from pathlib import Path

import numpy as np
import pyopencl as cl

from .. import devices, ladder, tuned
from .. import kernel as base
from ..kernel import Kernel, KernelError, read_back

STEPS = ladder.steps("OpenCL")


def kernel(step, device=None, *, like=None, parameters=None, **given):
    """Build the OpenCL kernel of that step: k(A, B) -> C.

    `step` is a name in STEPS; or OpenCL source of your own with one `__kernel`, which takes
    (M, N, K, A, B, C), and `like` naming the step whose work-group, global size and parameters it is
    launched with. The parameters reach the source as macros, such as TILE. `parameters="tuned"` takes those that `tune`
    found on this device, and the defaults where it found none; `given` are single ones, such as TILE=16.
    `device` is part of a platform or device name; None takes the first that the step is for.
    Raises ValueError for a step, parameter or tile that cannot run here, KernelError for a source that
    does not compile.
    """
    if not isinstance(step, str):
        raise ValueError(f"{step!r} is no kernel: pass a step's name or OpenCL source text.")
    own = "__kernel" in step or "\n" in step
    if own and like is None:
        raise ValueError("a kernel of your own needs like=...: the step whose work-group it is launched with.")
    rung = ladder.step(like if own else step, "OpenCL")
    device = devices.opencl_device(device, tuple(rung.defaults)) if device is None else devices.opencl_device(device)
    p = ladder.parameters(rung, device, tuned.chosen(parameters, rung, device, source_of(rung.name), given))
    source = step if own else source_of(rung.name)
    return OpenCLKernel(rung.name, p, source, device, own)


def source_of(name):
    """The text of that step's file."""
    return (Path(__file__).parent / f"{name}.cl").read_text()


@functools.cache
def context_and_queue(device):
    context = cl.Context([device.handle])
    return context, cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)


class OpenCLKernel(Kernel):
    dialect = "OpenCL"

    def __init__(self, step, parameters, source, device, own):
        super().__init__(step, parameters, source, device, own)
        self.context, self.queue = context_and_queue(device)
        start = time.perf_counter()
        try:
            options = [f"-D{key}={value}" for key, value in parameters.items()]
            kernels = cl.Program(self.context, source).build(options).all_kernels()
        except cl.RuntimeError as error:
            raise KernelError(f"{self} does not compile.\n{compiler_says(str(error), source)}") from None
        if len(kernels) != 1:
            raise KernelError(f"the source must hold exactly one __kernel, not {len(kernels)}.")
        self.function = kernels[0]
        self.build_seconds = time.perf_counter() - start
        if self.function.num_args != 6:
            raise KernelError(
                f"{self.function.function_name} takes {self.function.num_args} arguments; it must take six: "
                f"int M, int N, int K, and global float pointers A, B, C."
            )

    def refuse(self, M, N, K):
        super().refuse(M, N, K)
        largest = max(M * K, K * N, M * N) + base.GUARD
        limit = min(2**31 - 1, self.device.handle.max_mem_alloc_size // 4)
        if largest > limit:
            raise MemoryError(
                f"one matrix of {largest - base.GUARD} elements is more than {self.device.name} holds in one buffer "
                f"that a 32-bit index can address ({limit} elements). Multiply a block of rows at a time."
            )

    def upload(self, A, B, fill=np.nan):
        return OpenCLWork(self, A, B, fill)


class OpenCLWork:
    """A, B and C on the device, ready to launch again and again."""

    def __init__(self, k, A, B, fill):
        self.k, self.shape = k, (A.shape[0], B.shape[1])
        try:
            self.d_A, self.d_B = self.guarded(A), self.guarded(B)
            self.d_C = self.guarded(np.full(self.shape, fill, np.float32), behind=base.CANARY)
        except cl.MemoryError:
            raise MemoryError(f"{k.device.name} has too little memory free for A, B and C. Close what else uses it, or "
                              f"multiply a block of rows of A at a time.") from None
        sizes = (np.int32(n) for n in (*self.shape, A.shape[1]))
        self.arguments = (*sizes, self.d_A, self.d_B, self.d_C)
        groups = k.grid(*self.shape)
        self.global_size = tuple(n * threads for n, threads in zip(groups, k.block))

    def launch(self):
        """Run the kernel once. Returns seconds: a GPU's own clock; on a CPU the wall's, as NumPy is timed."""
        self.k.function.set_args(*self.arguments)
        start = time.perf_counter()
        event = cl.enqueue_nd_range_kernel(self.k.queue, self.k.function, self.global_size, self.k.block)
        event.wait()
        if self.k.device.kind == "GPU":
            return (event.profile.end - event.profile.start) * 1e-9
        return time.perf_counter() - start

    def download(self):
        """C as a NumPy array. Raises KernelError if the kernel wrote past its end."""
        C, guard = np.empty(self.shape, np.float32), np.empty(base.GUARD, np.float32)
        cl.enqueue_copy(self.k.queue, C, self.d_C)
        if guard.size:
            cl.enqueue_copy(self.k.queue, guard, self.d_C, src_offset=C.nbytes)
        return read_back(C, guard)

    def guarded(self, X, behind=np.nan):
        """X on the device, with a guard behind it, full of `behind`."""
        buffer = cl.Buffer(self.k.context, cl.mem_flags.READ_WRITE, size=X.nbytes + 4 * base.GUARD)
        cl.enqueue_copy(self.k.queue, buffer, X)
        if base.GUARD:
            cl.enqueue_fill_buffer(self.k.queue, buffer, np.float32(behind), X.nbytes, 4 * base.GUARD)
        return buffer


def compiler_says(log, source):
    """The compiler's own errors, each with the source line it means; the whole log if none is recognised."""
    lines, said = source.splitlines(), []
    # Intel's and NVIDIA's compilers write "3:7: error: ...", PoCL's "error: FILE:3:7: ...".
    found = re.findall(r"(\d+):\d+: (?:fatal )?error: (.*)", log) or re.findall(r"error: \S*:(\d+):\d+: (.*)", log)
    for number, message in found:
        line = lines[int(number) - 1].strip() if 0 < int(number) <= len(lines) else ""
        entry = f"line {number}: {message.strip()}\n    {line}"
        if entry not in said:
            said.append(entry)
    return "\n".join(said) or log.strip()
