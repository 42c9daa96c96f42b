"""The words of ROC (HSA), which Numba dropped in 2021, on `numba.cuda`.

A kernel runs with nothing changed but its import: `from old_roc import roc` in place of `from numba import roc`. Each
word becomes one of `numba.cuda`: work-items are threads, a work-group is a block. So kernels run where `numba.cuda`
runs them in this process. Here that was with no GPU; for an NVIDIA GPU they were compiled, and never run.
"""

import dis
import inspect
import sys
import textwrap
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
    "ds_permute": (
        "it pushes a value to a lane; ask from which lane each one reads instead, "
        "and use cuda.shfl_sync(mask, value, lane)"
    ),
    "ds_bpermute": "cuda.shfl_sync(mask, value, lane)",
    "atomic": "cuda.atomic.add(array, index, value) and its siblings",
    "mem_fence": "cuda.threadfence_block() for the group's memory, cuda.threadfence() for all",
    "device_array": "cuda.device_array(shape, dtype)",
    "agents": "cuda.gpus",
    "stream": "cuda.stream()",
}


def __getattr__(name):
    if name in ELSEWHERE:
        raise AttributeError(f"roc.{name} is not here. Port it: {ELSEWHERE[name]}.")
    raise AttributeError(
        f"roc has no {name!r}; it has: get_global_id, get_local_id, get_group_id, get_local_size, get_global_size, "
        f"get_num_groups, get_work_dim, shared.array, barrier, jit, register, to_device."
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
def get_work_dim() -> int:
    """Dimensions in use: those along which there is more than one work-item, and at least one."""
    return 3 if get_global_size(2) > 1 else 2 if get_global_size(1) > 1 else 1


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

    As @roc.jit, @roc.jit("(float32[:,:], ...)") or with a tuple of types; a kernel takes other types, too.
    Raises ValueError, naming the line, for a kernel that uses a word from ELSEWHERE.
    """
    if inspect.isfunction(signature):
        return jit()(signature)

    def build(function):
        refuse_old_words(function)
        return cuda.jit(function, device=True) if device else RocKernel(function)

    return build


def refuse_old_words(function: Callable) -> None:
    """Raise ValueError if the function uses roc.WORD for a word that cannot be had."""
    first, owner = function.__code__.co_firstlineno, None
    for instruction in dis.get_instructions(function):
        word = instruction.argval
        if owner is sys.modules[__name__] and word in ELSEWHERE:  # roc.WORD is two instructions: roc, and its WORD
            raise ValueError(
                f"{function.__name__}, line {instruction.positions.lineno - first + 1}: "
                f"roc.{word} cannot be had here. Port it: {ELSEWHERE[word]}."
            )
        owner = function.__globals__.get(word) if instruction.opname == "LOAD_GLOBAL" else None


class RocKernel:
    """A kernel as the old target had it: kernel[groups, group_size](A, B, C), both an int or a tuple of up to three."""

    def __init__(self, function: Callable):
        self.function = function
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.kernel = cuda.jit(function)

    @property
    def source(self) -> str:
        """The kernel's text, for `show` and for tables."""
        return textwrap.dedent(inspect.getsource(self.function))

    def __getitem__(self, launch):
        try:
            groups, size = (tuple(int(n) for n in (part if np.iterable(part) else (part,))) for part in launch)
        except (TypeError, ValueError):
            raise ValueError(
                f"{self.__name__}[{launch!r}] is no launch; write {self.__name__}[groups, group_size], "
                f"each an integer or a tuple of up to three."
            ) from None
        if not (1 <= len(groups) <= 3 and 1 <= len(size) <= 3) or min(*groups, *size) < 1:
            raise ValueError(
                f"{groups} groups of {size} work-items: both need one to three dimensions, each 1 or more."
            )
        most = max(len(groups), len(size))
        groups, size = (part + (1,) * (most - len(part)) for part in (groups, size))
        allowed = cuda.get_current_device().MAX_THREADS_PER_BLOCK
        if np.prod(size) > allowed:
            raise ValueError(
                f"a group of {' x '.join(map(str, size))} = {np.prod(size)} work-items; this device allows {allowed}."
            )
        return lambda *arguments: self.launch(groups, size, arguments)

    def launch(self, groups: tuple[int, ...], size: tuple[int, ...], arguments: tuple) -> None:
        """Launch that many groups of that size, two tuples of equal length.

        Raises ValueError for groups that lie wholly outside every array.
        """
        arrays = [a for a in arguments if getattr(a, "ndim", 0) and a.size > 1]  # one element is a result, not a size
        for axis, (n, items) in enumerate(zip(groups, size, strict=True)):
            longest = max((max(a.shape) for a in arrays), default=n * items)
            if (n - 1) * items >= longest > 0:
                raise ValueError(
                    f"{n} groups of {items} along dimension {axis}: the last begins at {(n - 1) * items}, "
                    f"and no array is longer than {longest}. {-(-longest // items)} would do."
                )
        self.kernel[groups, size](*arguments)


@contextmanager
def register(*arrays: np.ndarray) -> Iterator[None]:
    """On HSA, told the driver which arrays kernels would share with the host. Here arrays travel by themselves."""
    for a in arrays:
        if not isinstance(a, np.ndarray):
            raise TypeError(f"roc.register takes NumPy arrays, not {type(a).__name__}.")
    yield
