"""How OpenCL's objects travel to a child, with a function of a learner's that uses them: each is made there anew."""

import functools

import numpy as np
import pyopencl as cl


def made_anew(obj: object) -> tuple | None:
    """A function and its arguments that make the like of a PyOpenCL object in another process; None for other ones."""
    if isinstance(obj, cl.Device):
        return device, (obj.platform.name, obj.name)
    if isinstance(obj, cl.Context):
        return context, (obj.int_ptr, *obj.devices)
    if isinstance(obj, cl.CommandQueue):
        return cl.CommandQueue, (obj.context, obj.device, obj.properties)
    if isinstance(obj, cl.Program):
        options = obj.get_build_info(obj.devices[0], cl.program_build_info.OPTIONS)
        return program, (obj.int_ptr, obj.context, obj.source, options)
    if isinstance(obj, cl.Kernel):
        try:
            return cl.Kernel, (obj.program, obj.function_name)
        except cl.Error:  # Intel's runtime forgets a program that nobody holds
            return kernel, (obj.context, obj._source, obj.function_name)
    if isinstance(obj, cl.Buffer):
        held = np.empty(obj.size, np.uint8)
        cl.enqueue_copy(cl.CommandQueue(obj.context), held, obj)
        return buffer, (obj.context, obj.flags, held)
    return None


def device(platform, name):
    """The device of that name."""
    found = [one for each in cl.get_platforms() if each.name == platform for one in each.get_devices()]
    return next(one for one in found if one.name == name)


@functools.cache
def context(number, *devices):
    """A context for those devices; for the same number the same, since a queue must not leave its context."""
    return cl.Context(list(devices))


@functools.cache
def program(number, context, source, options):
    """A built program, once for the same number."""
    return cl.Program(context, source).build(options)


def kernel(context, source, name):
    """The kernel of that name in that source."""
    return cl.Kernel(cl.Program(context, source).build(), name)


def buffer(context, flags, held):
    """A buffer that holds those bytes."""
    kept = flags & (cl.mem_flags.READ_ONLY | cl.mem_flags.WRITE_ONLY | cl.mem_flags.READ_WRITE)
    return cl.Buffer(context, kept | cl.mem_flags.COPY_HOST_PTR, hostbuf=held)
