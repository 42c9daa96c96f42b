"""The one table of dialects."""

from collections.abc import Callable, Iterable

from .. import devices
from ..arguments import some, told
from .cuda import CUDA
from .opencl import OPENCL
from .resolve import Dialect
from .webgpu import WEBGPU

DIALECTS: dict[str, Dialect] = {one.name: one for one in (CUDA, OPENCL, WEBGPU)}


def usual() -> list[Dialect]:
    """CUDA and OpenCL; and WebGPU where it alone reaches a GPU."""
    if any(reaches_gpu(ask) for ask in (devices.cuda_device, devices.opencl_device)):
        return [CUDA, OPENCL]
    # To open a GPU in software takes seconds, and its kind is known before.
    listed = "GPU" in map(devices.webgpu_kind, devices.webgpu_adapters())
    return [CUDA, OPENCL, WEBGPU] if listed and reaches_gpu(devices.webgpu_device) else [CUDA, OPENCL]


def reaches_gpu(ask: Callable) -> bool:
    """Whether the device that `ask` returns, if it returns one, is a GPU."""
    try:
        return ask().kind == "GPU"
    except devices.DeviceError:
        return False


def dialect(name: str) -> Dialect:
    """The dialect of that name, "CUDA" or "OpenCL", in any case. Raises ValueError for another."""
    found = [one for one in DIALECTS.values() if isinstance(name, str) and one.name.lower() == name.lower()]
    if not found:
        raise ValueError(f"there is no dialect {told(name)}; there are: {', '.join(DIALECTS)}.")
    return found[0]


def dialects(names: str | Iterable[str] | None) -> list[Dialect]:
    """The dialects of those names, or of one; None takes the usual ones. Raises ValueError for other names."""
    return usual() if names is None else [dialect(name) for name in some("dialects", names)]
