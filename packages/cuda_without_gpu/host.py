"""The host's side: Numba's own device arrays, streams and events, over this computer's memory.

Numba's classes stay as they are. What they ask of a driver is answered here: memory, copies, streams and events. Each
launch has ended when it returns, so nothing has to be waited for.
"""

import ctypes
import functools
from contextlib import nullcontext
from importlib import import_module
from types import SimpleNamespace

import numpy as np

from . import device
from .memory import address, array_of
from .replacing import replace
from .shared_memory import allocated


class Number(int):
    """A pointer or a handle: a number, of which ctypes' users ask the value."""

    value = property(int)


class Context:
    """The driver's context. Its memory is this computer's, and each launch has ended when it returns.

    driver   Numba's module of that name
    """

    def __init__(self, driver):
        self.driver, self.device = driver, device.Device(self)
        self.deallocations = driver._PendingDeallocs(0)  # which stay empty: memory is freed at once
        self.defer_cleanup = self.deallocations.disable

        class Stream(driver.Stream):  # users ask isinstance
            """A stream, in whose order everything is done anyway."""

            def __init__(self, handle=0):
                self.handle, self.external = Number(handle), bool(handle)

            def __repr__(self):
                return "<stream of the PTX machine>"

            def __int__(self):  # Numba's own is deprecated in Python
                return int(self.handle)

            def synchronize(self):
                pass

            def add_callback(self, callback, arg=None):
                callback(self, 0, arg)

        self.create_external_stream = Stream
        self.create_stream = self.get_default_stream = Stream
        self.get_legacy_default_stream = self.get_per_thread_default_stream = Stream

    def __getattr__(self, name):
        raise AttributeError(f"{name} of a context: {device.NO_DRIVER}.")

    def synchronize(self):
        """Do nothing: each launch has ended when it returns."""

    reset = push = pop = prepare_for_use = synchronize

    def of_device(self, number):
        """Itself. Raises ValueError for the number of another device."""
        if number not in (None, 0):
            raise ValueError(f"device {number}: there is one device, number 0, which is the PTX machine.")
        return self

    def create_event(self, timing=True):
        """A new event."""
        return device.Event()

    def memalloc(self, bytesize):
        """Memory of the device."""
        memory = allocated(bytesize)
        return self.driver.MemoryPointer(self, Number(address(memory)), bytesize, owner=memory)

    def memhostalloc(self, bytesize, mapped=False, portable=False, wc=False):
        """Memory of the host; `mapped`: which kernels reach, too."""
        memory = allocated(bytesize)
        if not mapped:
            return memory
        return self.driver.MappedOwnedPointer(self.mempin(memory, address(memory), bytesize, mapped=True))

    def memallocmanaged(self, bytesize, attach_global=True):
        """Memory that host and kernels reach."""
        memory = allocated(bytesize)
        pointer = self.driver.ManagedMemory(self, Number(address(memory)), bytesize, owner=memory)
        return self.driver.ManagedOwnedPointer(pointer)

    def mempin(self, owner, pointer, size, mapped=False):
        """Memory of the host that is there already; `mapped`: as kernels reach it."""
        if mapped:
            return self.driver.MappedMemory(self, Number(pointer), size, owner=owner, finalizer=lambda: None)

    def get_memory_info(self):
        """`free` and `total` bytes of this computer's memory."""
        import psutil

        memory = psutil.virtual_memory()
        return self.driver.MemoryInfo(free=memory.available, total=memory.total)

    def get_max_potential_block_size(self, *arguments, **options):
        """(blocks at least, threads a block) for `forall`."""
        return 1, device.DEFAULT_THREADS

    def get_active_blocks_per_multiprocessor(self, func, blockdim, memsize, flags=None):
        """Blocks that one multiprocessor of an A100 would hold, by their threads alone."""
        return max(1, 2048 // blockdim)

    def can_access_peer(self, peer_device):
        """False: there is one device."""
        return False


class Devices(list):
    """`cuda.gpus`: the one device."""

    current = property(lambda self: self[0])
    lst = property(list)


def at(pointer) -> int:
    """An address: of a number, of ctypes' pointers, and of NVIDIA's bindings'."""
    return int(getattr(pointer, "value", pointer) or 0)


def copy(target, source, size, stream=0):
    """Each of the driver's copies: all memory is this computer's."""
    ctypes.memmove(at(target), at(source), size)


def fill(target, byte, count, stream=0):
    """The driver's `memset`."""
    ctypes.memset(at(target), byte, count)


def mapped(*given):
    """The driver's pointer to memory of the host: the same. Where the driver is called by ctypes, it is left there."""
    *left, pointer, _ = given
    for reference in left:
        reference._obj.value = at(pointer)
    return pointer


def let_host_work(root: str, *copies: str) -> None:
    """Let the host's side of a CUDA package, "numba.cuda" or its successor's, work on this computer's memory.

    copies   packages that have taken their names from there
    """
    names = "driver", "devices", "devicearray", "runtime"
    driver, devices, devicearray, runtime = (import_module(f"{root}.cudadrv.{name}") for name in names)
    context = Context(driver)
    gpus = Devices([context.device])
    known = SimpleNamespace(
        gpus=gpus, ensure_context=nullcontext, get_or_create_context=context.of_device, reset=context.reset
    )
    calls = driver.driver
    calls.is_initialized, calls.initialization_error = True, device.NO_DRIVER
    answered = {f"cuMemcpy{way}": copy for way in ("HtoD", "DtoH", "DtoD")} | {"cuMemsetD8": fill}
    for name, call in answered.items():
        setattr(calls, name, call)
        setattr(calls, f"{name}Async", call)
    calls.cuMemHostGetDevicePointer = mapped
    calls.cuProfilerStart = calls.cuProfilerStop = lambda: None
    calls.get_device_count = lambda: 1
    replace(type(calls), get_device=lambda self, devnum=0: context.device)
    replace(devices, _runtime=known, gpus=gpus)
    replace(driver, get_devptr_for_active_ctx=Number)
    driver._to_core_stream = lambda stream: stream or context.create_stream()  # newer ones of numba-cuda have it
    calls.get_version = lambda: device.CUDA_VERSION
    replace(type(runtime.runtime), get_version=lambda self: device.CUDA_VERSION)
    type(runtime.runtime).is_supported_version = lambda self: True  # numba-cuda 0.19 asks for it, and has none
    replace(devicearray, _assign_kernel=lambda ndim: SimpleNamespace(forall=assigned))
    replace(import_module(f"{root}.kernels.transpose"), transpose=functools.partial(transposed, devicearray))
    mine = dict(
        is_available=lambda: True,
        cuda_error=lambda: None,
        detect=device.detect,
        event_elapsed_time=lambda start, end: start.elapsed_time(end),
        gpus=gpus,
        close=lambda: None,
    )
    for module in map(import_module, (root, f"{root}.api", *copies)):
        replace(module, **{name: value for name, value in mine.items() if hasattr(module, name)})


def assigned(elements, stream=0):
    """In the place of a kernel of Numba's, which assigns one device array to another."""
    return lambda left, right: np.copyto(array_of(left), array_of(right), casting="unsafe")


def transposed(devicearray, a, b=None):
    """In the place of a kernel of Numba's: a matrix of the device, with its axes swapped, in `b` or in a new one."""
    (rows, columns), size = a.shape, a.dtype.itemsize
    if b is None:
        b = devicearray.DeviceNDArray((columns, rows), (rows * size, size), a.dtype)
    array_of(b)[...] = array_of(devicearray.auto_device(a)[0]).T
    return b
