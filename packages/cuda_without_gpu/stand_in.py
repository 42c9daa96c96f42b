"""Puts what this package has in the place of NVIDIA's compiler and driver. When Numba moves, mend this file.

`tests/test_stand_in.py` says which part of Numba is no longer what it was.
"""

import functools
import inspect
import linecache
from types import SimpleNamespace

from llvmlite import ir

from . import device
from .host import let_host_work
from .launching import launch
from .replacing import replace
from .to_ptx import AXIS_CHECK, NAN, NEVER_SET, OTHER_THAN_ZERO, TEXTS_ONLY, compile_ir, within


@functools.cache
def stand_in() -> None:
    """Put what this package has in the place of NVIDIA's compiler and driver, once in a process."""
    let_llvm_compile()
    let_arrays_be_aligned()
    let_unset_show()
    let_indices_show()
    let_ptx_machine_run()
    let_host_work("numba.cuda")


def ask_for_no_linker() -> None:
    """Let Numba not look for NVIDIA's linker while it is imported: where it is not found, the import would fail."""
    from numba.cuda.cudadrv import driver

    driver._have_nvjitlink = lambda: True  # newer ones of numba-cuda can optimise while they link: here, never


def let_llvm_compile() -> None:
    """Let LLVM make PTX of a kernel, with the lines of its source, for a GPU that nobody is asked about."""
    from numba.cuda import codegen, decorators, dispatcher
    from numba.cuda.cudadrv import nvrtc, nvvm

    layout = getattr(nvvm, "_datalayout_i128", None) or nvvm._datalayout  # the built-in target's, numba-cuda's
    library = SimpleNamespace(
        supported_ccs=device.CAPABILITIES, data_layout=layout, get_ir_version=lambda: (2, 0, 3, 1)
    )
    replace(nvvm, NVVM=lambda: library, compile_ir=compile_ir, is_available=lambda: True)
    decorators._have_nvjitlink = lambda: True  # where Numba was imported before
    codegen.CUDACodeLibrary.get_lto_ptx = codegen.CUDACodeLibrary.get_asm_str
    asked = nvrtc if hasattr(nvrtc, "get_supported_ccs") else nvvm  # newer ones of numba-cuda ask NVRTC
    replace(asked, get_supported_ccs=lambda: device.CAPABILITIES)
    begin = dispatcher.CUDADispatcher.__init__

    def begin_with_lines(self, py_func, targetoptions, *others, **more):
        lines = bool(linecache.getlines(py_func.__code__.co_filename)) and not targetoptions.get("debug")
        lines = lines and py_func.__name__ != "<lambda>"  # whose line may be no statement, as Numba takes it for
        options = {name: value for name, value in targetoptions.items() if name != "lto"}
        begin(self, py_func, {**options, "lineinfo": lines}, *others, **more)

    replace(dispatcher.CUDADispatcher, __init__=begin_with_lines)
    let_empty_tuples_have_lines()


def let_empty_tuples_have_lines() -> None:
    """Let a tuple of empty tuples pass where lines are asked for: Numba divides by the size of one."""
    from numba.cuda import target

    builder = target.CUDATargetContext.DIBuilder.fget(None)
    describe = builder._var_type

    def described(self, lltype, size, datamodel=None):
        try:
            return describe(self, lltype, size, datamodel)
        except ZeroDivisionError:
            return describe(self, ir.IntType(8), 1)

    replace(builder, _var_type=described)


def let_arrays_be_aligned() -> None:
    """Let the target that is built into Numba take `alignment` of shared and local arrays, as numba-cuda does."""
    from numba import cuda
    from numba.cuda import cudadecl, cudaimpl

    if "alignment" in inspect.signature(cudaimpl._generic_array).parameters:
        return
    types, of_two = cudadecl.types, cudadecl.Cuda_array_decl.generic

    def generic(self):
        typed_as = of_two(self)
        return lambda shape, dtype, alignment=None: typed_as(shape, dtype)

    replace(cudadecl.Cuda_array_decl, generic=generic)

    def aligned(make, is_shared):
        def lowered(context, builder, sig, args):
            array = make(context, builder, sig.replace(args=sig.args[:2]), args[:2])
            places = builder.module.globals.values() if is_shared else builder.function.entry_basic_block.instructions
            newest = [one for one in places if one.name.startswith("_cudapy_")][-1]
            newest.align = sig.args[2].literal_value
            return array

        return lowered

    for make, key, kinds in list(cudaimpl.registry.functions):
        if key in (cuda.shared.array, cuda.local.array):
            cudaimpl.lower(key, *kinds, types.IntegerLiteral)(aligned(make, key == cuda.shared.array))


def let_unset_show() -> None:
    """Let LLVM's text say NEVER_SET where Numba takes zero for a variable that has no value on some way to there."""
    from numba.cuda import compiler

    does = getattr(compiler, "CUDANativeLowering", compiler.NativeLowering)
    lower = does.lowering_class.fget(None)
    lower_expr = lower.lower_expr

    def lowered(self, resty, expr):
        value = lower_expr(self, resty, expr)
        kind = str(value.type) if expr.op in ("undef", "null") else ""
        if kind not in OTHER_THAN_ZERO:
            return value
        return (self.builder.fadd if kind in NAN else self.builder.add)(value, value, NEVER_SET)

    replace(lower, lower_expr=lowered)


def let_indices_show() -> None:
    """Let LLVM's text say each index into an axis and the axis's size, for the PTX machine; see `to_ptx.AXIS_CHECK`."""
    from numba.core import cgutils
    from numba.cuda import codegen, target

    check = cgutils.do_boundscheck

    def show(context, builder, index, size, axis=None):
        if not isinstance(context, target.CUDATargetContext):
            check(context, builder, index, size, axis)
        elif isinstance(axis, int):
            asked = builder.asm(two, f"index_within $0, $1, {axis};", "l,l", (index, size), side_effect=True)
            asked.attributes.add("readnone")  # so that a variable in memory may be kept in a register all the same

    two = ir.FunctionType(ir.VoidType(), (ir.IntType(64), ir.IntType(64)))
    replace(target.CUDATargetContext, enable_boundscheck=property(lambda self: True))
    for module in (cgutils, target.cgutils):  # newer ones of numba-cuda have their own
        replace(module, do_boundscheck=show)
    # In the key of what cache=True keeps: a GPU does not load what was made here.
    replace(codegen.JITCUDACodegen, magic_tuple=lambda self: ("LLVM", device.CAPABILITY))
    replace(codegen.CUDACodeLibrary, get_llvm_str=lambda self: AXIS_CHECK.sub("", "\n\n".join(self.llvm_strs)))


def let_ptx_machine_run() -> None:
    """Let a launch go to the PTX machine, and let questions about a compiled kernel be answered by it."""
    from numba.cuda import codegen, dispatcher

    begin = dispatcher._Kernel.__init__

    def begin_without_ptx(self, *args, **options):
        with within(TEXTS_ONLY, True):  # of which `text_of` makes PTX
            begin(self, *args, **options)
        self._codelibrary._ptx_cache.clear()  # what `compile_ir` left is no PTX

    replace(dispatcher._Kernel, __init__=begin_without_ptx, launch=launch, bind=lambda self: None)
    replace(
        codegen.CUDACodeLibrary,
        get_cufunc=lambda self: SimpleNamespace(attrs=device.Attributes(self.get_asm_str()), module=None),
    )
