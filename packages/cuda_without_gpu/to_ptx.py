"""PTX of a kernel that Numba compiles, with no GPU: its texts for LLVM, and what Numba lets NVIDIA's tools add."""

import functools
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from ptx_machine.limits import CONSTANT, LOCAL, STATIC
from ptx_machine.names import plain_name

from . import by_llvm, device
from .errors import KernelError
from .memory import address, array_of, owner_of

WATCHED, COUNTED = 1, 3  # LLVM's levels: for code that keeps each access to arrays, and for code as a GPU would get it


def compile_ir(modules: str | list[str], arch: str = "compute_80", **options: object) -> bytes:
    """PTX of LLVM's text, in the place of `nvvm.compile_ir`: by LLVM, at the level at which kernels are run."""
    if "gen-lto" in options:
        raise NotImplementedError("lto=True needs NVIDIA's linker and a GPU; leave it out.")
    texts = [modules] if isinstance(modules, str) else modules
    if TEXTS_ONLY.get():
        return NEXT_TEXT.join(texts).encode()
    refuse_large_arrays(texts, "lc")
    return by_llvm.compiled(whole(texts), WATCHED, arch.replace("compute_", "sm_")).encode()


NEXT_TEXT = "\n; the next text\n"
TEXTS_ONLY = ContextVar("TEXTS_ONLY", default=False)  # whether LLVM's texts stay what they are


@contextmanager
def within(variable: ContextVar, value: object) -> Iterator[None]:
    """Within it, a variable has that value."""
    here = variable.set(value)
    try:
        yield
    finally:
        variable.reset(here)


def whole(texts: list[str], axes: bool = False) -> tuple[str, ...]:
    """LLVM's texts of a kernel, with what Numba lets NVIDIA's compiler and linker add; `axes`: see `text_of`."""
    from numba.cuda.cudadrv import nvvm

    texts = texts if axes else [AXIS_CHECK.sub("", text) for text in texts]
    texts = tuple(map(without_numbas_lines, map(nvvm.llvm_replace, texts)))
    halves = sorted({at for text in texts for at in HALF.findall(text)})
    texts += tuple(filter(None, map(by_llvm.half_function, halves)))
    return texts + (reshaping() if any(f'@"{RESHAPE}"' in text for text in texts) else ())


# In LLVM's text: an index into an axis of an array, and the axis's size, as `let_indices_show` has them.
AXIS_CHECK = re.compile(r'^ *call void asm sideeffect "index_within [^"]*", ?"l,l"\s*\([^()]*\).*\n', re.MULTILINE)


def without_numbas_lines(text: str) -> str:
    """LLVM's text of a function; one of Numba's own has no lines, so that it gets that of its call, where it is put."""
    place = re.search(r'!DIFile\(directory: "([^"]*)"', text)
    own = tuple(os.path.dirname(sys.modules[one].__file__) for one in ("numba", "numba.cuda"))
    if not (place and place[1].startswith(own)):
        return text
    return re.sub(r",? !dbg !\d+|^ *call void @\"?llvm\.dbg\..*\n", "", text, flags=re.MULTILINE)


def text_of(kernel, level: int = WATCHED, unset: Iterable[str] = (), each: bool = False, axes: bool = False) -> str:
    """PTX of a kernel that Numba has compiled for some types (a `_Kernel`), made once for each level.

    `unset`: some of `variables_of`, which hold not the zero that Numba lays in each, but NaN or -1, until they are set.
    `each`: whether to make every load and store of a floating-point number in an array, in the source's order, one that
    is asked for twice included. `axes`: whether the PTX machine is asked about each index whether its axis has it.
    """
    captured = captured_arrays(kernel)  # whose names may change
    made, asked = vars(kernel).setdefault("_made_ptx", {}), (level, frozenset(unset), each, axes, *captured)
    if asked not in made:
        refuse_linked(kernel)
        refuse_large_arrays(kernel._codelibrary.llvm_strs)
        major, minor = device.CAPABILITY
        texts = [with_unset(text, frozenset(unset)) for text in kernel._codelibrary.llvm_strs]
        texts = list(map(volatile, texts)) if each else texts
        made[asked] = by_llvm.compiled(whole(with_captured(texts, captured), axes), level, f"sm_{major}{minor}")
    return made[asked]


# In LLVM's text: an array of a kernel's, its memory by a letter, how many elements, and their type.
ARRAY = re.compile(r'"_cudapy_([lsc])mem[_.\d]*" = (?:alloca|[a-z ]*addrspace\(\d\) \w+) \[(\d+) x (\w+)\]')
MEMORIES = {"l": ("local", LOCAL, " a thread"), "s": ("shared", STATIC, " a block"), "c": ("constant", CONSTANT, "")}
BITS = {"half": 16, "float": 32, "double": 64}


def refuse_large_arrays(texts: list[str], letters: str = "lsc") -> None:
    """Raise KernelError for arrays that no GPU's linker has room for, in the memories of these letters.

    Of local and constant ones LLVM would take minutes; a processor may have room for more shared ones.
    """
    for letter in letters:
        memory, most, each = MEMORIES[letter]
        if (used := bytes_in(texts, letter)) > most:
            instead = "Give them to the kernel as arguments." if letter == "c" else "Make them smaller."
            raise KernelError(f"its {memory} arrays take {used:,} bytes{each}; a GPU has {most:,} at most. {instead}")


def bytes_in(texts: list[str], letter: str) -> int:
    """The bytes of a kernel's arrays in the memory of that letter, by LLVM's texts of it."""
    made = (found for text in texts for found in ARRAY.findall(text))
    return sum(int(count) * (BITS.get(kind) or int(kind[1:])) // 8 for one, count, kind in made if one == letter)


def captured_arrays(kernel) -> dict[str, np.ndarray]:
    """{a name for LLVM, as C++ has it: bytes} of each device array that a kernel uses and is not launched with."""
    used = getattr(kernel._codelibrary, "referenced_objects", {}).values()
    names = {id(value): name for name, value in outside(kernel).items()} if used else {}
    found = {}
    for value in used:
        name = names.get(id(value), f"captured_{len(found)}")
        found[f"_Z{len(name)}{name}"] = owner_of(array_of(value))
    return found


def outside(kernel) -> dict[str, object]:
    """{name: value} of what a kernel uses from around it, now; {} for one from Numba's cache, which has no function."""
    function = getattr(kernel, "py_func", None)
    around = inspect.getclosurevars(function) if function else None
    return {**around.globals, **around.nonlocals} if function else {}


def with_captured(texts: list[str], captured: dict[str, np.ndarray]) -> list[str]:
    """LLVM's texts with a variable in the place of each address of a captured array, or of a part of it."""
    if not captured:
        return texts

    def variable(at):
        for name, memory in captured.items():
            if 0 <= (start := int(at[1]) - address(memory)) < memory.nbytes:
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
BEGINS = re.compile(rf'( +%"{LOCAL_ARRAY}[.\d]*" = alloca \[(\d+) x (\w+)\]\n)( +store .*? )zeroinitializer(, .*\n)')
# LLVM lays so many zeros one by one, which takes it minutes. The PTX machine knows itself which elements are not set.
LONG = 512
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


def with_unset(text: str, chosen: frozenset) -> str:
    """LLVM's text with NaN or -1 for the zeros of variables not set yet; a long local array begins with nothing."""

    def begins(at):
        made, count, kind, stored, place = at.groups()
        if int(count) > LONG:
            return made
        if LOCAL_ARRAY not in chosen or kind not in OTHER_THAN_ZERO:
            return at[0]
        numbers = ", ".join([f"{kind} {OTHER_THAN_ZERO[kind]}"] * int(count))
        return f"{made}{stored}[{numbers}]{place}"

    def takes(at):
        result, what, kind, _, after, name = at.groups()
        return result + what + OTHER_THAN_ZERO[kind] + after if name in chosen else at[0]

    text = BEGINS.sub(begins, text)
    return TAKES_ZERO.sub(takes, text) if chosen else text


def shared_arrays(kernel) -> dict[str, tuple[str, tuple, int]]:
    """{what LLVM calls a shared array: (its name in the kernel, its shape, bytes of an element)} of a compiled kernel.

    {} where LLVM has another number of them, as where a function that the kernel calls makes one, and of a kernel from
    Numba's own cache, which has no types any more; one that was kept here has kept them.
    """
    from numba.np import numpy_support

    typed, made, named = kernel._type_annotation, {}, {}
    if typed is None:
        return getattr(kernel, "shared_arrays", {})
    lines = (line for block in typed.blocks.values() for line in block.body)
    for target, value in ((line.target.name, line.value) for line in lines if type(line).__name__ == "Assign"):
        does = getattr(value, "op", "")
        if does == "call" and "function shared.array" in str(typed.typemap[value.func.name]):
            sides, kind = typed.calltypes[value].args[0], typed.typemap[target].dtype
            shape = tuple(side.literal_value for side in getattr(sides, "types", (sides,)))
            made[target] = shape, numpy_support.as_dtype(kind).itemsize
        elif not does and getattr(value, "name", "") in made and not target.startswith("$"):
            named.setdefault(value.name, target.partition(".")[0])
    texts = "".join(kernel._codelibrary.llvm_strs)
    theirs = sorted(set(re.findall(r"_cudapy_smem_\d+", texts)), key=lambda name: int(name.rpartition("_")[2]))
    if len(theirs) != len(made):
        return {}
    own_names = (named.get(one, "a shared array") if one.startswith("$") else one.partition(".")[0] for one in made)
    return {name: (own, *sizes) for name, own, sizes in zip(theirs, own_names, made.values(), strict=True)}


def with_names_of_source(kernel, message: str) -> str:
    """What the PTX machine says of a compiled kernel, with arrays called as in its source, or by their memory."""
    tables = [name for name, value in outside(kernel).items() if isinstance(value, np.ndarray)]
    named = {name: own for name, (own, *_) in shared_arrays(kernel).items()}
    named["_cudapy_cmem"] = tables[0] if len(tables) == 1 else "a constant array"
    for name, own in {**named, r"_cudapy_smem_\d+": "a shared array", r"__local_depot\d+": "its local arrays"}.items():
        message = re.sub(rf"\b{name}\b", own, message)
    return message


HALF = re.compile(r'declare i32 @"(_Z\w+|__numba_wrapper_h\w+)"')  # functions for float16 are among them
RESHAPE = "numba_attempt_nocopy_reshape"  # a function that Numba calls


@functools.cache
def reshaping() -> tuple[str, ...]:
    """LLVM's text of what Numba's `reshape` calls, made by Numba of a Python function."""
    from numba import cuda, types

    one, some, named = types.int64, types.CPointer(types.int64), {"abi_name": RESHAPE}
    signature = types.int32(one, some, some, one, some, some, one, types.int32)
    with within(TEXTS_ONLY, True):
        code, _ = cuda.compile(reshaped, signature, device=True, abi="c", abi_info=named, cc=device.CAPABILITY)
    return tuple(code.split(NEXT_TEXT))


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

    kernel = function if hasattr(function, "targetoptions") else cuda.jit(function)
    left = []
    with within(ONLY_COMPILED, left):
        kernel[1, 1](*args)
    if captured := captured_arrays(left[0]):
        names = ", ".join(map(plain_name, captured))
        raise KernelError(f"the kernel uses arrays of the device from outside: {names}. Give it arguments only.")
    refuse_linked(left[0])
    refuse_large_arrays(left[0]._codelibrary.llvm_strs, "lc")
    return left[0]


def refuse_linked(kernel):
    """Raise KernelError where code in another language belongs to a kernel."""
    halves = getattr(sys.modules.get("numba.cuda._internal.cuda_fp16"), "shim_obj", None)  # see `by_llvm.half_function`
    files = [getattr(one, "name", one) for one in kernel._codelibrary._linking_files if one is not halves]
    files = [str(one) for one in files if not str(one).startswith(os.path.dirname(sys.modules["numba.cuda"].__file__))]
    if [name for name in files if name.startswith("<unnamed")]:
        raise KernelError("Numba has bfloat16 in CUDA C++, which NVIDIA's tools link, on a GPU. Use float32.")
    if files:
        raise KernelError(f"link={files}: code in CUDA C++ is linked by NVIDIA's tools, on a GPU. Write it in Python.")
