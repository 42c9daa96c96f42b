"""What is sent to a child process, as bytes: functions of a notebook, with the CUDA kernels and OpenCL objects in them.

A `@cuda.jit` function goes as the plain function and what the decorator was told, since what it was compiled to cannot
be sent. An object of PyOpenCL's is made there anew.
"""

import functools
import io
import linecache
from types import ModuleType

import cloudpickle

OPTIONS = "device", "debug", "opt", "fastmath", "max_registers", "launch_bounds"  # of `@cuda.jit`


class Pickler(cloudpickle.CloudPickler):
    """Packs those, and what cloudpickle packs. `found_opencl`: whether one of PyOpenCL's objects was among it."""

    found_opencl = False

    def reducer_override(self, obj):
        """How one object is packed; what is none of these as cloudpickle does it."""
        module = obj.__name__ if isinstance(obj, ModuleType) else type(obj).__module__
        if module.startswith("pyopencl"):
            self.found_opencl = True
            return opencl_anew(obj) or super().reducer_override(obj)
        if hasattr(obj, "targetoptions") and hasattr(obj, "py_func"):
            function, told = getattr(obj, "py_func", None) or obj.fn, obj.targetoptions
            options = {name: told[name] for name in OPTIONS if told.get(name) is not None}
            signatures = [] if getattr(obj, "_can_compile", True) else list(obj.overloads)
            file = function.__code__.co_filename
            return jit_again, (function, options, signatures, file, linecache.getlines(file))
        return super().reducer_override(obj)


def packed(what: object, pickler: type[Pickler] = Pickler) -> bytes:
    """An object as bytes. Raises TypeError for what cannot be sent."""
    buffer = io.BytesIO()
    try:
        pickler(buffer).dump(what)
    except Exception as error:  # pickling fails in many ways; each means the same
        raise TypeError(
            f"the kernel uses something that cannot be sent to the process that tries it: {error}"
        ) from None
    return buffer.getvalue()


def jit_again(function, options, signatures, file, lines):
    """The function under `@cuda.jit`, for the target of the process that unpacks it, with the lines of its file."""
    from numba import cuda

    linecache.cache[file] = len(lines), None, lines, file  # before: Numba keeps lines where there are some
    return cuda.jit(signatures, **options)(function) if signatures else cuda.jit(function, **options)


def opencl_anew(obj: object) -> tuple | None:
    """A function and its arguments that make the like of a PyOpenCL object in another process; None for other ones."""
    import pyopencl as cl  # which a process without OpenCL need not load

    if isinstance(obj, cl.Device):
        return made_again, ("device", obj.platform.name, obj.name)
    if isinstance(obj, cl.Context):  # for the same number the same, since a queue must not leave its context
        return made_again, ("context", obj.int_ptr, *obj.devices)
    if isinstance(obj, cl.CommandQueue):
        return made_again, ("queue", obj.context, obj.device, obj.properties)
    if isinstance(obj, cl.Kernel):
        return made_again, ("kernel", obj.context, obj._source, obj.function_name)
    return None


@functools.cache
def made_again(what: str, *of: object):
    """That object of PyOpenCL's, once for the same arguments."""
    import pyopencl as cl

    if what == "context":
        return cl.Context([*of[1:]])
    if what == "queue":
        return cl.CommandQueue(*of)
    if what == "kernel":
        context, source, name = of
        return cl.Kernel(cl.Program(context, source).build(), name)
    devices = [(each.name, one.name, one) for each in cl.get_platforms() for one in each.get_devices()]
    return next(device for *names, device in devices if names == [*of])
