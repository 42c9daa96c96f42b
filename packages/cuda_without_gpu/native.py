"""A kernel of Numba's at native speed, on an OpenCL device that takes SPIR-V: `compile_native`."""

import json
import warnings
from typing import NamedTuple

import numpy as np

from . import to_spirv
from .errors import MayMissBarrier, NotNative
from .kept import kept, key_of, without_counters
from .to_ptx import captured_arrays, compiled_for, refuse_linked, whole

NUMBERS = {"float": np.float32, "double": np.float64, "i1": np.int8}
NUMBERS |= {f"i{8 * size}": np.dtype(f"i{size}").type for size in (1, 2, 4, 8)}


class NativeKernel(NamedTuple):
    """A kernel as SPIR-V, for blocks of one shape.

    spirv   with one kernel, called `kernel`
    kinds   LLVM's types of its flat arguments, "ptr" for an array's elements
    """

    spirv: bytes
    kinds: tuple[str, ...]

    def build(self, context):
        """The `pyopencl.Program` of it, on the one device of a context; the device's code is kept on disk.

        Raises NotNative where the device does not take it.
        """
        import pyopencl as cl

        device = context.devices[0]
        key = key_of(self.spirv, device.name, device.version, device.driver_version)

        def built():
            return cl.Program(context, self.spirv).build().get_info(cl.program_info.BINARIES)[0]

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cl.CompilerWarning)  # Intel's runtime reports success at length
                return cl.Program(context, [device], [kept(key, built)]).build()
        except cl.Error as error:
            said = " ".join(str(error).split("Failed to build device program")[-1].split())
            raise NotNative(f"{device.name.strip()} does not take its SPIR-V: {said[-300:]}") from None

    def set_args(self, kernel, flat: list) -> None:
        """Give a built kernel its flat arguments, those of an array by `flat_array`; 0 is a pointer to nothing."""
        for i, (kind, value) in enumerate(zip(self.kinds, flat, strict=True)):
            pointer = None if isinstance(value, int) else value
            kernel.set_arg(i, pointer if kind == "ptr" else np.asarray(value).astype(NUMBERS[kind])[()])


def flat_array(memory: object, shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...] = ()) -> list:
    """What a kernel of Numba's gets for an array in a buffer: two pointers, size, item size, data, sizes, strides."""
    like = np.lib.stride_tricks.as_strided(np.empty(0, dtype), shape, strides) if strides else np.empty(shape, dtype)
    return [0, 0, like.size, like.itemsize, memory, *shape, *like.strides]


def compile_native(function, *arguments: object, block: tuple[int, ...], shared: int = 0) -> NativeKernel:
    """SPIR-V of a `@cuda.jit` kernel, or of a plain function, for the types of some arguments and blocks of one shape.

    block    threads of a block along x, y, z
    shared   bytes of the shared memory whose size the launch sets

    Raises NotNative for what is there on the PTX machine only, and whatever Numba raises at such a launch.
    """
    return native_of(compiled_for(function, *arguments), (*block, 1, 1)[:3], shared)


def native_of(kernel, block, shared=0, grid=None, numbers=None) -> NativeKernel:
    """The same of what Numba has compiled, a `_Kernel`; `grid`, `numbers`: as `to_spirv.spirv_of` has them."""
    sizes = block, shared, grid, numbers
    made = vars(kernel).setdefault("_native", {})  # {sizes: a NativeKernel, or why there is none}
    if sizes not in made:
        refuse_linked(kernel)
        if kernel.debug:
            raise NotNative("debug=True: a kernel's own exceptions")
        if captured_arrays(kernel):
            raise NotNative("an array of the device that the kernel uses by its global name")
        texts = whole(list(kernel._codelibrary.llvm_strs))

        def spirv_and_kinds():
            spirv, kinds, _ = to_spirv.spirv_of(texts, kernel.entry_name, *sizes)
            return json.dumps(kinds).encode() + b"\n" + spirv

        try:
            found = kept(key_of(without_counters(texts, kernel.entry_name), *sizes), spirv_and_kinds)
            kinds, _, spirv = found.partition(b"\n")
            made[sizes] = NativeKernel(spirv, tuple(json.loads(kinds)))
        except NotNative as why:
            made[sizes] = why
    if isinstance(made[sizes], NotNative):
        raise type(made[sizes])(*made[sizes].args)  # a new one: a traceback would keep the launch's arrays
    return made[sizes]


def native_for_launch(kernel, block, shared, grid, flat) -> NativeKernel:
    """The same for one launch: where a barrier may be missed, its sizes may tell that in this launch none is."""
    try:
        return native_of(kernel, block, shared)
    except MayMissBarrier:
        numbers = tuple(int(one) if isinstance(one, (int, np.integer)) else None for one in flat)
        return native_of(kernel, block, shared, grid, numbers)
