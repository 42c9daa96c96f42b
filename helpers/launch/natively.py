"""CUDA kernels with no NVIDIA GPU, at native speed: as SPIR-V, on an OpenCL device."""

import functools
from collections.abc import Callable

import numpy as np
import pyopencl as cl

from cuda_without_gpu.native import NativeKernel, compile_native, flat_array

from .contestant import Work
from .kernel import Kernel
from .on_ptx import EXAMPLE
from .opencl import context_of


def native_code(k: Kernel) -> NativeKernel:
    """The SPIR-V of a CUDA kernel. Raises NotNative where it uses what only the PTX machine has."""
    return compile_native(k.function, *EXAMPLE, block=k.block)


def native_launcher(k: Kernel, native: NativeKernel, *options: str) -> Callable:
    """Build it for its device: Work -> what asks for it once. Raises NotNative where the device does not take it.

    `options`: for the device's compiler, whose code is not kept then.
    """
    context = context_of(k.device)
    program = cl.Program(context, native.spirv).build([*options]) if options else native.build(context)

    def launcher(work: Work) -> Callable:
        function = cl.Kernel(program, "kernel")  # of its own: it keeps its arguments
        M, N, K = work.sizes
        arrays = (work.A, (M, K)), (work.B, (K, N)), (work.C, (M, N))
        native.set_args(function, [one for array in arrays for one in flat_array(*array, np.dtype(np.float32))])
        return functools.partial(cl.enqueue_nd_range_kernel, work.on.queue, function, k.global_size(M, N), k.block)

    return launcher
