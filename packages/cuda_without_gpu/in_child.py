"""A native launch in a child process, on the same memory: a crash or a hang is an error of the launch."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np

from . import native_child
from .errors import KernelError, NotNative, OutOfTime
from .memory import address, bounds, owner_of, seen_as_bytes
from .native import NativeKernel
from .native_child import Request
from .shared_memory import SHARED, shared_bytes
from .to_spirv import environment

CHILDREN: dict[int, subprocess.Popen] = {}  # {this process's number: its child}: after a fork there is another one


def launch_in_child(native: NativeKernel, flat: list, grid: tuple, block: tuple, seconds: float) -> None:
    """Launch a kernel on arrays of the device, and wait for it.

    flat      as for `ptx_machine.run`: arrays, (array, bytes from its first element), numbers, 0 for a null pointer
    seconds   before the launch is ended

    Raises NotNative where the device does not take the kernel, OutOfTime for a launch that takes longer, KernelError
    where it ends its process.
    """
    copies, arguments = {}, []
    for value in flat:
        if isinstance(value, (np.ndarray, tuple)):
            low, high, place = whereabouts(value)
            if low not in SHARED and low not in copies:
                try:
                    copies[low] = seen_as_bytes(low, high), shared_bytes(max(high - low, 1))
                except (OSError, AttributeError) as error:
                    raise NotNative(f"no memory that another process opens: {error}") from None
                copies[low][1][: high - low] = copies[low][0]
            value = SHARED[address(copies[low][1]) if low in copies else low], place - low
        arguments.append(value)
    answer = asked(Request(native, arguments, grid, block, seconds))
    if answer:
        raise NotNative(answer)
    read_only = {bounds(owner_of(one))[0] for one in flat if isinstance(one, np.ndarray) and not one.flags.writeable}
    for low, (own, copy) in copies.items():
        if low not in read_only:
            own[:] = copy[: own.size]


def launch_here(native: NativeKernel, flat: list, grid: tuple, block: tuple) -> None:
    """Launch a kernel in this process, which a crash ends, and wait for it. Raises NotNative as `launch_in_child`."""
    seen = []
    for value in flat:
        if isinstance(value, (np.ndarray, tuple)):
            _, end, place = whereabouts(value)
            value = seen_as_bytes(place, end)
        seen.append(value)
    native_child.launch(native, seen, grid, block)


def whereabouts(value):
    """(first byte of the memory that an array, or (array, bytes from its start), lies in, its end, where it lies)."""
    array, start = value if isinstance(value, tuple) else (value, 0)
    low, high = bounds(owner_of(array))
    return low, high, max(low, min(address(array) + start, high - 1))  # one of no elements may begin past the end


def asked(request: Request) -> str:
    """What the child answers; it is started where there is none."""
    me, start = os.getpid(), time.monotonic()
    if me not in CHILDREN:
        pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        command = [sys.executable, "-m", native_child.__name__]
        CHILDREN[me] = subprocess.Popen(command, env=environment(), start_new_session=True, **pipes)
    child = CHILDREN[me]
    try:
        pickle.dump(request, child.stdin)
        child.stdin.flush()
        return pickle.load(child.stdout)
    except BaseException as error:
        del CHILDREN[me]
        died = isinstance(error, (EOFError, OSError, pickle.UnpicklingError))
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(1 if died else 0)  # to know how
        child.kill()
        child.communicate()
        if not died:
            raise
    code = child.returncode
    if code == 1 and time.monotonic() - start >= request.seconds:
        raise OutOfTime(f"it still ran natively after {request.seconds:g} s: an endless loop, most likely")
    if code == 1:
        raise NotNative("Python fails in the process that would launch it")
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    raise KernelError(
        f"the kernel ended its process ({how}): it touched memory that is not its own, most likely. "
        f'cuda_without_gpu.enable(watch="all") finds the line.'
    )
