"""What takes long to make, Numba's kernels, SPIR-V and a device's code, is kept on disk for the next process."""

import ast
import contextlib
import functools
import hashlib
import importlib.metadata
import inspect
import os
import pickle
import re
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import platformdirs

from . import device
from .to_ptx import shared_arrays


def folder() -> Path:
    """Where it is kept; CUDA_WITHOUT_GPU_CACHE names another folder."""
    chosen = os.environ.get("CUDA_WITHOUT_GPU_CACHE")
    return Path(chosen) if chosen else platformdirs.user_cache_path("cuda_without_gpu", appauthor=False)


def kept(key: str, make: Callable[[], bytes]) -> bytes:
    """What is kept under that key, or what `make` returns, which is kept from then on."""
    with contextlib.suppress(OSError):
        return read(key)
    made = make()
    keep(key, made)
    return made


def read(key: str) -> bytes:
    """What is kept under that key. Raises OSError where nothing is."""
    file = folder() / key
    found = file.read_bytes()
    file.touch()
    return found


def keep(key: str, made: bytes) -> None:
    """Keep it under that key, if the folder can be written, and of all that is there what was used last."""
    file = folder() / key
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        begun = file.with_name(f"{key}.{os.getpid()}")
        begun.write_bytes(made)
        begun.replace(file)
        for unused in sorted(file.parent.iterdir(), key=lambda one: one.stat().st_mtime)[:-2000]:
            unused.unlink()


def keep_compiled(function: Callable, text: str, modules: list[str], *parts: object) -> None:
    """Let Numba keep what it compiles of a `@cuda.jit` function that came as text, if that text imports nothing else.

    modules   what it may import beside Numba, NumPy and math; what is kept holds as long as their texts do
    parts     what decides beside all texts what the function does
    """
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(str(node.module))
    if all(name in modules or name.partition(".")[0] in ("math", "numba", "numpy") for name in names):
        texts = [inspect.getsource(importlib.import_module(name)) for name in modules]
        function._cache = KeptKernels(function.py_func, text, *texts, *parts)


class KeptKernels:
    """What Numba has compiled of a function: the `_cache` of its `@cuda.jit`, in the place of Numba's for files.

    parts   all that decides what the function does, such as its text, and the numbers that it was built with
    """

    def __init__(self, function: Callable, *parts: object):
        self.function = function
        target = sys.modules["numba.cuda"].__file__, getattr(sys.modules.get("numba_cuda"), "__version__", "")
        self.parts = (importlib.metadata.version("numba"), *target, device.CAPABILITY, *parts)

    def load_overload(self, signature, target_context):
        """The kernel for arguments of those types, or None."""
        from numba.cuda.dispatcher import _Kernel

        with contextlib.suppress(OSError):
            states, arrays = pickle.loads(zlib.decompress(read(key_of(signature, *self.parts))))
            kernel = _Kernel._rebuild(**states)
            kernel.py_func, kernel.shared_arrays = self.function, arrays
            return kernel

    def save_overload(self, signature, kernel) -> None:
        """Keep it, but where it needs what is in this process alone."""
        with contextlib.suppress(pickle.PicklingError, AttributeError, RuntimeError, TypeError):
            made = pickle.dumps((kernel._reduce_states(), shared_arrays(kernel)))
            keep(key_of(signature, *self.parts), zlib.compress(made, 1))


def key_of(*parts: object) -> str:
    """A name for a file, from all that decides what is in it."""
    return hashlib.sha256(repr((versions(), *parts)).encode()).hexdigest()


@functools.cache
def versions() -> tuple[str, ...]:
    """What makes SPIR-V: llvmlite, and the code of this package."""
    sources = b"".join(file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.[pl][yl]")))
    return importlib.metadata.version("llvmlite"), hashlib.sha256(sources).hexdigest()


def without_counters(texts: tuple[str, ...], entry: str) -> tuple[str, ...]:
    """LLVM's texts and the kernel's name, without Numba's counts of functions, and lines of the source."""
    numbers = {}
    count = re.compile(r"(?<=B)\d+v\d+(?=B)")
    lines = re.compile(r"^[!;].*\n|, !dbg !\d+", re.MULTILINE)

    def renumbered(text):
        return count.sub(lambda at: f"v{numbers.setdefault(at[0], len(numbers))}", text)

    return tuple(lines.sub("", renumbered(text)) for text in (entry, *texts))
