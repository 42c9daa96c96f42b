"""The words of ROC (HSA), which Numba dropped in 2021, on `numba.cuda`.

A kernel runs with nothing changed but its import: `from old_roc import roc` in place of `from numba import roc`. Each
word becomes one of `numba.cuda`: work-items are threads, a work-group is a block. So kernels run where `numba.cuda`
runs them in this process. Here that was with no GPU; for an NVIDIA GPU they were compiled, and never run.
"""

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numba import cuda
from numba.cuda import cudadecl

CLK_LOCAL_MEM_FENCE, CLK_GLOBAL_MEM_FENCE = 0, 1  # as they were; cuda.syncthreads makes both kinds of memory visible
to_device = cuda.to_device

# Words of the old target that a matrix product does without, and what one writes today.
ELSEWHERE = {
    "wavebarrier": "cuda.syncwarp() for the threads of a warp, or roc.barrier() for the whole group",
    "activelanepermute_wavewidth": "cuda.shfl_sync(mask, value, lane)",
    "ds_permute": "cuda.shfl_sync(mask, value, lane), from which each lane reads where ds_permute pushed",
    "ds_bpermute": "cuda.shfl_sync(mask, value, lane)",
    "atomic": "cuda.atomic.add(array, index, value) and its siblings",
    "mem_fence": "cuda.threadfence_block() for the group's memory, cuda.threadfence() for all",
    "device_array": "cuda.device_array(shape, dtype)",
}


def __getattr__(name):
    if name in ELSEWHERE:
        raise AttributeError(f"roc.{name} is not here. Port it: {ELSEWHERE[name]}.")
    raise AttributeError(
        f"roc has no {name!r}; it has: get_global_id, get_local_id, get_group_id, get_local_size, get_global_size, "
        f"get_num_groups, shared.array, barrier, jit, register, to_device."
    )


def word(function: Callable) -> Callable:
    """One of the old words, as a function that kernels call. Raises TypeError where Python calls it."""

    def refuse(self, *arguments, **named):
        raise TypeError(f"roc.{function.__name__} works inside a kernel only; call it there, and launch the kernel.")

    jitted = cuda.jit(function, device=True)
    jitted.__class__ = type(type(jitted).__name__, (type(jitted),), {"__call__": refuse})
    return jitted


@word
def get_local_id(dim: int) -> int:
    """This work-item's place in its group, along dimension 0, 1 or 2."""
    return cuda.threadIdx.x if dim == 0 else cuda.threadIdx.y if dim == 1 else cuda.threadIdx.z


@word
def get_group_id(dim: int) -> int:
    """This group's place among the groups."""
    return cuda.blockIdx.x if dim == 0 else cuda.blockIdx.y if dim == 1 else cuda.blockIdx.z


@word
def get_local_size(dim: int) -> int:
    """Work-items a group."""
    return cuda.blockDim.x if dim == 0 else cuda.blockDim.y if dim == 1 else cuda.blockDim.z


@word
def get_num_groups(dim: int) -> int:
    """Groups along that dimension."""
    return cuda.gridDim.x if dim == 0 else cuda.gridDim.y if dim == 1 else cuda.gridDim.z


@word
def get_global_id(dim: int) -> int:
    """This work-item's place among all."""
    return get_group_id(dim) * get_local_size(dim) + get_local_id(dim)


@word
def get_global_size(dim: int) -> int:
    """Work-items along that dimension, over all groups."""
    return get_num_groups(dim) * get_local_size(dim)


@word
def barrier(scope: int = CLK_GLOBAL_MEM_FENCE) -> None:
    """Wait until every work-item of the group is here."""
    cuda.syncthreads()


shared = cuda.shared


@cudadecl.register_attr
class _Attributes(cudadecl.AttributeTemplate):
    """Tells Numba's compiler that `roc.shared` is `cuda.shared`."""

    key = cudadecl.types.Module(sys.modules[__name__])

    def resolve_shared(self, asked):
        return cudadecl.types.Module(cuda.shared)


def jit(signature: Callable | str | tuple | None = None, device: bool = False) -> Callable:
    """Make a kernel, or with device=True a function that kernels call.

    As @roc.jit, @roc.jit("(float32[:,:], ...)") or with a tuple of types; a kernel takes other types, too. What comes
    is Numba's own: kernel[groups, group_size](A, B, C).
    """
    return cuda.jit(signature, device=device) if inspect.isfunction(signature) else cuda.jit(device=device)


@contextmanager
def register(*arrays: np.ndarray) -> Iterator[None]:
    """On HSA, told the driver which arrays kernels would share with the host. Here arrays travel by themselves."""
    for a in arrays:
        if not isinstance(a, np.ndarray):
            raise TypeError(f"roc.register takes NumPy arrays, not {type(a).__name__}.")
    yield
