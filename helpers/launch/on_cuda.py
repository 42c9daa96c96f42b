"""CUDA kernels: on a GPU; where there is none on an OpenCL device, natively, or on the PTX machine."""

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from cuda_without_gpu import NotNative

from .. import devices, ladder, needs
from ..arguments import told
from ..errors import KernelError, in_our_words
from .cuda_source import EXAMPLE, from_function, from_text
from .dialects import DIALECTS
from .kernel import LOST, Backend, Kernel, Work

with needs.loading("numba", "numba-cuda"):
    from numba import cuda, float32

    from cuda_without_gpu.native import NativeKernel, compile_native, flat_array

CUDA = DIALECTS["CUDA"]
SIGNATURE = (float32[:, ::1],) * 3  # A, B, C: float32, C-contiguous
MOST_BLOCKS_DOWN = 65535  # along y: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"
LARGEST = 2**28  # M * N * K that the PTX machine takes some twenty seconds for


def cuda_kernel(
    step: str | Callable, device: str | None = None, *, like: str | None = None, **given: int | str
) -> "CudaKernel":
    """Build the CUDA kernel of that step: k(A, B) -> C.

    `step`: a name in `ladder.steps("CUDA")`; or a kernel of your own, as a `@cuda.jit` function or as source text, and
    `like`, the step whose block, grid and parameters it is launched with. `device`: None; there is one, the current GPU
    or what stands in for it. `given`: parameters, such as TILE=16; the others are this device's defaults.
    Raises ValueError for a step or parameter that cannot run here, KernelError for a source that is no kernel.
    """
    asked = CUDA.resolve(step, like, device, given)
    if callable(step):
        function, source = from_function(step)
    else:
        source = step if asked["own"] else CUDA.source_of(asked["step"])
        function = from_text(source, **asked["parameters"])
    builds = not re.search(r"^@\w*\.?(cuda|jit)\b(?!.*device=True)", source, re.MULTILINE)
    if asked["own"] and not given and not builds:  # so it has a GPU's sizes
        asked["parameters"] = ladder.parameters(ladder.STEPS[asked["step"]], devices.PTX_MACHINE, given)
    return CudaKernel(function, source=source, **asked)


def device_for(step, name):
    """The one CUDA device. Raises ValueError for a name, and for a GPU that has not what the step uses."""
    if name is not None:
        raise ValueError(f"device={told(name)}: CUDA kernels run on the current GPU, or what stands in; leave it out.")
    device, least = devices.cuda_device(), step.capability if step else ()
    if least and not hasattr(device.handle, "compute_capability"):
        return devices.PTX_MACHINE
    if least and tuple(device.handle.compute_capability) < least:
        raise ValueError(f"{step.name} needs a GPU of compute capability {least} or more; {device.name} has less.")
    return device


def refuse_long(M: int, N: int, K: int) -> None:
    """Raise ValueError for sizes that the PTX machine would take minutes for."""
    if M * N * K > LARGEST:
        what = f"{M} x {K} times {K} x {N} would take the PTX machine minutes"
        raise ValueError(f"{what}; stay at M * N * K <= {LARGEST}, such as 128 x 128 x 64.")


class CudaBackend(Backend):
    """The GPU that Numba computes on, in its default stream, as libraries do. A buffer is a device array."""

    def empty(self, size):
        """A device array of so many float32."""
        return cuda.device_array(size, np.float32)

    def write(self, buffer, X, start=0):
        """Copy X there, and wait."""
        buffer[start : start + X.size].copy_to_device(X.ravel())

    def read(self, buffer, start=0, end=None):
        """What lies there, as a new array."""
        return buffer[start:end].copy_to_host()

    def timed(self, multiply, launches):
        """Multiply so many times between two events of the GPU. Returns seconds a launch. Raises KernelError.

        A launch that is shorter than Python takes to ask for it, some ten microseconds, seems to last as long as that.
        """
        try:
            with in_our_words():
                start, stop = cuda.event(timing=True), cuda.event(timing=True)
                start.record()
                for _ in range(launches):
                    multiply()
                stop.record()
                stop.synchronize()
                return cuda.event_elapsed_time(start, stop) / 1e3 / launches
        except Exception as error:
            if "CUDA_ERROR" in str(error):
                raise KernelError(LOST, error=error) from None
            raise


class CudaKernel(Kernel):
    """A `@cuda.jit` function with the step's block and grid. With no GPU, `cuda_without_gpu` stands for one."""

    dialect = "CUDA"
    native: Callable | None = None  # with no GPU: its launcher on an OpenCL device

    def __init__(self, function: Any, **asked: object):
        super().__init__(**asked)
        self.function = function
        # Of a learner's, a check says what is wrong with it, better than the GPU's compiler.
        if not (self.own or self.untimed or self.runs_natively):
            self.compile()

    @property
    def runs_natively(self) -> bool:
        """Whether an OpenCL device runs it; of a kernel that is not compiled yet, whether one may."""
        return hasattr(self.device.handle, "il_version")

    @property
    def backend(self) -> type[Backend]:
        """That of its device, which is known once it is compiled."""
        self.compile()
        if not self.native:
            return CudaBackend
        from .on_opencl import OpenCLBackend  # pyopencl may be broken where nothing runs natively

        return OpenCLBackend

    def build(self) -> None:
        """Compile it now; what is not there natively is for the PTX machine. Raises KernelError for what is wrong."""
        try:
            if self.runs_natively:
                try:
                    self.native = native_launcher(self, compile_native(self.function, *EXAMPLE, block=self.block))
                except NotNative:  # it uses what only the PTX machine has
                    self.device = devices.PTX_MACHINE
            if not self.native:
                self.function.compile(SIGNATURE)
        except Exception as error:  # Numba raises many kinds; the learner needs its words
            raise KernelError(f"{self} does not compile:\n{str(error).strip()}") from None

    def refuse_size(self, M: int, N: int, K: int) -> None:
        """Raise what speaks against that size, such as minutes on the PTX machine."""
        if self.untimed:
            refuse_long(M, N, K)
        elif self.grid(M, N)[1] > MOST_BLOCKS_DOWN:
            raise ValueError(f"{self} needs more than {MOST_BLOCKS_DOWN} blocks along y. Take larger tiles.")
        super().refuse_size(M, N, K)

    def launcher(self, work: Work) -> Callable:
        """What asks for the kernel once. Without a GPU it raises KernelError for what a GPU would not do."""
        if self.native:
            return self.native(work)
        M, N, _ = work.sizes
        return functools.partial(self.function[self.grid(M, N), self.block], *work.matrices())


def native_launcher(k: CudaKernel, native: NativeKernel, *options: str) -> Callable:
    """Build a CUDA kernel's SPIR-V: Work -> what asks for it once. Raises NotNative where the device does not take it.

    `options`: for the device's compiler, whose code is not kept then.
    """
    import pyopencl as cl  # it may be broken where nothing runs natively

    from .on_opencl import context_of

    context = context_of(k.device)
    program = cl.Program(context, native.spirv).build([*options]) if options else native.build(context)

    def launcher(work: Work) -> Callable:
        function = cl.Kernel(program, "kernel")  # of its own: it keeps its arguments
        M, N, _ = work.sizes
        arrays = zip((work.A, work.B, work.C), work.shapes, strict=True)
        native.set_args(function, [one for array in arrays for one in flat_array(*array, np.dtype(np.float32))])
        return functools.partial(cl.enqueue_nd_range_kernel, work.on.queue, function, k.global_size(M, N), k.block)

    return launcher
