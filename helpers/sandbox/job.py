"""What a child process is asked to do with a kernel, and how that gets there."""

import io
import linecache
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType

import cloudpickle

from ..launch import Contestant, HostKernel, Kernel, dialect
from ..launch.cuda_source import came_as_text
from ..launch.numba_internals import is_jitted, jit_options, plain_function
from .inside import limit_computing

SECONDS, BUILDING = 20, "while its compiler was at work"  # of computing


@dataclass(frozen=True)
class Job:
    """A task for a child process: it calls task(job, **arguments) and brings back what that returns.

    task        a function of a module, which the child imports
    kernel      source text, a `@cuda.jit` function, or a function of the host
    like        the step that the kernel is, or is launched like
    device      part of an OpenCL device's name; None where Oclgrind or the PTX machine runs the kernel
    text        (name, lines) of the file of a Python function, which may be a notebook's cell
    folder      where the child leaves what it has to say; set there
    """

    task: Callable
    dialect: str
    kernel: str | Callable
    like: str
    parameters: dict
    device: str | None
    arguments: dict
    text: tuple | None = None
    folder: Path | None = None

    def build(self) -> Kernel:
        """The kernel, built in this process. Raises KernelError where it does not compile."""
        if self.text:
            name, lines = self.text
            linecache.cache[name] = len(lines), None, lines, name
        if self.dialect == "Python":
            return HostKernel(self.kernel)
        k = built(self.dialect, self.kernel, self.device, self.like, self.parameters)
        if k.dialect == "OpenCL":
            limit_computing(SECONDS, self.folder, BUILDING)
            k.compile()
            limit_computing(0, self.folder, "")
        return k


def portable(k: Contestant) -> str | Callable:
    """What the child builds the kernel from: source text, a learner's `@cuda.jit` function, or one of the host."""
    if isinstance(k, HostKernel):
        return k.function
    return k.function if k.dialect == "CUDA" and k.own and not came_as_text(k.function) else k.source


def text_of(k: Contestant) -> tuple | None:
    """(name, lines) of the file of the Python function that a kernel is; None where it travels as text."""
    kernel = portable(k)
    code = getattr(plain_function(kernel) or kernel, "__code__", None)
    return code and (code.co_filename, linecache.getlines(code.co_filename))


class Pickler(cloudpickle.CloudPickler):
    """Packs `@cuda.jit` functions as plain functions and what the decorator was told: compiled, they cannot be packed.

    What the course itself offers to kernels, such as `load4`, goes by its name, and OpenCL's objects are made anew.
    """

    found_opencl = False

    def reducer_override(self, obj):
        """How one object is packed; what is none of these as cloudpickle does it."""
        if isinstance(obj, Kernel):
            device = obj.device.name if obj.dialect == "OpenCL" else None
            return built, (obj.dialect, portable(obj), device, obj.step, obj.parameters, obj.checked)
        module = obj.__name__ if isinstance(obj, ModuleType) else type(obj).__module__
        if module.startswith("pyopencl"):
            from .opencl_objects import made_anew  # which needs it

            self.found_opencl = True
            if anew := made_anew(obj):
                return anew
        if not isinstance(obj, FunctionType | type):  # those go by name anyway
            module, name = getattr(obj, "__module__", None), getattr(obj, "__qualname__", None)
            ours = isinstance(module, str) and module.startswith("helpers.") and isinstance(name, str)
            if ours and getattr(sys.modules.get(module), name, None) is obj:
                return name
        if is_jitted(obj):
            function = plain_function(obj) or obj.fn
            file = function.__code__.co_filename
            return jit_again, (function, *jit_options(obj), file, linecache.getlines(file))
        return super().reducer_override(obj)


def built(name: str, kernel: str | Callable, device: str | None, like: str, parameters: dict, checked=False) -> Kernel:
    """A kernel of the dialect of that name, of what `portable` gives. Raises KernelError where it does not compile."""
    k = dialect(name).build(kernel, device, like=like, **parameters)
    k.checked = checked
    return k


def jit_again(function, options, signatures, file, lines):
    """The function under `@cuda.jit`, for the target of the process that unpacks it, with the lines of its file."""
    from numba import cuda

    linecache.cache[file] = len(lines), None, lines, file  # before: Numba keeps lines where there are some
    return cuda.jit(signatures, **options)(function) if signatures else cuda.jit(function, **options)


def packed(job: object) -> bytes:
    """A job, or what a kernel is made from, as bytes. Raises TypeError where a function uses what cannot travel."""
    buffer = io.BytesIO()
    try:
        Pickler(buffer).dump(job)
    except Exception as error:  # pickling fails in many ways; each means the same
        raise TypeError(
            f"the kernel uses something that cannot be sent to the process that tries it: {error}"
        ) from None
    return buffer.getvalue()


def calls_opencl(k: Contestant) -> bool:
    """Whether it is a function of the host that uses PyOpenCL, and so may end Python, and can travel to a child."""
    if not isinstance(k, HostKernel):
        return False
    pickler = Pickler(io.BytesIO())
    with suppress(Exception):  # what cannot travel is called here
        pickler.dump(k.function)
        return pickler.found_opencl
    return False
