"""What must be settled before Numba is loaded, or right after. Nothing here loads it."""

import importlib.abc
import importlib.util
import os
import pkgutil
import sys


class AtImport(importlib.abc.MetaPathFinder):
    """Finds one module as the other finders do, with a loader that calls the function last."""

    def __init__(self, module: str, function: str):
        self.module, self.function = module, function

    def find_spec(self, name, path, target=None):
        """The spec of that module; None for every other."""
        if name != self.module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None:
            return None
        load = spec.loader.exec_module

        def load_and_call(module):
            load(module)
            pkgutil.resolve_name(self.function)()

        spec.loader.exec_module = load_and_call
        return spec


def once_imported(module: str, function: str) -> None:
    """Call a function, "package.module:name", now if that module is loaded, and otherwise right after it is."""
    if module in sys.modules:
        pkgutil.resolve_name(function)()
    else:
        sys.meta_path.insert(0, AtImport(module, function))


def let_numba_load() -> None:
    """Let Numba's CUDA be loaded, and not as its simulator. Raises ImportError where the simulator has been loaded."""
    simulator = os.environ.pop("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")
    if simulator and "numba.cuda.simulator_init" in sys.modules:
        raise ImportError(
            "NUMBA_ENABLE_CUDASIM=1 has made Numba load its simulator, which compiles no CUDA kernel. "
            "Unset it, and start Python anew."
        )
    os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")  # nobody waits for a GPU that is not full
    once_imported("numba.core.config", f"{__name__}:ignore_simulator")
    once_imported("numba", f"{__name__}:keep_row_stack")


def ignore_simulator() -> None:
    """Let Numba take no notice of NUMBA_ENABLE_CUDASIM, which it reads again whenever it compiles."""
    from numba.core import config

    reload = config.reload_config
    config.reload_config = lambda: (os.environ.pop("NUMBA_ENABLE_CUDASIM", None), reload())
    config.reload_config()


def keep_row_stack() -> None:
    """Let numba-cuda 0.30 load beside NumPy 2.5, which has dropped a second name of `vstack` that it asks for."""
    import numpy as np

    if not hasattr(np, "row_stack"):
        np.row_stack = np.vstack
