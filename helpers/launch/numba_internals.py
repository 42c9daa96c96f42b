"""Every part of Numba beside its public interface that the course leans on, whatever GPU there is.

`cuda_without_gpu` has those with no GPU. `tests/launch/test_numba_internals.py`, refusals and predictions prove them.
"""

import os
import re
import traceback
from collections.abc import Callable
from types import SimpleNamespace


def plain_function(kernel) -> Callable | None:
    """The Python function inside a `@cuda.jit` function; None for anything else."""
    return getattr(kernel, "py_func", None)


def is_device_function(kernel) -> bool:
    """Whether it is `@cuda.jit(device=True)`: called by kernels, never launched."""
    return bool(getattr(kernel, "targetoptions", {}).get("device", False))


def is_jitted(value) -> bool:
    """Whether it is what `@cuda.jit` returns."""
    return hasattr(value, "py_func") and hasattr(value, "targetoptions")


def compile_ptx(kernel: Callable, signature: tuple, capability: tuple[int, int]) -> str:
    """PTX of a `@cuda.jit` function for that compute capability, with no GPU. Raises whatever Numba raises."""
    from numba import cuda
    from numba.cuda import dispatcher

    # Functions that a kernel calls are compiled for the current device: there may be none, and it is not asked.
    asked = dispatcher.get_current_device
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)
    try:
        bounds = kernel.targetoptions.get("launch_bounds")
        return cuda.compile_ptx(plain_function(kernel), signature, cc=capability, launch_bounds=bounds)[0]
    finally:
        dispatcher.get_current_device = asked


def places_of(error: BaseException) -> list[tuple[str, int]]:
    """[(file, line)] that an error of Numba's is about, the innermost first; [] for none.

    Its text names them, as 'File "kernel.py", line 7:', or else the statement does which Numba had in hand.
    """
    named = re.findall(r'File "([^"\n]+)", line (\d+):\n', str(error))
    if named:  # a file's name may be relative there
        return [(name if name.startswith("<") else os.path.abspath(name), int(line)) for name, line in named]
    frames = (frame.f_locals for frame, _ in traceback.walk_tb(error.__traceback__))
    at_hand = (frame[name] for frame in frames for name in ("constraint", "inst") if name in frame)
    return [(one.loc.filename, one.loc.line) for one in at_hand if getattr(one, "loc", None)][::-1]
