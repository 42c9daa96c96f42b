"""How a kernel or a function of a learner's is tried in a child process: what is sent there, and how it is built."""

import io
import linecache
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from types import FunctionType, ModuleType

import cloudpickle

from kernel_judge import child
from kernel_judge.child import Outcome

from . import devices, drivers
from .launch import Contestant, HostKernel, Kernel, dialect
from .launch.cuda_source import came_as_text
from .launch.numba_internals import is_jitted, plain_function, told_to_jit
from .launch.operands import leave_guards_out

SECONDS = 60  # of computing
WATCHED = "OCLGRIND_LOG"  # an environment variable that a child under Oclgrind has
child.preload("helpers.launch.opencl", "helpers.launch.cuda", "helpers.launch.natively", __name__)


def in_child(
    k: Contestant, call: Callable, seconds: float = SECONDS, fresh: bool = False, **environment: str
) -> Outcome:
    """Call a function without arguments, which may hold kernels, in a child process. Returns its `Outcome`.

    `k`: the kernel that it is about. `seconds`: of computing. `fresh`: whether no server has loaded Numba for the child.
    `environment`: variables that the child has, too.
    """
    proved = {devices.PROVED_ABOVE: k.device.name} if k.device else {}  # to compile a kernel takes a third of a second
    return child.in_child(packed(call), seconds, child_environment() | proved | environment, fresh)


def child_environment() -> dict[str, str]:
    """This process's environment variables but the user's for Oclgrind, and what its children need beside them."""
    return drivers.without_oclgrinds() | {
        "PYOPENCL_NO_CACHE": "1",  # a child that is ended while it holds the cache's lock would leave it locked
        "OPENBLAS_NUM_THREADS": "1",  # small products; its threads would only spin
        devices.CUDA_OF_CHILD: "PTX machine",
    }


def packed(what: object) -> bytes:
    """An object as bytes, kernels and functions of a notebook among it. Raises TypeError for what cannot travel."""
    buffer = io.BytesIO()
    try:
        Pickler(buffer).dump(what)
    except Exception as error:  # pickling fails in many ways; each means the same
        raise TypeError(
            f"the kernel uses something that cannot be sent to the process that tries it: {error}"
        ) from None
    return buffer.getvalue()


class Pickler(cloudpickle.CloudPickler):
    """Packs a kernel as what it is built from, and a `@cuda.jit` function as what the decorator was told and took.

    What the course itself offers to kernels, such as `load4`, goes by its name, and OpenCL's objects are made anew.
    """

    found_opencl = False

    def reducer_override(self, obj):
        """How one object is packed; what is none of these as cloudpickle does it."""
        if isinstance(obj, Kernel):
            device = obj.device.name if obj.dialect == "OpenCL" else None
            attributes = {name: getattr(obj, name) for name in ("own", "checked", "source")}
            return rebuilt, (obj.dialect, made_from(obj), device, obj.step, obj.parameters, attributes)
        module = obj.__name__ if isinstance(obj, ModuleType) else type(obj).__module__
        if module.startswith("pyopencl"):
            self.found_opencl = True
            if anew := opencl_anew(obj):
                return anew
        if not isinstance(obj, FunctionType | type):  # those go by name anyway
            module, name = getattr(obj, "__module__", None), getattr(obj, "__qualname__", None)
            ours = isinstance(module, str) and module.startswith("helpers.") and isinstance(name, str)
            if ours and getattr(sys.modules.get(module), name, None) is obj:
                return name
        if is_jitted(obj):
            function = plain_function(obj) or obj.fn
            file = function.__code__.co_filename
            return jit_again, (function, *told_to_jit(obj), file, linecache.getlines(file))
        return super().reducer_override(obj)


def made_from(k: Kernel) -> str | Callable:
    """What a kernel is built from: source text, or a learner's `@cuda.jit` function."""
    return k.function if k.dialect == "CUDA" and k.own and not came_as_text(k.function) else k.source


def rebuilt(name: str, kernel: str | Callable, device: str | None, like: str, parameters: dict, attributes: dict):
    """A kernel of the dialect of that name, in a child: under Oclgrind for its device. Raises KernelError."""
    if WATCHED in os.environ:
        leave_guards_out()  # what watches the kernel watches the ends of the buffers, too
    k = dialect(name).build(kernel, None if WATCHED in os.environ else device, like=like, **parameters)
    vars(k).update(attributes)
    if name == "OpenCL":
        k.compile()
    return k


def jit_again(function, options, signatures, file, lines):
    """The function under `@cuda.jit`, for the target of the process that unpacks it, with the lines of its file."""
    from numba import cuda

    linecache.cache[file] = len(lines), None, lines, file  # before: Numba keeps lines where there are some
    return cuda.jit(signatures, **options)(function) if signatures else cuda.jit(function, **options)


def opencl_anew(obj: object) -> tuple | None:
    """A function and its arguments that make the like of a PyOpenCL object in another process; None for other ones."""
    import pyopencl as cl  # which a process without OpenCL need not load

    if isinstance(obj, cl.Device):
        return device_called, (obj.name,)
    if isinstance(obj, cl.Context):
        return context_of, (obj.int_ptr, *obj.devices)
    if isinstance(obj, cl.CommandQueue):
        return cl.CommandQueue, (obj.context, obj.device, obj.properties)
    if isinstance(obj, cl.Kernel):
        return kernel_called, (obj.context, obj._source, obj.function_name)
    return None


def device_called(name):
    """The OpenCL device of that name."""
    return devices.opencl_device(name.strip()).handle


@cache
def context_of(number, *devices):
    """A context for those devices; for the same number the same, since a queue must not leave its context."""
    import pyopencl as cl

    return cl.Context(list(devices))


def kernel_called(context, source, name):
    """The kernel of that name in that source."""
    import pyopencl as cl

    return cl.Kernel(cl.Program(context, source).build(), name)


def calls_opencl(k: HostKernel) -> bool:
    """Whether a function of the host uses PyOpenCL, and so may end Python, and can travel to a child."""
    pickler = Pickler(io.BytesIO())
    with suppress(Exception):  # what cannot travel is called here
        pickler.dump(k.function)
        return pickler.found_opencl
    return False


def source_line(k: Kernel, number: int) -> int:
    """A line of the running function as a line of k.source, which may begin at the function itself."""
    if k.dialect != "CUDA" or came_as_text(k.function) or not k.own:
        return number
    return number - plain_function(k.function).__code__.co_firstlineno + 1
