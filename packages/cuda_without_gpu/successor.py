"""Kernels of numba-cuda-mlir, numba-cuda's successor, on the PTX machine. NVIDIA's wheels make the PTX, with no GPU.

Its launcher is in C++: two classes take its place. What asks the driver on the host's side is replaced in `stand_in`.
"""

import enum
import functools
import inspect
import linecache
import re
from types import SimpleNamespace

import numpy as np

import ptx_machine

from . import device
from .before_numba import once_imported
from .errors import KernelError
from .memory import array_at, reached
from .stand_in import replace

TESTED = 'pip install "numba-cuda-mlir>=0.6,<=0.6.0" nvidia-cuda-nvrtc nvidia-nvvm nvidia-nvjitlink'
DYNAMIC = re.compile(r"\.shared( \.align \d+ \.b8 __dynamic_shmem__\d+);")  # no size: as much as the launch gives
FAILED = "__numba_cuda_mlir_error_code"  # a variable of the PTX: what a kernel with debug=True has raised
RAISED = (None, AssertionError, IndexError, ValueError, RuntimeError, ZeroDivisionError)
SHARED = {}  # {what the PTX calls a shared array: its name in the source}


@functools.cache
def stand_in() -> None:
    """Let numba-cuda-mlir compile for an A100 that is not there, and launch on the PTX machine, once in a process."""
    from numba_cuda_mlir import _cext, compiler, descriptor, tools
    from numba_cuda_mlir.numba_cuda.cudadrv import driver

    replace(tools, _cached_cc=device.CAPABILITY)
    replace(_cext, KernelDispatcher=KernelDispatcher)
    replace(descriptor, LaunchConfiguration=LaunchConfiguration)
    replace(driver._Linker, complete=linked)
    replace(compiler.CodeLibrary, get_kernel_attributes=attributes)
    once_imported("numba_cuda_mlir.lowering.cuda", f"{__name__}:let_shared_arrays_have_names")
    begin = descriptor.MLIRDispatcher.__init__

    def begin_with_lines(self, py_func, targetoptions=None):
        lines = bool(linecache.getlines(py_func.__code__.co_filename)) and not (targetoptions or {}).get("debug")
        begin(self, py_func, {**(targetoptions or {}), "lineinfo": lines})

    replace(descriptor.MLIRDispatcher, __init__=begin_with_lines)


def let_shared_arrays_have_names() -> None:
    """Let `SHARED` know what the source calls each shared array."""
    from numba_cuda_mlir.lowering import cuda as lowering
    from numba_cuda_mlir.numba_cuda.core import ir

    lay = lowering.cuda_static_shared_memory

    def lay_and_note_name(lower, target, *others):
        number = lowering.shmem_id
        lay(lower, target, *others)
        assigned = (one for block in lower.blocks.values() for one in block.find_insts(ir.Assign))
        named = [one.target.name for one in assigned if isinstance(one.value, ir.Var) and one.value.name == target.name]
        SHARED[f"static_shared_memory_{number}"] = (named or [target.name])[0].partition(".")[0]

    replace(lowering, cuda_static_shared_memory=lay_and_note_name)


def linked(linker) -> SimpleNamespace:
    """In the place of the linker's machine code: PTX of all that belongs to a kernel, as `code`."""
    linker._materialize_pending_cu()
    texts = [one.code for one in linker._object_codes if one.code_type == "ptx"]
    if other := {one.code_type for one in linker._object_codes} - {"ptx", "ltoir"}:
        raise KernelError(f"link: {', '.join(sorted(other))} is machine code of a GPU. Link PTX, LTO-IR or CUDA C++.")
    if len(texts) < len(linker._object_codes):
        linker._object_codes = [one for one in linker._object_codes if one.code_type == "ltoir"]
        texts.append(linker.get_linked_ptx())
    *others, kernel = (text if isinstance(text, str) else text.decode() for text in texts)
    others = [re.sub(r"^\s*\.(loc|file)\b.*", "", text, flags=re.MULTILINE) for text in others]  # lines of others' files
    return SimpleNamespace(code="\n".join([kernel, *others]).encode())


def attributes(library) -> dict:
    """What a driver says of a kernel, but for its registers, which only NVIDIA's compiler knows."""
    held = device.Attributes(library._cubin.decode())
    return dict(shared_mem_per_block=held.shared, const_mem_size=held.const, local_mem_per_thread=held.local,
                max_threads_per_block=held.maxthreads)  # fmt: skip


class KernelDispatcher:
    """In the place of the launcher's: what compiles a kernel for its arguments."""

    def __init__(self, compile, constants, ensure_context=None, debug=False, literal_arg_flags=None):
        self.compile, self.debug = compile, debug


class LaunchConfiguration:
    """In the place of the launcher's: a kernel with its grid, block and bytes of dynamic shared memory."""

    def __init__(self, dispatcher, grid, block, stream=None, sharedmem=0, cluster=None):
        if cluster is not None:
            raise KernelError("a launch in clusters: the PTX machine makes each block a cluster of its own.")
        self.dispatcher, self.grid, self.block, self.shared = dispatcher, grid, block, sharedmem or 0

    def __call__(self, *args):
        """Launch it. Raises KernelError for what the kernel does wrong, or what it raises itself, with debug=True."""
        code, entry, _, *hooks = self.dispatcher.compile(args)
        function = self.dispatcher.compile.__self__.py_func
        text = DYNAMIC.sub(r".extern .shared\1[];", code.decode())
        flat, names, after = [], {}, []
        for name, value in zip(names_of(function, len(args)), args, strict=True):
            names |= {len(flat): name, len(flat) + 1: name}
            flat += passed(value, after)
        options = dict(kernel=entry, names=names, shared=self.shared, seconds=device.SECONDS, requests=False)
        try:
            run = device.run(text, self.grid, self.block, flat, **options)
        except ptx_machine.PTXError as error:
            raise KernelError(str(error)) from None
        print(run.printed, end="")
        arrays = {id(one): one for one in flat if isinstance(one, np.ndarray)}.values()
        for array, left in zip(arrays, run.arrays, strict=True):
            if array.flags.writeable:
                array[...] = left
        for write_back in after:
            write_back()
        if self.dispatcher.debug and (number := int(run.variables[FAILED].view(np.int32)[0])):
            raise RAISED[number](f"the kernel {function.__name__} raised it")
        if run.findings:
            raise KernelError(in_words(function, run.findings[0]))


def names_of(function, count: int) -> list[str]:
    """The names of a launch's arguments in the source, one for each member of a tuple."""
    from numba_cuda_mlir.descriptor import _compile_arg_types, _flatten_arg

    found = []
    for name, value in zip(inspect.signature(function).parameters, _compile_arg_types.values, strict=False):
        _flatten_arg(value, members := [])
        found += [f"{name}[{i}]" for i in range(len(members))] if isinstance(value, (tuple, list)) else [name]
    return found if len(found) == count else [f"argument {i}" for i in range(count)]


def passed(value, after: list) -> list:
    """What the launcher makes of one argument, for `ptx_machine.run`; adds to `after` what copies a record back."""
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, np.void):
        record = np.array([value])
        after.append(lambda: [value.__setitem__(name, record[0][name]) for name in record.dtype.names])
        return [record]
    if described := getattr(value, "__cuda_array_interface__", None):
        array = array_at(described)
        if hasattr(value, "__device_record__"):
            return [array]
        size = 1 if array.dtype.kind in "VSU" else array.itemsize  # of what an array's strides count
        strides = array.strides or ()
        return [array, array, np.int64(0), *map(np.int64, array.shape), *(np.int64(step // size) for step in strides)]
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return [value.view(np.int64)]
    if isinstance(value, np.float16):
        return [value.view(np.uint16)]
    return [np.complex128(value) if isinstance(value, complex) else value]


def in_words(function, finding) -> str:
    """A finding with the number and the text of the source's line."""
    message = re.sub(r" at line \d+ of the PTX \(line (\d+) of the source\)", r" in line \1", finding.message)
    message = re.sub(r" at line \d+ of the PTX", "", message)
    message = re.sub(r"\bstatic_shared_memory_\d+", lambda at: SHARED.get(at[0], "a shared array"), message)
    message = re.sub(r"\b__dynamic_shmem__\d+", "a shared array", message)
    if not finding.source:
        return f"{finding.kind}: {message}"
    code = linecache.getline(function.__code__.co_filename, finding.source).strip()
    return f"line {finding.source}: {finding.kind}: {message}" + (f"\n    {code}" if code else "")
