"""What one would use instead of the ladder's kernels: libraries that multiply the same float32 matrices.

PyTorch on the host, and CuPy on the NVIDIA GPU, which calls cuBLAS. `check` and `measure` take them as they take our
kernels: the same inputs, canaries and clocks, float32 throughout and no TF32. The course needs none of them, so each
that cannot be used here is a `Missing`, which says how to add it.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass

from .. import devices
from ..launch import Contestant, draw
from ..launch.cuda import CudaBackend


@dataclass(frozen=True)
class Missing:
    """A library that cannot be used here. `remedy`: one sentence, with the one line that adds it where there is one."""

    name: str
    dialect: str
    remedy: str


class Library(Contestant):
    """A library's product. `as_array`: of NumPy's or Numba's memory, shared. `product`: (A, B, out=C)."""

    def __init__(self, name: str, version: str, as_array: Callable, product: Callable):
        self.name, self.parameters = name, {"version": version}
        self.as_array, self.product = as_array, product

    def launcher(self, work):
        """What asks the library for the product once."""
        A, B, C = map(self.as_array, work.matrices())
        return functools.partial(self.product, A, B, out=C)


def pytorch() -> Library:
    """Whatever PyTorch's CPU build multiplies with: MKL on x86-64. Raises ImportError where it is not installed."""
    import torch  # only now: it takes seconds

    return Library("PyTorch", str(torch.__version__), torch.from_numpy, torch.matmul)


def cublas() -> Library:
    """NVIDIA's own, as CuPy calls it: in the default stream, as Numba's events do, and with no TF32."""
    import cupy

    library = Library("cuBLAS", f"CuPy {cupy.__version__}", cupy.asarray, cupy.dot)
    library.dialect, library.device, library.backend = "CUDA", devices.cuda_device(), CudaBackend
    return library


def libraries(dialects: list[str]) -> list[Library | Missing]:
    """The host's library, then that of CUDA if it is among the dialects, each once it has multiplied two matrices."""
    found = [usable("PyTorch", "Python", pytorch, "torch --index-url https://download.pytorch.org/whl/cpu")]
    if "CUDA" in dialects and devices.cuda_device().kind == "GPU":
        found.append(usable("cuBLAS", "CUDA", cublas, f'"cupy-{devices.cuda_extra()}x[ctk]"'))
    return found


def usable(name: str, dialect: str, start: Callable, package: str) -> Library | Missing:
    """The library that `start` gives, if it is installed and multiplies; else `Missing`."""
    try:
        library = start()
        library(*draw(5, 7, 3))
    except ModuleNotFoundError:
        return Missing(name, dialect, f"to add it: pip install {package}")
    except Exception as error:  # a library may fail in any way; each way means "not this one"
        return Missing(name, dialect, f"is installed but fails: {str(error).partition(chr(10))[0]}")
    return library
