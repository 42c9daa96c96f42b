"""Kernels of numba-cuda-mlir, numba-cuda's successor, on the PTX machine. NVIDIA's wheels make the PTX, with no GPU.

Its launcher is in C++: two classes take its place.
"""

import ast
import dataclasses
import enum
import functools
import inspect
import re
from types import SimpleNamespace

import numpy as np

from . import device
from .before_numba import once_imported
from .errors import KernelError
from .host import let_host_work
from .launching import ONE_AT_A_TIME, Arguments, Launch
from .memory import address, array_of, owner_at, owner_of
from .replacing import replace

DYNAMIC = re.compile(r"\.shared( \.align \d+ \.b8 __dynamic_shmem__\d+);")  # no size: as much as the launch gives
ATOMIC = re.compile(r"\batom\.(shared|global)?\.?cas\.b(\d+)")
LINE = re.compile(r"^[ \t]*\.loc\s+(\d+ \d+)", re.MULTILINE)
ADDRESS = re.compile(r"(?<=[ \[])\d{9,}(?=[;\]+])")  # of a device array that a kernel captures, among other numbers
FAILED = "__numba_cuda_mlir_error_code"  # a variable of the PTX: what a kernel with debug=True has raised
RAISED = {1: AssertionError, 2: IndexError, 3: ValueError, 5: ZeroDivisionError}
SHARED = {}  # {what the PTX calls a shared array: its name in the source}


@functools.cache
def stand_in() -> None:
    """Let numba-cuda-mlir compile for an A100 that is not there, and launch on the PTX machine, once in a process."""
    from cuda.core import _program
    from numba_cuda_mlir import _cext, ast_transforms, compiler, descriptor, mlir_lowering, tools
    from numba_cuda_mlir.numba_cuda import driver

    let_host_work("numba_cuda_mlir.numba_cuda", "numba_cuda_mlir.cuda")
    replace(tools, _cached_cc=device.CAPABILITY)
    replace(_cext, KernelDispatcher=KernelDispatcher)
    replace(descriptor, LaunchConfiguration=LaunchConfiguration)
    replace(driver._Linker, complete=linked)
    _program.driver_version = lambda: (99, 0, 0)  # which newer ones ask for before they compile CUDA C++
    hinted = SimpleNamespace(cache_config=no_hint, set_shared_memory_carveout=no_hint)
    replace(compiler.CodeLibrary, get_kernel_attributes=attributes, get_cufunc=lambda self: hinted)
    begin, resolve = descriptor.MLIRDispatcher.__init__, mlir_lowering.resolve_link_plan
    parse = ast_transforms.get_function_ast

    def begin_with_lines(self, py_func, targetoptions=None):
        options = targetoptions or {}
        begin(self, py_func, {**options, "lineinfo": not options.get("debug")})

    def parse_with_lines(function):
        """The tree of a function that is changed before it is compiled, with its lines in its file."""
        if (tree := parse(function)) is not None:
            ast.increment_lineno(tree, function.__code__.co_firstlineno - 1)
        return tree

    def resolve_with_lines(*given):
        """Which inputs become LTO-IR, whose linker drops the lines: as few as can be."""
        plan = resolve(*given)
        asked = plan.has_ltoir_link_items or plan.compile_output == "ltoir"
        return dataclasses.replace(plan, compile_new_inputs_as_ltoir=asked)

    replace(descriptor.MLIRDispatcher, __init__=begin_with_lines, get_regs_per_thread=registers)
    replace(mlir_lowering, resolve_link_plan=resolve_with_lines)
    replace(ast_transforms, get_function_ast=parse_with_lines)
    once_imported("numba_cuda_mlir.lowering.cuda", f"{__name__}:let_shared_arrays_have_names")
    once_imported("numba_cuda_mlir.lowering.print", f"{__name__}:let_integers_print")


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


def let_integers_print() -> None:
    """Let `print` hand on 64 bits of an integer, as its format says: of a smaller one nobody sets the upper ones."""
    from numba_cuda_mlir._mlir.dialects import arith
    from numba_cuda_mlir._mlir.ir import IntegerType
    from numba_cuda_mlir.lowering import print as lowering

    form = lowering._get_format_and_values

    def form_wide(lower, value):
        words, parts = form(lower, value)
        small = [isinstance(one.type, IntegerType) and one.type.width < 64 for one in parts]
        wide = IntegerType.get_signless(64) if any(small) else None
        return words, [arith.extui(wide, one) if less else one for less, one in zip(small, parts, strict=True)]

    replace(lowering, _get_format_and_values=form_wide)


def linked(linker) -> SimpleNamespace:
    """In the place of the linker's machine code: PTX of all that belongs to a kernel, as `code`."""
    linker._materialize_pending_cu()
    of_kind = {"ptx": [], "ltoir": []}
    for one in linker._object_codes:
        if one.code_type in of_kind:
            of_kind[one.code_type].append(one)
        elif "cudadevrt" not in one.name:  # whose functions the PTX machine has
            raise KernelError(f"link: {one.name}, machine code of a GPU, cannot be. Link PTX, LTO-IR or CUDA C++.")
    texts = [one.code for one in of_kind["ptx"]]
    if of_kind["ltoir"]:
        linker._object_codes = of_kind["ltoir"]
        texts.append(linker.get_linked_ptx())
    *others, kernel = (text if isinstance(text, str) else text.decode() for text in texts)
    others = [LINE.sub("//", text) for text in others]  # which are of other files
    return SimpleNamespace(code="\n".join([*others, kernel]).encode())


def registers(dispatcher, sig=None):
    """How many registers a thread has: not known here."""
    raise NotImplementedError("a kernel's registers: only NVIDIA's compiler knows them.")


def no_hint(*given, **named):
    """In the place of what tells a driver how to divide a multiprocessor's memory."""


def attributes(library) -> dict:
    """What else a driver says of a kernel."""
    held = device.Attributes(library._cubin.decode())
    return dict(
        shared_mem_per_block=held.shared,
        const_mem_size=held.const,
        local_mem_per_thread=held.local,
        max_threads_per_block=held.maxthreads,
    )


@functools.lru_cache(maxsize=64)
def readable(code: bytes) -> str:
    """PTX as it is meant: with dynamic shared memory as large as the launch says.

    An atomic operation that a GPU does not have is a loop of compare and swap. Its first load, in the same line of the
    source, is no race, whose value is only a guess.
    """
    text = DYNAMIC.sub(r".extern .shared\1[];", code.decode())
    first, *parts = re.split(r"(?=^[ \t]*\.loc\s)", text, flags=re.MULTILINE)
    swapped = {(LINE.match(part)[1], *ATOMIC.search(part).groups()) for part in parts if ATOMIC.search(part)}
    for number, part in enumerate(parts):
        for _, space, bits in (one for one in swapped if one[0] == LINE.match(part)[1]):
            space = f".{space}" if space else ""
            parts[number] = re.sub(rf"\bld{space}(?=\.[bfsu]{bits}\b)", f"ld.relaxed.gpu{space}", parts[number])
    return "".join([first, *parts])


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
        from numba_cuda_mlir.descriptor import _compile_arg_types, _flatten_arg
        from numba_cuda_mlir.mlir_optimization import _nrt_memsys_setup_callback

        code, entry, *_ = self.dispatcher.compile(args)
        made = self.dispatcher.compile.__self__
        callbacks = {*made._module_setup_callbacks, *made._module_teardown_callbacks}
        if callbacks - {_nrt_memsys_setup_callback}:  # which only counts what kernels ask memory for
            raise KernelError("a callback of a module that a driver has loaded: there is no driver.")
        kernel = SimpleNamespace(code=code, entry_name=entry, py_func=made.py_func, debug=self.dispatcher.debug)
        given, values = Given(), _compile_arg_types.values
        for given.which, value in enumerate(values):
            _flatten_arg(value, members := [])
            for one in members:
                given.add(one)
        given.let_overlapping_be_one()
        launch = OfSuccessor(kernel, given, self.grid, self.block, self.shared)
        with ONE_AT_A_TIME:
            launch.take(launch.run())


class OfSuccessor(Launch):
    """One launch of a kernel of numba-cuda-mlir."""

    def captured_arrays(self):
        """{a name, as C++ has it: bytes} of each device array whose address stands in the PTX."""
        owners = [owner_at(int(place)) for place in ADDRESS.findall(readable(self.kernel.code))]
        owners = {id(owner): owner for owner in owners if owner is not None}
        outside = inspect.getclosurevars(self.kernel.py_func) if owners else None
        seen = {**outside.globals, **outside.nonlocals}.items() if owners else ()
        named = {id(owner_of(array_of(one))): name for name, one in seen if hasattr(one, "__cuda_array_interface__")}
        names = [named.get(owner, f"captured_{number}") for number, owner in enumerate(owners)]
        return {f"_Z{len(name)}{name}": owner for name, owner in zip(names, owners.values(), strict=True)}

    def text(self):
        """Its PTX, with a variable for each array that it captures."""

        def variable(at):
            for name, memory in self.captured.items():
                if 0 <= (start := int(at[0]) - address(memory)) < memory.nbytes:
                    return f"{name}+{start}" if start else name
            return at[0]

        text = readable(self.kernel.code)
        held = [f".global .align 16 .b8 {name}[{memory.nbytes}];\n" for name, memory in self.captured.items()]
        return (ADDRESS.sub(variable, text) if held else text) + "".join(held)

    def with_names_of_source(self, message):
        """What the PTX machine says of it, with shared arrays called as in its source."""
        message = re.sub(r"\bstatic_shared_memory_\d+", lambda at: SHARED.get(at[0], "a shared array"), message)
        message = re.sub(r"\b__dynamic_shmem__\d+", "a shared array", message)
        message = re.sub(r"\bconstant_array_\d+", "a constant array", message)
        return re.sub(r"\b__local_depot\d+", "its local arrays", message)

    def not_launched(self, why):
        """What the launcher raises, of which its caller makes a CUDAError."""
        return RuntimeError(f"Failed to launch CUDA kernel: CUDA_ERROR_INVALID_VALUE ({why})")

    def raise_what_it_raised(self, run):
        """Raise the exception that it raised itself, with debug=True: which one is all that is known."""
        if number := int(run.variables[FAILED].view(np.int32)[0]):
            raise RAISED.get(number, RuntimeError)(f"{self.kernel.py_func.__name__}, a kernel, raised it")


class Given(Arguments):
    """What a kernel is launched with, one by one, as the launcher passes it."""

    def __init__(self):
        super().__init__(SimpleNamespace(extensions=()))

    def add(self, value) -> None:
        """Add an argument, or a part of one."""
        flat = self.flat
        value = value.value if isinstance(value, enum.Enum) else value
        if isinstance(value, np.void):  # a record of the host's
            record = np.array([value])
            self.arrays.append((self.which, len(flat)))
            self.after.append(lambda: [value.__setitem__(name, record[0][name]) for name in record.dtype.names])
            flat.append(record)
        elif hasattr(value, "__device_record__"):
            self.arrays.append((self.which, len(flat)))
            flat.append(array_of(value).reshape(1))
        elif hasattr(value, "__cuda_array_interface__"):
            array = array_of(value)
            in_bytes = array.dtype.kind in "VSU" and value.__cuda_array_interface__.get("strides")
            size = 1 if in_bytes else array.itemsize  # of what it counts strides in
            self.arrays += [(self.which, len(flat)), (self.which, len(flat) + 1)]
            # Its memory, the same again, how far its first element is from there, sizes, strides.
            flat += [array, array, 0, *array.shape, *(step // size for step in array.strides)]
        elif isinstance(value, (np.datetime64, np.timedelta64)):
            flat.append(value.view(np.int64))
        elif isinstance(value, complex):
            flat.append(np.complex128(value))
        elif isinstance(value, int) and (owner := owner_at(value)) is not None:  # a pointer
            flat.append((owner, value - address(owner)))
        else:
            flat.append(value)
