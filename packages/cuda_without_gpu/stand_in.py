"""Puts what this package has in the place of NVIDIA's compiler and driver. When Numba moves, mend this file.

`tests/test_stand_in.py` says which part of Numba is no longer what it was.
"""

import ctypes
import functools
import inspect
import linecache
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import numpy as np

from . import device
from .launching import launch, typed
from .memory import address, array_at, bytes_of, interface, owner_of
from .shared_memory import in_shared_memory
from .to_ptx import LOCAL_ARRAY, NAN, NEVER_SET, OTHER_THAN_ZERO, compile_ir

TESTED = 'pip install "numba>=0.60,<=0.68.1" "numba-cuda>=0.15,<=0.30.4"'


class NVVM:
    """What Numba asks of NVIDIA's library before it compiles."""

    supported_ccs = device.CAPABILITIES

    def __init__(self):
        from numba.cuda.cudadrv import nvvm

        # the built-in target's, numba-cuda's
        self.data_layout = getattr(nvvm, "_datalayout_i128", None) or nvvm._datalayout

    def get_ir_version(self):
        """The version of the text that Numba writes."""
        return 2, 0, 3, 1


def replace(owner, **values) -> None:
    """Put values in the place of what Numba has in one of its modules or classes, by name.

    Raises RuntimeError where it has no such name: this Numba is another than those that the package knows.
    """
    for name, value in values.items():
        if not hasattr(owner, name):
            import numba

            raise RuntimeError(
                f"Numba {numba.__version__} has no {owner.__name__}.{name}, which is replaced where there is no GPU. "
                f"Install a version that this was tested with: {TESTED}"
            )
        setattr(owner, name, value)


@functools.cache
def stand_in() -> None:
    """Put what this package has in the place of NVIDIA's compiler and driver, once in a process."""
    let_llvm_compile()
    let_arrays_be_aligned()
    let_unset_show()
    let_ptx_machine_run()
    let_arrays_stay_here()


def ask_for_no_linker() -> None:
    """Let Numba not look for NVIDIA's linker while it is imported: where it is not found, the import would fail."""
    from numba.cuda.cudadrv import driver

    driver._have_nvjitlink = lambda: True  # newer ones of numba-cuda can optimise while they link: here, never


def let_llvm_compile() -> None:
    """Let LLVM make PTX of a kernel, with the lines of its source, for a GPU that nobody is asked about."""
    from numba.cuda import codegen, decorators, dispatcher
    from numba.cuda.cudadrv import nvvm

    replace(nvvm, NVVM=NVVM, compile_ir=compile_ir, is_available=lambda: True)
    decorators._have_nvjitlink = lambda: True  # where Numba was imported before
    codegen.CUDACodeLibrary.get_lto_ptx = codegen.CUDACodeLibrary.get_asm_str
    try:
        from numba.cuda.cudadrv import nvrtc  # newer ones of numba-cuda ask NVRTC

        asked = nvrtc if hasattr(nvrtc, "get_supported_ccs") else nvvm
    except ImportError:  # the target that is built in
        asked = nvvm
    replace(asked, get_supported_ccs=lambda: device.CAPABILITIES)
    begin = dispatcher.CUDADispatcher.__init__

    def begin_with_lines(self, py_func, targetoptions, *others, **more):
        lines = bool(linecache.getlines(py_func.__code__.co_filename)) and not targetoptions.get("debug")
        options = {name: value for name, value in targetoptions.items() if name != "lto"}
        begin(self, py_func, {**options, "lineinfo": lines}, *others, **more)

    replace(dispatcher.CUDADispatcher, __init__=begin_with_lines)
    let_empty_tuples_have_lines()


def let_empty_tuples_have_lines() -> None:
    """Let a tuple of empty tuples pass where lines are asked for: Numba divides by the size of one."""
    from llvmlite import ir

    try:
        from numba.cuda.debuginfo import DIBuilder
    except ImportError:  # the target that is built in
        from numba.core.debuginfo import DIBuilder
    describe = DIBuilder._var_type

    def described(self, lltype, size, datamodel=None):
        try:
            return describe(self, lltype, size, datamodel)
        except ZeroDivisionError:
            return describe(self, ir.IntType(8), 1)

    replace(DIBuilder, _var_type=described)


def let_arrays_be_aligned() -> None:
    """Let the target that is built into Numba take `alignment` of shared and local arrays, as numba-cuda does."""
    from numba import cuda
    from numba.cuda import cudadecl, cudaimpl

    if "alignment" in inspect.signature(cudaimpl._generic_array).parameters:
        return
    types, of_two = cudadecl.types, cudadecl.Cuda_array_decl.generic

    def generic(self):
        typed_as = of_two(self)

        def typer(shape, dtype, alignment=None):
            if alignment is None or isinstance(alignment, types.IntegerLiteral):
                return typed_as(shape, dtype)

        return typer

    replace(cudadecl.Cuda_array_decl, generic=generic)

    def aligned(make, array_of):
        def lowered(context, builder, sig, args):
            array = make(context, builder, sig.replace(args=sig.args[:2]), args[:2])
            array_of(builder).align = sig.args[2].literal_value
            return array

        return lowered

    def shared(builder):
        return builder.module.globals[f"_cudapy_smem_{cudaimpl._unique_smem_id}"]

    def local(builder):
        made = [one for one in builder.function.entry_basic_block.instructions if one.name.startswith(LOCAL_ARRAY)]
        return max(made, key=lambda one: int(one.name.removeprefix(LOCAL_ARRAY).lstrip(".") or 0))

    for make, key, kinds in list(cudaimpl.registry.functions):
        if key in (cuda.shared.array, cuda.local.array):
            array_of = shared if key == cuda.shared.array else local
            cudaimpl.lower(key, *kinds, types.IntegerLiteral)(aligned(make, array_of))


def let_unset_show() -> None:
    """Let LLVM's text say NEVER_SET where Numba takes zero for a variable that has no value on some way to there."""
    try:
        from numba.cuda.lowering import CUDALower as Lower
    except ImportError:  # the target that is built in
        from numba.core.lowering import Lower
    lower_expr = Lower.lower_expr

    def lowered(self, resty, expr):
        value = lower_expr(self, resty, expr)
        kind = str(value.type) if expr.op in ("undef", "null") else ""
        if kind not in OTHER_THAN_ZERO:
            return value
        return (self.builder.fadd if kind in NAN else self.builder.add)(value, value, NEVER_SET)

    replace(Lower, lower_expr=lowered)


def let_ptx_machine_run() -> None:
    """Let a launch go to the PTX machine, and let questions about devices, contexts and streams be answered by it."""
    from numba.cuda import codegen, dispatcher
    from numba.cuda.cudadrv import devices, driver, runtime

    class Handle(int):
        """A number, of which the built-in target asks the value."""

        value = property(int)

    class Stream(driver.Stream):  # users ask isinstance
        """A stream, in whose order everything is done anyway."""

        def __init__(self, handle=0):
            self.handle, self.external = Handle(handle), bool(handle)

        def __repr__(self):
            return "<stream of the PTX machine>"

        def __int__(self):
            return self.handle

        def synchronize(self):
            pass

        @contextmanager
        def auto_synchronize(self):
            yield self

        def add_callback(self, callback, arg=None):
            callback(self, 0, arg)

        async def async_done(self):
            return self

    for name in ("create_stream", *(f"get_{which}default_stream" for which in ("", "legacy_", "per_thread_"))):
        setattr(device.Context, name, lambda self: Stream())
    device.Context.create_external_stream = lambda self, handle: Stream(handle)
    driver._to_core_stream = lambda stream: stream or Stream()  # of numba-cuda, for its own launch
    driver.driver.is_initialized, driver.driver.initialization_error = True, device.NO_DRIVER
    replace(type(driver.driver), get_device=lambda self, devnum=0: device.CONTEXT.device)
    replace(devices, _runtime=device.Runtime(), gpus=device.Runtime.gpus)
    replace(type(runtime.runtime), get_version=lambda self: ("LLVM", 0))
    type(runtime.runtime).is_supported_version = lambda self: True  # numba-cuda 0.19 asks for it, and has none
    replace(dispatcher._Kernel, launch=launch, bind=lambda self: None)
    replace(
        codegen.CUDACodeLibrary,
        get_cufunc=lambda self: SimpleNamespace(attrs=device.Attributes(self.get_asm_str()), module=None),
    )
    replace(dispatcher.config, CUDA_LOW_OCCUPANCY_WARNINGS=0)  # nobody waits for a GPU that is not full


def let_arrays_stay_here() -> None:
    """Let the host's side, `cuda.to_device` and its like, keep arrays in this computer's memory."""
    from numba import cuda
    from numba.cuda import api
    from numba.cuda.cudadrv import devicearray as real
    from numba.cuda.simulator.cudadrv import devicearray

    fake = devicearray.FakeCUDAArray

    def managed_array(shape, dtype=np.float64, strides=None, order="C", stream=0, attach_global=True):
        return devicearray.managed_array(shape, dtype, strides, order)

    def mapped_array_like(ary, stream=0, portable=False, wc=False):
        return devicearray.device_array_like(ary)

    @contextmanager
    def mapped(*arrays, stream=0):
        held = [fake(array) for array in arrays]
        yield held[0] if len(held) == 1 else held

    @contextmanager
    def pinned(*arrays):
        yield

    def as_cuda_array(obj, sync=True):
        return obj if isinstance(obj, fake) else fake(array_at(obj.__cuda_array_interface__))

    def transpose(self, axes=None):
        """As the driver's arrays: a copy, and of matrices only."""
        if axes and tuple(axes) == tuple(range(self.ndim)):
            return self
        if self.ndim != 2:
            raise NotImplementedError("transposing a non-2D DeviceNDArray isn't supported")
        return fake(np.ascontiguousarray(np.transpose(self._ary, axes)))

    class Made(type):
        def __call__(cls, shape, strides, dtype, stream=0, gpu_data=None):
            """An array of memory of its own, or of that of another array of the device."""
            memory = None if gpu_data is None else bytes_of(owner_of(gpu_data._ary))
            start = 0 if gpu_data is None else address(gpu_data._ary) - address(memory)
            return fake(np.ndarray(shape, dtype, memory, start, strides), stream)

        def __instancecheck__(cls, one):
            return isinstance(one, fake)

    replace(real, DeviceNDArray=Made("DeviceNDArray", (), {}))
    for arithmetic in ("add", "sub", "mul", "floordiv", "truediv", "mod", "pow"):  # which no GPU's array has
        delattr(fake, f"__{arithmetic}__")
    replace(fake, __name__="DeviceNDArray", __qualname__="DeviceNDArray", transpose=transpose)
    fake.__cuda_array_interface__ = property(lambda self: interface(self._ary))
    fake.device_ctypes_pointer = property(lambda self: ctypes.c_void_p(interface(self._ary)["data"][0]))
    fake.device_pointer = property(lambda self: interface(self._ary)["data"][0])
    fake.gpu_data = property(lambda self: self)
    fake._numba_type_ = property(lambda self: typed(self._ary))

    def shared(make):
        def made(*args, **options):
            array = make(*args, **options)
            if array is not None:  # as where it was copied to another one
                array._ary = in_shared_memory(array._ary)
            return array

        return made

    known = "pinned_array", "pinned_array_like", "mapped_array"
    mine = {name: getattr(devicearray, name) for name in known}
    mine |= {name: shared(getattr(devicearray, name)) for name in ("to_device", "device_array", "device_array_like")}
    mine |= dict(
        managed_array=managed_array,
        mapped_array_like=mapped_array_like,
        mapped=mapped,
        pinned=pinned,
        as_cuda_array=as_cuda_array,
        from_cuda_array_interface=lambda described, owner=None, sync=True: fake(array_at(described)),
        event_elapsed_time=lambda start, end: start.elapsed_time(end),
        is_available=lambda: True,
        cuda_error=lambda: None,
        detect=device.detect,
        profiling=nullcontext,
        profile_start=lambda: None,
        profile_stop=lambda: None,
        gpus=device.Runtime.gpus,
        close=lambda: None,
    )
    replace(cuda, **mine)
    replace(api, **{name: value for name, value in mine.items() if hasattr(api, name)})
