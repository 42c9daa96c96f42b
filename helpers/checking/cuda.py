"""A CUDA kernel as the judge takes it: watched on the PTX machine, multiplied natively, on a GPU or as SPIR-V."""

import copy
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from numba.core.errors import NumbaError

import ptx_machine
from cuda_without_gpu import NotNative, to_ptx
from cuda_without_gpu.native import NativeKernel, compile_native
from kernel_judge import Finding, Kind, Seen
from kernel_judge.on_ptx import OnPtx

from .. import devices, ladder
from ..child import in_child, source_line
from ..errors import KernelError, in_our_words
from ..launch import Kernel, numba_internals
from ..launch.cuda_source import EXAMPLE, numba_says
from ..launch.on_cuda import native_launcher
from .products import KernelProduct

SECONDS = 40  # of computing, for all that is multiplied


class CudaProduct(KernelProduct):
    """A CUDA kernel on its own device: a GPU, an OpenCL device that takes SPIR-V, or the PTX machine."""

    def watched(self, move):
        """What the move finds on the PTX machine, here, or in a child where this process has a GPU."""
        if not self.k.own and not self.k.untimed:
            return Seen([])
        if devices.compiling():
            return on_the_machine(self.k, move)
        return self.came_of(in_child(self.k, partial(on_the_machine, self.k, move)))

    def natively(self, move):
        """What the move finds: on a GPU here, natively in a child, or on the PTX machine where nothing else is."""
        if not devices.compiling() or not (self.k.own or self.k.untimed):
            return move(self)
        if self.k.runs_natively and not self.k.untimed:
            with suppress(NotNative, NumbaError):  # what Numba refuses is told below
                code = compile_native(self.k.function, *EXAMPLE, block=self.k.block)
                outcome = in_child(self.k, partial(in_opencl, self.k, code, move), SECONDS)
                if outcome.value != "not native":
                    return self.came_of(outcome, self.device_name)
            self.k.device = devices.PTX_MACHINE
        seen = on_the_machine(self.k, move, to_ptx.COUNTED)
        return seen._replace(notes=(Finding("", "on_the_PTX_machine"),))


class OnMachine(OnPtx, KernelProduct):
    """The same kernel on the PTX machine, in this process."""

    def __init__(self, k: Kernel, level: int = to_ptx.WATCHED):
        KernelProduct.__init__(self, k)
        self.function, self.grid, self.level = k.function, k.grid, level

    def of(self, k):
        """Another kernel here."""
        return OnMachine(k, self.level)

    def line(self, number):
        """A line of the running function as one of `source`."""
        return source_line(self.k, number)

    def refused(self, error):
        """What Numba's compiler refuses: what it means, what helps, and the line."""
        file = numba_internals.plain_function(self.function).__code__.co_filename
        said, line = numba_says(error, self.source, lambda name, number: self.line(number) if name == file else 0)
        key, values = said
        return Finding(Kind.NOT_COMPILED, key, (line,) if line else (), values)

    def affordable(self, shapes, seconds=1):
        """None where a GPU's block has no room: a processor's may have more than 1,024 threads."""
        fits = ladder.STEPS[self.k.step].fits(self.k.parameters, devices.PTX_MACHINE)
        return super().affordable(shapes, seconds) if fits else []


def on_the_machine(k: Kernel, move: Callable, level: int = to_ptx.WATCHED) -> Seen:
    """What the move finds on the PTX machine, here. Raises KernelError for what is no fault of the kernel."""
    try:
        with in_our_words():
            return OnMachine(k, level).watched(move)
    except (KernelError, ptx_machine.PTXError, ValueError) as error:
        raise KernelError(f"{k} cannot be tried here: {error}") from None


def in_opencl(k: Kernel, code: NativeKernel, move: Callable) -> Seen | str:
    """In the child: what the move finds natively; "not native" where the device does not take the kernel's code."""

    class Natively(CudaProduct):
        def unoptimised(self):
            return CudaProduct(built("-cl-opt-disable"))

    def built(*options):
        there = copy.copy(k)
        there.native, there.build_seconds = native_launcher(k, code, *options), 0.0
        return there

    try:
        return move(Natively(built()))
    except NotNative:
        return "not native"
