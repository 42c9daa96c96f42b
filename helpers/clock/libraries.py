"""What one would use instead of the ladder's kernels: libraries that multiply the same float32 matrices.

PyTorch on the host, and CuPy on the NVIDIA GPU, which calls cuBLAS. `check` and `measure` take them as they take our
kernels: the same inputs, canaries and clocks, float32 throughout and no TF32. The course needs none of them, so each
that cannot be used here is a `Missing`, which says how to add it.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from .. import devices
from ..checking import right_within_bound
from ..launch import Contestant, draw
from ..launch.dialects import dialects as dialects_called
from ..launch.kernel import Backend
from ..launch.on_cuda import CudaBackend


@dataclass(frozen=True)
class Missing:
    """A library that cannot be used here. `remedy`: one sentence, with the one line that adds it where there is one."""

    name: str
    dialect: str
    remedy: str


class Absent(Exception):
    """A library, or the device it needs, is not here; the message is the remedy."""


class Peer(Contestant):
    """A library. `launcher`: `Work` -> what asks it once for the product."""

    def __init__(self, name, dialect, device, version, backend, launcher):
        self.name, self.dialect, self.device, self.backend, self.launcher = name, dialect, device, backend, launcher
        self.parameters = {"version": version}


def peers(dialects: Sequence[str] | str | None = None) -> list:
    """The host's libraries, then those of the dialects: a list of what `check` and `measure` take, or of `Missing`."""
    asked = {"Python", *(one.name for one in (() if dialects in ([], ()) else dialects_called(dialects)))}
    return [find(name) for name, (dialect, _) in LIBRARIES.items() if dialect in asked]


def find(name: str) -> Peer | Missing:
    """The library of that name, once it has multiplied two small matrices right; else `Missing`. Raises nothing."""
    dialect, start = LIBRARIES[name]
    try:
        k = Peer(name, dialect, *start())
        if right_within_bound(k, *draw(5, 7, 3)):
            return k
        remedy = "is installed but gave wrong numbers at 5 x 7 x 3; install it again"
    except (Absent, devices.DeviceError) as error:
        remedy = str(error)
    except Exception as error:  # a library may fail in any way; each way means "not this one"
        remedy = f"is installed but fails: {(str(error).strip() or type(error).__name__).splitlines()[0]}"
    return Missing(name, dialect, remedy)


def pytorch():
    """Whatever PyTorch's CPU build multiplies with: MKL on x86-64."""
    try:
        import torch  # only now: it takes seconds
    except ModuleNotFoundError:
        raise Absent("to add it: pip install torch --index-url https://download.pytorch.org/whl/cpu") from None

    def launcher(work):
        A, B, C = map(torch.from_numpy, work.matrices())  # which shares NumPy's memory
        return functools.partial(torch.matmul, A, B, out=C)

    return None, str(torch.__version__), Backend, launcher


def cublas():
    """NVIDIA's own, as CuPy calls it: in the default stream, as Numba's events do, and with no TF32."""
    device = devices.cuda_device()
    if device.kind != "GPU":
        raise Absent("needs an NVIDIA GPU")
    try:
        import cupy
    except ModuleNotFoundError:
        raise Absent(f'to add it: pip install "cupy-{devices.cuda_extra()}x[ctk]"') from None

    def launcher(work):
        A, B, C = map(cupy.asarray, work.matrices())  # which shares Numba's memory
        return functools.partial(cupy.dot, A, B, out=C)

    return device, f"CuPy {cupy.__version__}", CudaBackend, launcher


LIBRARIES = {  # {name: (dialect, what starts it: () -> a device or None, a version, a backend and a launcher)}
    "PyTorch": ("Python", pytorch),
    "cuBLAS": ("CUDA", cublas),
}
