"""What Numba has compiled of a kernel that came as text is kept on disk for the next process."""

import ast
import contextlib
import importlib
import importlib.metadata
import inspect
import pickle
import sys
import zlib
from collections.abc import Callable

from cuda_without_gpu import device
from cuda_without_gpu.kept import keep, key_of, read
from cuda_without_gpu.to_ptx import shared_arrays


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
