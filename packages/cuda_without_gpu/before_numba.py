"""What must be settled before Numba is loaded, or right after. Nothing here loads it."""

import importlib.util
import os
import pkgutil
import sys
from types import SimpleNamespace


def once_imported(module: str, function: str) -> None:
    """Call a function, "package.module:name", now if that module is loaded, and otherwise right after it is."""
    if module in sys.modules:
        return pkgutil.resolve_name(function)()

    def find_spec(name, path, target=None):
        """The spec of that module, as the other finders have it, with a loader that calls the function last."""
        if name != module:
            return None
        sys.meta_path.remove(finder)
        spec = importlib.util.find_spec(name)
        sys.meta_path.insert(0, finder)  # who searches may not import
        if spec:
            load = spec.loader.exec_module

            def load_and_call(loaded):
                sys.meta_path.remove(finder)
                load(loaded)
                pkgutil.resolve_name(function)()

            spec.loader.exec_module = load_and_call
        return spec

    finder = SimpleNamespace(find_spec=find_spec)
    sys.meta_path.insert(0, finder)


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
