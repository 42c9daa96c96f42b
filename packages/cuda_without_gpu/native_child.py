"""The program of the child that launches kernels natively: what may crash or hang does it here.

It reads pickled `Request`s, and answers each with "" or with why the device does not take it.
"""

import faulthandler
import functools
import os
import pickle
import sys
from typing import NamedTuple

import numpy as np

from .errors import NotNative
from .native import NativeKernel
from .opencl_drivers import show_drivers
from .shared_memory import Shared


class Request(NamedTuple):
    """One launch.

    flat      its flat arguments: a number, 0 for a pointer to nothing, or (memory, bytes from its start)
    grid      blocks along x, y, z    block   threads of each
    seconds   before this process is ended
    """

    native: NativeKernel
    flat: list[object]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    seconds: float


@functools.cache
def context_and_queue():
    """Those of the first OpenCL device that takes SPIR-V and reaches all memory of a process."""
    show_drivers()
    try:
        import pyopencl as cl

        platforms = cl.get_platforms()
    except Exception as error:  # no pyopencl, no driver, or whatever a driver says
        raise NotNative(f"no OpenCL: {error}") from None
    for device in (device for platform in platforms for device in platform.get_devices()):
        reached = getattr(device, "svm_capabilities", 0) & cl.device_svm_capabilities.FINE_GRAIN_SYSTEM
        if reached and getattr(device, "il_version", ""):
            context = cl.Context([device])
            return context, cl.CommandQueue(context)
    raise NotNative("no OpenCL device here takes SPIR-V and reaches all memory of a process")


@functools.lru_cache(maxsize=256)
def built(native):
    """A kernel on the device."""
    return native.build(context_and_queue()[0]).all_kernels()[0]


def launch(native: NativeKernel, flat: list, grid: tuple[int, int, int], block: tuple[int, int, int]) -> None:
    """Launch a kernel and wait for it. `flat`: as in `Request`, with bytes of this process's memory for a pointer."""
    import pyopencl as cl

    kernel, (_, queue) = built(native), context_and_queue()
    native.set_args(kernel, [cl.SVM(one) if isinstance(one, np.ndarray) else one for one in flat])
    threads = [blocks * width for blocks, width in zip(grid, block, strict=True)]
    try:
        cl.enqueue_nd_range_kernel(queue, kernel, threads, block)
        queue.finish()
    except cl.Error as error:
        raise NotNative(f"the device does not launch it: {error}") from None


def launch_on(opened: dict[Shared, np.ndarray], request: Request) -> None:
    """Launch a kernel on memory of another process. `opened`: what is open; only what this launch uses stays there."""
    used = {one[0] for one in request.flat if isinstance(one, tuple)}
    for memory in opened.keys() - used:
        del opened[memory]
    opened |= {memory: np.frombuffer(memory.opened(), np.uint8) for memory in used - opened.keys()}
    flat = [opened[one[0]][one[1] :] if isinstance(one, tuple) else one for one in request.flat]
    launch(request.native, flat, request.grid, request.block)


def main() -> None:
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a driver prints is no answer
    opened = {}
    while True:
        try:
            request = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        faulthandler.dump_traceback_later(request.seconds, exit=True)  # whatever the driver is about then
        try:
            launch_on(opened, request)
            answer = ""
        except NotNative as error:
            answer = str(error)
        faulthandler.cancel_dump_traceback_later()
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    main()
