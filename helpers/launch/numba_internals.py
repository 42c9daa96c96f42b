"""Every part of Numba beside its public interface that the course leans on. When Numba moves, mend this file.

`tests/launch/test_numba_internals.py` proves each of them and says what broke.
"""

import ctypes
import functools
import inspect
import linecache
import os
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from types import SimpleNamespace

import numpy as np

import ptx_machine
from ptx_machine.limits import LOCAL
from ptx_machine.names import plain_name

from . import by_llvm, no_gpu
from .errors import KernelError, quoted

WATCHED, COUNTED = 1, 3  # LLVM's levels: for code that keeps each access to arrays, and for code as a GPU would get it


def plain_function(kernel) -> Callable | None:
    """The Python function inside a `@cuda.jit` function; None for anything else."""
    return getattr(kernel, "py_func", None)


def is_device_function(kernel) -> bool:
    """Whether it is `@cuda.jit(device=True)`: called by kernels, never launched."""
    return bool(getattr(kernel, "targetoptions", {}).get("device", False))


def told_to_jit(kernel) -> tuple[dict, list]:
    """What `@cuda.jit` was told of a function: options by their names, and its signatures, [] where it had none."""
    told = getattr(kernel, "targetoptions", {})
    names = "device", "debug", "opt", "fastmath", "max_registers", "launch_bounds"
    options = {name: told[name] for name in names if told.get(name) is not None}
    return options, [] if getattr(kernel, "_can_compile", True) else list(kernel.overloads)


def refuse_calls(function, name: str):
    """A `@cuda.jit(device=True)` function that raises KernelError where Python calls it. Kernels call it as before."""

    def refuse(self, *arguments, **named):
        raise KernelError(f"{name} works inside a kernel only; call it there, and launch the kernel.")

    function.__class__ = type(type(function).__name__, (type(function),), {"__call__": refuse})
    return function


def is_jitted(value) -> bool:
    """Whether it is what `@cuda.jit` returns."""
    return hasattr(value, "py_func") and hasattr(value, "targetoptions")


def compile_ptx(function: Callable, signature: tuple, capability: tuple[int, int], lines: bool = False) -> str:
    """PTX of a plain function for that compute capability, with no GPU. Raises whatever Numba raises.

    `lines`: let the PTX say which line of the source each instruction comes from. The instructions stay the same.
    """
    from numba import cuda
    from numba.cuda import dispatcher

    # Functions that a kernel calls are compiled for the current device: there may be none, and it is not asked.
    asked = dispatcher.get_current_device
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)
    try:
        return cuda.compile_ptx(function, signature, cc=capability, lineinfo=lines)[0]
    finally:
        dispatcher.get_current_device = asked


def is_complaint(error: BaseException | None) -> bool:
    """Whether it is an error by which Numba refuses a kernel, and not a fault of what is installed."""
    return any(kind.__name__ == "NumbaError" for kind in type(error).__mro__)


def let_compiler_resolve_shared(module) -> None:
    """Tell Numba's compiler that `module.shared` is `cuda.shared`."""
    from numba import cuda
    from numba.cuda import cudadecl

    @cudadecl.register_attr
    class Attributes(cudadecl.AttributeTemplate):
        key = cudadecl.types.Module(module)

        def resolve_shared(self, asked):
            return cudadecl.types.Module(cuda.shared)


# -------------------------------------------------------------------------------- with no GPU: compiling and launching


def compile_ir(modules: str | list[str], arch: str = "compute_80", **options: object) -> bytes:
    """PTX of LLVM's text, in the place of `nvvm.compile_ir`: by LLVM, at the level at which kernels are run.

    `options`: what NVIDIA's compiler would take besides.
    """
    if "gen-lto" in options:
        raise NotImplementedError("lto=True needs NVIDIA's linker and a GPU; leave it out.")
    texts = [modules] if isinstance(modules, str) else modules
    if (texts_only := TEXTS_ONLY.get()) is not None:
        texts_only.extend(texts)
        return b""
    if ONLY_COMPILED.get() is not None:  # nobody asks for this code: `text_of` makes PTX of the same texts
        return "\n".join(texts).encode()
    return by_llvm.compiled(whole(texts), WATCHED, arch.replace("compute_", "sm_")).encode()


# A list, within which LLVM's texts are left, and not compiled.
TEXTS_ONLY: ContextVar[list | None] = ContextVar("TEXTS_ONLY", default=None)


def whole(texts: list[str]) -> tuple[str, ...]:
    """LLVM's texts of a kernel, with what Numba lets NVIDIA's compiler and linker add to them."""
    from numba.cuda.cudadrv import nvvm

    texts = tuple(map(nvvm.llvm_replace, texts))
    asked = {name for name in (RESHAPE, GRID_SYNC) for text in texts if f'@"{name}"' in text}
    halves = sorted({at for text in texts for at in HALF.findall(text)})
    texts += tuple(filter(None, map(by_llvm.half_function, halves)))
    return texts + (reshaping() if RESHAPE in asked else ()) + (by_llvm.ALL_BLOCKS,) * (GRID_SYNC in asked)


def text_of(kernel, level: int = WATCHED, unset: Iterable[str] = (), each: bool = False) -> str:
    """PTX of a kernel that Numba has compiled for some types (a `_Kernel`), made once for each level.

    `unset`: some of `variables_of`, which hold not the zero that Numba lays in each, but NaN or -1, until they are set.
    `each`: whether to make every load and store of a floating-point number in an array, in the source's order, one that
    is asked for twice included.
    """
    refuse_linked(kernel)
    refuse_large_local_arrays(kernel)
    major, minor = no_gpu.CAPABILITY
    texts = [with_unset(text, frozenset(unset)) for text in kernel._codelibrary.llvm_strs]
    texts = list(map(volatile, texts)) if each else texts
    texts = with_captured(texts, captured_arrays(kernel))
    return by_llvm.compiled(whole(texts), level, f"sm_{major}{minor}")


def refuse_large_local_arrays(kernel) -> None:
    """Raise KernelError for more local memory than a GPU has: LLVM would take minutes for it, and all of the memory."""
    sizes = {"half": 2, "float": 4, "double": 8, **{f"i{8 * size}": size for size in (1, 2, 4, 8)}}
    arrays = [array for text in kernel._codelibrary.llvm_strs for array in BEGINS.findall(text)]
    used = sum(int(length) * sizes.get(kind, 1) for _, length, kind in arrays)
    if used > LOCAL:
        raise KernelError(
            f"its local arrays take {used:,} bytes a thread, and a GPU has {LOCAL:,} at most. Make them smaller."
        )


def captured_arrays(kernel) -> dict[str, np.ndarray]:
    """{a name for LLVM: the memory of it, as bytes} of each device array that a kernel uses and is not launched with.

    The name has the source's name in it as C++ has, which messages show.
    """
    used = getattr(kernel._codelibrary, "referenced_objects", {}).values()
    captured = [no_gpu.array_at(value.__cuda_array_interface__) for value in used]
    outside = inspect.getclosurevars(kernel.py_func) if captured else None
    seen = {**outside.globals, **outside.nonlocals} if captured else {}
    names = {id(value): name for name, value in seen.items()}
    found = {}
    for value, array in zip(used, captured, strict=True):
        name = names.get(id(value), f"captured_{len(found)}")
        found[f"_Z{len(name)}{name}"] = no_gpu.bytes_of(no_gpu.owner_of(array))
    return found


def with_captured(texts: list[str], captured: dict[str, np.ndarray]) -> list[str]:
    """LLVM's texts with a variable in the place of each address of a captured array, or of a part of it."""
    if not captured:
        return texts

    def variable(at):
        for name, memory in captured.items():
            if 0 <= (start := int(at[1]) - no_gpu.address(memory)) < memory.nbytes:
                place = f'i8* addrspacecast (i8 addrspace(1)* @"{name}" to i8*)'
                return f"getelementptr (i8, {place}, i64 {start})"
        return at[0]

    texts = [re.sub(r"inttoptr \(i64 (\d+) to i8\*\)", variable, text) for text in texts]
    known = [f'@"{name}" = external addrspace(1) global i8\n' for name in captured]
    texts = [text + "\n" + "".join(line for line in known if line.split()[0] in text) for text in texts]
    holds = [
        f'@"{name}" = addrspace(1) global [{memory.nbytes} x i8] zeroinitializer, align 16\n'
        for name, memory in captured.items()
    ]
    return [*texts, "".join(holds)]


ACCESS = re.compile(
    r"(?P<does>= load|^ +store)(?P<rest> (?:half|float|double|<\d+ x \w+>)[ ,].*?\* (?P<place>%\S+?),? )", re.M
)


def volatile(text: str) -> str:
    """LLVM's text, in which the optimiser keeps each load and store of a floating-point number, but of variables."""

    def kept(function):
        variables = set(re.findall(r"^ +(%\S+) = alloca", function, re.MULTILINE))
        return ACCESS.sub(
            lambda at: at[0] if at["place"] in variables else f"{at['does']} volatile{at['rest']}", function
        )

    return "".join(map(kept, re.split(r"^(?=define)", text, flags=re.MULTILINE)))


# In LLVM's text: a local array and the zeros that Numba lays there; and the zero that it takes for a variable on a way
# on which it is not set, as `let_unset_show` has it, and the variable.
LOCAL_ARRAY = "_cudapy_lmem"  # the name of each
BEGINS = re.compile(rf'( +%"{LOCAL_ARRAY}[.\d]*" = alloca \[(\d+) x (\w+)\]\n +store .*? )zeroinitializer(?=, )')
# LLVM lays so many zeros one by one, which takes it minutes. The PTX machine knows itself which elements are not set.
LONG = 512
LONG_BEGINS = re.compile(rf'( +%"{LOCAL_ARRAY}[.\d]*" = alloca \[(\d+) x \w+\]\n) +store .*\n')
BITS = {"half": 16, "float": 32, "double": 64}
NEVER_SET = "never_set"
TAKES_ZERO = re.compile(
    rf'(%"{NEVER_SET}[.\d]*")( = f?add (\w+) )(\S+)'
    r'(, .*\n(?:.*\n){,4}? +store \w+ \1, \w+\* %"([A-Za-z_]\w*)[.\d]*")'
)
NAN = {"float": "0x7FF8000000000000", "double": "0x7FF8000000000000", "half": "0xH7E00"}
OTHER_THAN_ZERO = NAN | dict.fromkeys(("i8", "i16", "i32", "i64"), "-1")


def variables_of(kernel) -> list[str]:
    """The names of a compiled kernel's variables that are not set on some way, and LOCAL_ARRAY for its local arrays."""
    texts = kernel._codelibrary.llvm_strs
    arrays = any(BEGINS.search(text) for text in texts)
    return sorted({at[6] for text in texts for at in TAKES_ZERO.finditer(text)}) + [LOCAL_ARRAY] * arrays


def local_bytes(kernel) -> int:
    """The bytes of a compiled kernel's local arrays, those that LLVM leaves out included."""
    made = re.findall(rf'%"{LOCAL_ARRAY}[.\d]*" = alloca \[(\d+) x (\w+)\]', "".join(kernel._codelibrary.llvm_strs))
    return sum(int(count) * (BITS.get(kind) or int(kind[1:])) // 8 for count, kind in made)


def with_unset(text: str, chosen: frozenset) -> str:
    """LLVM's text with NaN or -1 in the place of the zeros of those variables that are not set yet.

    A long local array begins with nothing.
    """

    def begins(at):
        before, count, kind = at.groups()
        numbers = ", ".join([f"{kind} {OTHER_THAN_ZERO[kind]}"] * int(count)) if kind in OTHER_THAN_ZERO else None
        return f"{before}[{numbers}]" if numbers else at[0]

    def takes(at):
        result, what, kind, _, after, name = at.groups()
        return result + what + OTHER_THAN_ZERO[kind] + after if name in chosen else at[0]

    text = LONG_BEGINS.sub(lambda at: at[1] if int(at[2]) > LONG else at[0], text)
    text = BEGINS.sub(begins, text) if LOCAL_ARRAY in chosen else text
    return TAKES_ZERO.sub(takes, text) if chosen else text


def shared_arrays(kernel) -> dict[str, tuple[str, tuple, int]]:
    """{what LLVM calls a shared array: (its name in the kernel, its shape, bytes of an element)} of a compiled kernel.

    {} where LLVM has another number of them, as where a function that the kernel calls makes one, and of a kernel from
    Numba's cache, which has no types any more.
    """
    from numba.np import numpy_support

    typed, made, named = kernel._type_annotation, {}, {}
    if typed is None:
        return {}
    lines = (line for block in typed.blocks.values() for line in block.body)
    for target, value in ((line.target.name, line.value) for line in lines if type(line).__name__ == "Assign"):
        does = getattr(value, "op", "")
        if does == "call" and "function shared.array" in str(typed.typemap[value.func.name]):
            sides, kind = typed.calltypes[value].args[0], typed.typemap[target].dtype
            shape = tuple(side.literal_value for side in getattr(sides, "types", (sides,)))
            made[target] = shape, numpy_support.as_dtype(kind).itemsize
        elif not does and getattr(value, "name", "") in made:
            named.setdefault(value.name, target.partition(".")[0])
    texts = "".join(kernel._codelibrary.llvm_strs)
    theirs = sorted(set(re.findall(r"_cudapy_smem_\d+", texts)), key=lambda name: int(name.rpartition("_")[2]))
    if len(theirs) != len(made):
        return {}
    return {name: (named.get(own, own), *made[own]) for name, own in zip(theirs, made, strict=True)}


HALF = re.compile(r'declare i32 @"(_Z\w+|__numba_wrapper_h\w+)"')  # functions for float16 are among them
RESHAPE, GRID_SYNC = "numba_attempt_nocopy_reshape", "cudaCGSynchronize"  # functions that Numba calls


@functools.cache
def reshaping() -> tuple[str, ...]:
    """LLVM's text of what Numba's `reshape` calls, made by Numba of a Python function."""
    from numba import cuda, types

    one, some, left = types.int64, types.CPointer(types.int64), []
    signature = types.int32(one, some, some, one, some, some, one, types.int32)
    here = TEXTS_ONLY.set(left)
    try:
        cuda.compile(reshaped, signature, device=True, abi="c", abi_info={"abi_name": RESHAPE}, cc=no_gpu.CAPABILITY)
    finally:
        TEXTS_ONLY.reset(here)
    return tuple(left)


def reshaped(rank, shape, strides, new_rank, new_shape, new_strides, itemsize, by_columns):
    """Fill `new_strides` so that the same elements have the new shape. Returns 1; 0 if they would have to be copied.

    Compiled for the device, where shapes and strides are pointers. `by_columns` is 0 always. The old axes make runs
    without a gap, from the last axis on; the new ones must cut each run into equal pieces.
    """
    elements, asked = 1, 1
    for i in range(rank):
        elements *= shape[i]
    for j in range(new_rank):
        asked *= new_shape[j]
        new_strides[j] = itemsize
    if elements != asked:
        return 0
    if elements == 0:
        return 1
    i, step, left = rank, itemsize, 1  # the old axis that comes next, and what is left of its run
    for j in range(new_rank - 1, -1, -1):
        if left == 1 and new_shape[j] > 1:
            while i > 0 and (left == 1 or shape[i - 1] == 1 or strides[i - 1] == left * step):
                i -= 1
                if left == 1 and shape[i] > 1:
                    step = strides[i]
                left *= shape[i]
        if left % new_shape[j]:
            return 0
        new_strides[j] = step
        step *= new_shape[j]
        left //= new_shape[j]
    return 1


# A list, within which a launch leaves its kernel, and does not run it.
ONLY_COMPILED: ContextVar[list | None] = ContextVar("ONLY_COMPILED", default=None)


def compiled_for(function: Callable, *args: object):
    """What Numba would launch for those arguments: a `_Kernel` of a `@cuda.jit` kernel, or of a plain function.

    What the decorator says, signatures above all, holds. Raises whatever Numba raises at such a launch.
    """
    from numba import cuda

    kernel = function if is_jitted(function) else cuda.jit(function)
    left = []
    here = ONLY_COMPILED.set(left)
    try:
        kernel[1, 1](*args)
    finally:
        ONLY_COMPILED.reset(here)
    if captured := captured_arrays(left[0]):
        names = ", ".join(map(plain_name, captured))
        raise KernelError(f"the kernel uses arrays of the device from outside: {names}. Give it arguments only.")
    left[0]._codelibrary._ptx_cache.clear()  # what `compile_ir` left is no PTX
    return left[0]


def refuse_linked(kernel):
    """Raise KernelError where code in another language belongs to a kernel."""
    halves = getattr(sys.modules.get("numba.cuda._internal.cuda_fp16"), "shim_obj", None)  # see `by_llvm.half_function`
    files = [getattr(one, "name", one) for one in kernel._codelibrary._linking_files if one is not halves]
    files = [str(one) for one in files if not str(one).startswith(os.path.dirname(sys.modules["numba.cuda"].__file__))]
    if files:
        raise KernelError(f"link={files}: code in CUDA C++ is linked by NVIDIA's tools, on a GPU. Write it in Python.")


def launch(kernel, args, griddim, blockdim, stream=0, sharedmem=0) -> None:
    """Run a compiled kernel on the PTX machine: in the place of `_Kernel.launch`.

    Raises KernelError for what the kernel does wrong, with the line of its source; an exception that the kernel itself
    raises, with debug=True; TypeError or ValueError for arguments that do not fit.
    """
    given = Arguments(kernel)
    if len(args) != len(kernel.argument_types):
        raise TypeError(f"the kernel takes {len(kernel.argument_types)} arguments; {len(args)} are given.")
    for kind, value in zip(kernel.argument_types, args, strict=True):
        given.add(kind, value)
    if (only_compiled := ONLY_COMPILED.get()) is not None:
        only_compiled.append(kernel)
        return
    options = dict(kernel=kernel.entry_name, names=named(kernel, args, given), shared=sharedmem)
    captured = captured_arrays(kernel)
    refuse_both(captured, given)
    text, grid, block = text_of(kernel), tuple(griddim), tuple(blockdim)
    try:
        run = ptx_machine.run(text, grid, block, given.flat, variables=captured, seconds=no_gpu.SECONDS, **options)
    except ptx_machine.PTXError as error:
        raise KernelError(str(error)) from None
    except ValueError as error:
        raise not_launched(str(error)) from None
    for name, memory in captured.items():
        memory[:] = run.variables[name]
    print(run.printed, end="")
    for array, left in zip(given.written(), run.arrays, strict=True):
        if array.flags.writeable:
            array[...] = left
    for write_back in given.after:
        write_back()
    if kernel.debug:
        raise_what_it_raised(kernel, run)
    if run.findings:
        raise KernelError(in_words(kernel, run.findings[0]))


def not_launched(why: str) -> Exception:
    """What a driver raises for a launch that no GPU does, Numba's CudaAPIError, and a ValueError, too."""
    from numba.cuda.cudadrv.driver import CudaAPIError

    return type("CudaAPIError", (CudaAPIError, ValueError), {})(1, f"CUDA_ERROR_INVALID_VALUE: {why}")


def refuse_both(captured, given):
    """Raise KernelError where an argument lies in the memory of a captured array: those would be two copies here."""
    for name, memory in captured.items():
        if any(np.may_share_memory(memory, array) for array in given.written()):
            raise KernelError(
                f"{plain_name(name)} is an argument of the kernel, and the kernel uses it by its global name, too. "
                f"Use the argument only."
            )


def refuse_another_type(kind, given, which: int) -> None:
    """Raise TypeError for an array that a signature does not fit. A kernel with one signature is launched unasked."""
    whole_numbers = all(hasattr(dtype, "bitwidth") and hasattr(dtype, "signed") for dtype in (kind.dtype, given.dtype))
    same = kind.dtype == given.dtype or (whole_numbers and kind.dtype.bitwidth == given.dtype.bitwidth)
    if given.ndim and not (same and kind.ndim == given.ndim and kind.layout in ("A", given.layout)):
        raise TypeError(f"argument {which} is {given}; the kernel's signature says {kind}.")


def named(kernel, args, given) -> dict[int, str]:
    """{position among the flat arguments: the name that the kernel's source gives it}, of arrays."""
    function = getattr(kernel, "py_func", None)  # a kernel from Numba's cache has none
    names = list(inspect.signature(function).parameters) if function else []
    return {at: names[which] for which, at in given.arrays if which < len(names)}


OVER = "; if it only takes long"  # the PTX machine's words for `run` follow, which nobody calls here


def in_words(kernel, finding) -> str:
    """A finding of the PTX machine, with the number and the text of the source's line."""
    function = getattr(kernel, "py_func", None)
    source = "".join(linecache.getlines(function.__code__.co_filename)) if function else ""
    message = re.sub(r" at line \d+ of the PTX \(line (\d+) of the source\)", r" in line \1", finding.message)
    for name, (own, *_) in shared_arrays(kernel).items():
        message = re.sub(rf"\b{name}\b", own, message)
    if OVER in message:
        message = message.partition(OVER)[0] + "; if it only takes long, launch fewer threads: no GPU is at work here"
    return quoted(source, finding.source or None, f"{finding.kind}: {message}")


def raise_what_it_raised(kernel, run) -> None:
    """Raise the exception that a kernel compiled with debug=True raised, if it did, with the thread's place."""

    def held(name):
        return int(run.variables[f"{kernel.entry_name}__{name}__"].view(np.int32)[0])

    if code := held("errcode"):
        kind, words, where = kernel.call_helper.get_exception(code)
        thread, block = ([held(f"{what}{axis}") for axis in "zyx"] for what in ("tid", "ctaid"))
        said = f"tid={thread} ctaid={block}"
        if where:
            said = f"In function {where[0]!r}, file {os.path.abspath(where[1])}, line {where[2]}, {said}"
        first, *others = words or ("",)
        raise kind(f"{said}: {first}" if words else said, *others)


class Arguments:
    """What a kernel is launched with, one by one, as Numba passes it.

    flat     for `ptx_machine.run`
    arrays   (which of the kernel's parameters, where in `flat`) of each array
    after    what to call when the kernel has ended
    """

    def __init__(self, kernel):
        self.extensions = kernel.extensions
        self.flat, self.arrays, self.after = [], [], []
        self.which = -1

    def add(self, kind, value) -> None:
        """Add one of the kernel's arguments, of that type of Numba's. Raises NotImplementedError for a type."""
        self.which += 1
        self.add_part(kind, value)

    def add_part(self, kind, value) -> None:
        """Add an argument, or a part of one."""
        from numba.cuda.dispatcher import types

        for extension in reversed(self.extensions):
            kind, value = extension.prepare_args(kind, value, stream=0, retr=self.after)
        add, flat = self.add_part, self.flat
        if isinstance(kind, types.Array):
            array = self.on_device(value)
            refuse_another_type(kind, typed(array), self.which)
            self.arrays.append((self.which, len(flat) + 4))
            # Two pointers of its own, size, item size, data, sizes, strides.
            flat += [0, 0, array.size, array.itemsize, array, *array.shape, *array.strides]
        elif isinstance(kind, types.Record):
            self.arrays.append((self.which, len(flat)))
            flat.append(self.on_device(value))
        elif isinstance(kind, types.CPointer):
            flat.append(no_gpu.reached(int(value)) if value else 0)
        elif isinstance(kind, types.BaseTuple):
            for inner, one in zip(kind, value, strict=True):
                add(inner, one)
        elif isinstance(kind, types.EnumMember):
            add(kind.dtype, value.value)
        elif isinstance(kind, types.Complex):
            add(kind.underlying_float, value.real)
            add(kind.underlying_float, value.imag)
        elif isinstance(kind, (types.NPDatetime, types.NPTimedelta)):
            flat.append(value.view(np.int64))
        elif isinstance(kind, types.Boolean):
            flat.append(bool(value))
        elif kind == types.float16:
            flat.append(int(np.float16(value).view(np.uint16)))
        elif isinstance(kind, (types.Integer, types.Float)):
            if isinstance(value, (complex, np.complexfloating)):
                raise TypeError(f"argument {self.which} is {value!r}; the kernel's signature says {kind}.")
            flat.append(np.array(value).astype(str(kind))[()])
        elif not isinstance(kind, (types.NoneType, types.Omitted, types.Function, types.Dispatcher)):
            raise NotImplementedError(f"{value!r}: a kernel takes no argument of type {kind} here.")

    def written(self):
        """The arrays among them that `Run.arrays` tells of, in its order."""
        arrays = (one[0] if isinstance(one, tuple) else one for one in self.flat)
        return {id(one): one for one in arrays if isinstance(one, np.ndarray)}.values()

    def on_device(self, value):
        """The array of the device that an argument is, or is copied to, and back from when the kernel has ended."""
        from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray, to_device

        hint = type(value).__name__ if hasattr(value, "to_device") and hasattr(value, "value") else ""  # cuda.In(array)
        value = value.value if hint else value
        if isinstance(value, FakeCUDAArray) and not isinstance(value._ary, np.void):
            return value._ary
        if hasattr(value, "__cuda_array_interface__") and not isinstance(value, FakeCUDAArray):
            return no_gpu.array_at(value.__cuda_array_interface__)
        value = getattr(value, "_ary", value)
        if isinstance(value, np.void):  # one record
            array = np.array([value])
            if hint != "In":
                self.after.append(lambda: [value.__setitem__(name, array[0][name]) for name in array.dtype.names])
            return array
        array = to_device(value)._ary
        array.flags.writeable = value.flags.writeable or hint == "In"
        if hint != "In" and value.flags.writeable:
            self.after.append(functools.partial(np.copyto, value, array))
        return array


# ----------------------------------------------------------------------------- with no GPU: in the place of Numba's own


class NVVM:
    """What Numba asks of NVIDIA's library before it compiles."""

    supported_ccs = no_gpu.CAPABILITIES

    def __init__(self):
        from numba.cuda.cudadrv import nvvm

        # the built-in target's, numba-cuda's
        self.data_layout = getattr(nvvm, "_datalayout_i128", None) or nvvm._datalayout

    def get_ir_version(self):
        """The version of the text that Numba writes."""
        return 2, 0, 3, 1


def replace(owner, **values) -> None:
    """Put values in the place of what Numba has in one of its modules or classes, by name.

    Raises RuntimeError where it has no such name: this Numba is another than the course knows.
    """
    for name, value in values.items():
        if not hasattr(owner, name):
            import numba

            raise RuntimeError(
                f"Numba {numba.__version__} has no {owner.__name__}.{name}, which the course needs where there is no "
                f"GPU. Install the version that the course was tested with: python3 tools/install.py lab"
            )
        setattr(owner, name, value)


@functools.cache
def stand_in() -> None:
    """Put what this file and `no_gpu` have in the place of NVIDIA's compiler and driver, once in a process."""
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
    replace(asked, get_supported_ccs=lambda: no_gpu.CAPABILITIES)
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
        setattr(no_gpu.Context, name, lambda self: Stream())
    no_gpu.Context.create_external_stream = lambda self, handle: Stream(handle)
    driver._to_core_stream = lambda stream: stream or Stream()  # of numba-cuda, for its own launch
    driver.driver.is_initialized, driver.driver.initialization_error = True, no_gpu.NO_DRIVER
    replace(type(driver.driver), get_device=lambda self, devnum=0: no_gpu.CONTEXT.device)
    replace(devices, _runtime=no_gpu.Runtime(), gpus=no_gpu.Runtime.gpus)
    replace(type(runtime.runtime), get_version=lambda self: ("LLVM", 0))
    type(runtime.runtime).is_supported_version = lambda self: True  # numba-cuda 0.19 asks for it, and has none
    replace(dispatcher._Kernel, launch=launch, bind=lambda self: None)
    replace(
        codegen.CUDACodeLibrary,
        get_cufunc=lambda self: SimpleNamespace(attrs=no_gpu.Attributes(self.get_asm_str()), module=None),
    )
    replace(dispatcher.config, CUDA_LOW_OCCUPANCY_WARNINGS=0)  # small teaching grids are on purpose


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
        return obj if isinstance(obj, fake) else fake(no_gpu.array_at(obj.__cuda_array_interface__))

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
            memory = None if gpu_data is None else no_gpu.bytes_of(no_gpu.owner_of(gpu_data._ary))
            start = 0 if gpu_data is None else no_gpu.address(gpu_data._ary) - no_gpu.address(memory)
            return fake(np.ndarray(shape, dtype, memory, start, strides), stream)

        def __instancecheck__(cls, one):
            return isinstance(one, fake)

    replace(real, DeviceNDArray=Made("DeviceNDArray", (), {}))
    for arithmetic in ("add", "sub", "mul", "floordiv", "truediv", "mod", "pow"):  # which no GPU's array has
        delattr(fake, f"__{arithmetic}__")
    replace(fake, __name__="DeviceNDArray", __qualname__="DeviceNDArray", transpose=transpose)
    fake.__cuda_array_interface__ = property(lambda self: no_gpu.interface(self._ary))
    fake.device_ctypes_pointer = property(lambda self: ctypes.c_void_p(no_gpu.interface(self._ary)["data"][0]))
    fake.device_pointer = property(lambda self: no_gpu.interface(self._ary)["data"][0])
    fake.gpu_data = property(lambda self: self)
    fake._numba_type_ = property(lambda self: typed(self._ary))
    known = "to_device", "device_array", "device_array_like", "pinned_array", "pinned_array_like", "mapped_array"
    mine = {name: getattr(devicearray, name) for name in known}
    mine |= dict(
        managed_array=managed_array,
        mapped_array_like=mapped_array_like,
        mapped=mapped,
        pinned=pinned,
        as_cuda_array=as_cuda_array,
        from_cuda_array_interface=lambda described, owner=None, sync=True: fake(no_gpu.array_at(described)),
        event_elapsed_time=lambda start, end: start.elapsed_time(end),
        is_available=lambda: True,
        cuda_error=lambda: None,
        detect=no_gpu.detect,
        profiling=nullcontext,
        profile_start=lambda: None,
        profile_stop=lambda: None,
        gpus=no_gpu.Runtime.gpus,
        close=lambda: None,
    )
    replace(cuda, **mine)
    replace(api, **{name: value for name, value in mine.items() if hasattr(api, name)})


def typed(array):
    """Numba's type of an array of the device."""
    from numba.cuda.dispatcher import types
    from numba.cuda.simulator.kernelapi import numpy_support

    if isinstance(array, np.void):
        return numpy_support.from_dtype(array.dtype)
    repeated = 0 in array.strides and array.size
    layout = "C" if array.flags.c_contiguous else "F" if array.flags.f_contiguous else "A"
    return types.Array(numpy_support.from_dtype(array.dtype), array.ndim, "A" if repeated else layout)
