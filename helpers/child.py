"""How a kernel or a function of a learner's is tried in a child process: what is sent there, and how it is built."""

import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FunctionType

from kernel_judge import child, oclgrind, packing
from kernel_judge.child import Outcome

from . import devices
from .launch import Contestant, HostKernel, Kernel, dialect
from .launch.cuda_source import came_as_text
from .launch.kernel import leave_guards_out
from .launch.numba_internals import plain_function

SECONDS = 60  # of computing
child.preload(__name__, "helpers.launch.on_opencl", "helpers.launch.on_cuda")


def in_child(
    k: Contestant, call: Callable, seconds: float = SECONDS, server=child.SERVER, **environment: str
) -> Outcome:
    """Call a function without arguments, which may hold kernels, in a child process. Returns its `Outcome`.

    `k`: the kernel that it is about. `seconds`: of computing. `server`: what forks it. `environment`: more variables.
    """
    proved = {devices.PROVED_ABOVE: k.device.name} if k.device else {}  # to compile a kernel takes a third of a second
    return child.in_child(packed(call), seconds, child_environment() | proved | environment, server)


def child_environment() -> dict[str, str]:
    """This process's environment variables but the user's for Oclgrind, and what its children need beside them."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("OCLGRIND_")}
    return own | {
        "PYOPENCL_NO_CACHE": "1",  # a child that is ended while it holds the cache's lock would leave it locked
        "OPENBLAS_NUM_THREADS": "1",  # small products; its threads would only spin
        devices.CUDA_OF_CHILD: "PTX machine",
    }


class Pickler(packing.Pickler):
    """Packs a kernel as what it is built from; what helpers offer to kernels, such as `load4`, goes by its name."""

    def reducer_override(self, obj):
        """How one object is packed."""
        if isinstance(obj, Kernel):
            device = obj.device.name if obj.dialect == "OpenCL" else None
            attributes = {name: getattr(obj, name) for name in ("own", "checked", "source", "inputs")}
            return rebuilt, (obj.dialect, made_from(obj), device, obj.step, obj.parameters, attributes)
        if not isinstance(obj, FunctionType | type):  # those go by name anyway
            module, name = getattr(obj, "__module__", None), getattr(obj, "__qualname__", None)
            ours = isinstance(module, str) and module.startswith("helpers.") and isinstance(name, str)
            if ours and getattr(sys.modules.get(module), name, None) is obj:
                return name
        return super().reducer_override(obj)


def packed(what: object) -> bytes:
    """An object as bytes, kernels and functions of a notebook among it. Raises TypeError for what cannot be sent."""
    return packing.packed(what, Pickler)


def made_from(k: Kernel) -> str | Callable:
    """What a kernel is built from: source text, or a learner's `@cuda.jit` function."""
    return k.function if k.dialect == "CUDA" and not came_as_text(k.function) else k.source


def rebuilt(name: str, kernel: str | Callable, device: str | None, like: str, parameters: dict, attributes: dict):
    """A kernel of the dialect of that name, in a child: under Oclgrind for its device. Raises KernelError."""
    if oclgrind.LOG in os.environ:
        device = None
        leave_guards_out()  # what watches the kernel watches the ends of the buffers, too
    k = dialect(name).build(kernel, device, like=like, **parameters)
    vars(k).update(attributes)
    if name == "OpenCL":
        k.compile()
    return k


def calls_opencl(k: HostKernel) -> bool:
    """Whether a function of the host uses PyOpenCL, and so may end Python, and can travel to a child."""
    pickler = Pickler(io.BytesIO())
    with suppress(Exception):  # what cannot travel is called here
        pickler.dump(k.function)
        return pickler.found_opencl
    return False


def source_line(k: Kernel, number: int) -> int:
    """A line of the running function as a line of k.source, which may begin at the function itself."""
    if k.dialect != "CUDA" or came_as_text(k.function):
        return number
    return number - plain_function(k.function).__code__.co_firstlineno + 1
