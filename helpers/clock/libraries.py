"""What one would use instead of the ladder's kernels: libraries that multiply the same float32 matrices.

PyTorch on the host, and CuPy on the NVIDIA GPU, which calls cuBLAS. `check` and `measure` take them as they take our
kernels: the same inputs, canaries and clocks, float32 throughout and no TF32. The course needs none of them.
"""

import functools
from collections.abc import Callable, Collection

from .. import devices
from ..launch import Contestant, draw
from ..launch.cuda import CudaBackend


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


def installed(dialects: Collection[str]) -> tuple[list[Library], list[tuple[str, str]]]:
    """The host's library, then that of CUDA if it is among the dialects and there is a GPU.

    Returns those that multiply here, and of each that is not installed its name and the line that adds it.
    """
    wanted = [("PyTorch", pytorch, "torch --index-url https://download.pytorch.org/whl/cpu")]
    if "CUDA" in dialects and devices.cuda_device().kind == "GPU":
        wanted.append(("cuBLAS", cublas, f'"cupy-{devices.cuda_extra()}x[ctk]"'))
    found, missing = [], []
    for name, start, package in wanted:
        try:
            library = start()
            library(*draw(5, 7, 3))  # which loads what it multiplies with
            found.append(library)
        except ImportError:
            missing.append((name, f"to add it: pip install {package}"))
    return found, missing
