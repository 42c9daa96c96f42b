"""CUDA kernels with no NVIDIA GPU, at native speed: as SPIR-V, on an OpenCL device."""

import functools
from collections.abc import Callable

import numpy as np
import pyopencl as cl

from cuda_without_gpu import NotNative
from cuda_without_gpu.native import compile_native, flat_array

from .contestant import Work
from .kernel import Kernel
from .on_ptx import EXAMPLE
from .opencl import context_of


def built(k: Kernel) -> tuple:
    """A CUDA kernel as SPIR-V, and its program on the device; () where it uses what is on the PTX machine only."""
    try:
        native = compile_native(k.function, *EXAMPLE, block=k.block)
        return native, native.program(context_of(k.device))
    except NotNative:
        return ()


def launcher(k: Kernel, work: Work) -> Callable:
    """What asks for the kernel once, and returns its event."""
    native, program = k.native
    function = cl.Kernel(program, "kernel")  # of its own: it keeps its arguments
    arguments = []
    for memory, shape in zip((work.A, work.B, work.C), work.shapes(), strict=True):
        arguments += flat_array(memory, shape, np.dtype(np.float32))
    native.set_args(function, arguments)
    M, N, _ = work.sizes
    return functools.partial(cl.enqueue_nd_range_kernel, work.on.queue, function, k.global_size(M, N), k.block)
