"""Numba's CUDA target with no NVIDIA GPU: LLVM, which llvmlite brings, compiles; the PTX machine runs.

`install` puts both in the place of NVIDIA's compiler and driver, so that plain Numba works: `@cuda.jit` with its
options and signatures, `kernel[grid, block](…)`, `cuda.to_device` and the rest of the host's side. It takes both of
Numba's targets: numba-cuda, and the one built into Numba, which is the only one on macOS. Arrays of the device are
those of Numba's own simulator, which lie in the host's memory. Nothing of this runs where there is a GPU.
"""

import functools
import inspect
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import llvmlite.binding as llvm
import numpy as np

import ptx_machine

from .errors import KernelError

TRIPLE = "nvptx64-nvidia-cuda"
CAPABILITY = (8, 0)  # an A100's: the course's kernels need no younger one
CAPABILITIES = ((7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0))
WATCHED, COUNTED = 1, 3  # levels of LLVM's optimiser: code to watch, and code to count
AS_WRITTEN = 0  # each variable is in memory, so that one that was never set is seen


# --------------------------------------------------------------------------- compiling


@functools.cache
def initialize_llvm() -> None:
    """Load LLVM's back end for NVIDIA's GPUs, once in a process."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def compile_ir(modules: str | list[str], level: int = WATCHED, arch: str = "compute_80", **options: object) -> bytes:
    """PTX of LLVM's text, as `nvvm.compile_ir` makes it. `options`: what NVIDIA's compiler would take besides."""
    initialize_llvm()
    first, *others = [modules] if isinstance(modules, str) else modules
    module = llvm.parse_assembly(first)
    for text in others:
        module.link_in(llvm.parse_assembly(text))
    module.triple = TRIPLE
    module.verify()
    target = llvm.Target.from_triple(TRIPLE).create_target_machine(
        cpu=arch.replace("compute_", "sm_"), opt=level, features="+ptx80"
    )
    passes = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=level))
    passes.getModulePassManager().run(module, passes)
    return target.emit_assembly(module).encode()


class NVVM:
    """What Numba asks of NVIDIA's library before it compiles."""

    supported_ccs = CAPABILITIES

    def __init__(self):
        from numba.cuda.cudadrv import nvvm

        # numba-cuda's, the built-in target's
        self.data_layout = getattr(nvvm, "_datalayout_i128", None) or nvvm._datalayout

    def get_ir_version(self):
        """The version of the text that Numba writes."""
        return 2, 0, 3, 1


# --------------------------------------------------------------------------- the device


class Device:
    """What stands for a GPU in Numba's eyes."""

    id, name, uuid = 0, b"PTX machine", "GPU-00000000-0000-0000-0000-000000000000"
    compute_capability = CAPABILITY
    supports_float16 = supports_bfloat16 = True
    supports_fp8 = False
    MULTIPROCESSOR_COUNT, WARP_SIZE, MAX_THREADS_PER_BLOCK = 108, 32, 1024
    MAX_BLOCK_DIM_X, MAX_BLOCK_DIM_Y, MAX_BLOCK_DIM_Z = 1024, 1024, 64
    MAX_GRID_DIM_X, MAX_GRID_DIM_Y, MAX_GRID_DIM_Z = 2**31 - 1, 65535, 65535
    MAX_SHARED_MEMORY_PER_BLOCK = 48 * 1024
    device = property(lambda self: self)

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        return None

    def reset(self):
        """Nothing is kept here."""

    def get_primary_context(self):
        """The one context."""
        return CONTEXT


class Context:
    """What stands for the driver's context: it has nothing to wait for, since each launch ends before it returns."""

    device = DEVICE = Device()

    def synchronize(self):
        """Nothing is on its way."""

    reset = push = pop = prepare_for_use = synchronize

    def create_stream(self):
        """A stream, in whose order everything is done anyway."""
        return new_stream()

    get_default_stream = get_legacy_default_stream = get_per_thread_default_stream = create_stream

    def create_event(self, timing=True):
        """An event. It tells no times."""
        return Event()

    def get_memory_info(self):
        """Free and all bytes of the machine's memory."""
        import psutil

        memory = psutil.virtual_memory()
        return SimpleNamespace(free=memory.available, total=memory.total)

    def get_max_potential_block_size(self, *args, **options):
        """(blocks, threads a block) for `forall`."""
        return 0, 256

    def get_active_blocks_per_multiprocessor(self, func, blockdim, memsize, flags=None):
        """Blocks that a GPU's multiprocessor would hold, by their threads alone."""
        return max(1, 2048 // blockdim)

    @contextmanager
    def defer_cleanup(self):
        """Nothing has to be cleaned up."""
        yield


CONTEXT = Context()


class Devices(list):
    """`cuda.gpus`: the one device."""

    current = property(lambda self: self[0])


class Event:
    """An event of a stream. A simulated one has no time."""

    def record(self, stream=0):
        """Everything before it has been done already."""

    wait = synchronize = record

    def query(self):
        """Whether everything before it has been done."""
        return True

    def elapsed_time(self, other):
        """Milliseconds between two events: not a number, since the PTX machine's time says nothing about a GPU's."""
        return float("nan")


def new_stream():
    """A stream that `isinstance` takes for Numba's own."""
    from numba.cuda.cudadrv import driver

    class Stream(driver.Stream):
        handle = SimpleNamespace(value=0)

        def __init__(self):
            pass

        def __repr__(self):
            return "<stream of the PTX machine>"

        def synchronize(self):
            pass

        def add_callback(self, callback, arg=None):
            callback(self, 0, arg)

        async def async_done(self):
            return self

        @contextmanager
        def auto_synchronize(self):
            yield self

        def __int__(self):
            return 0

        def __bool__(self):
            return False

    return Stream()


class Runtime:
    """In the place of `devices._runtime`, which asks the driver."""

    gpus = Devices([Context.DEVICE])

    def ensure_context(self):
        """There always is one."""
        return nullcontext()

    def get_or_create_context(self, devnum):
        """The one context. Raises ValueError for the number of another device."""
        if devnum not in (None, 0):
            raise ValueError(f"device {devnum}: there is one, number 0, which is the PTX machine.")
        return CONTEXT

    def reset(self):
        """Nothing is kept here."""


# --------------------------------------------------------------------------- launching


def text_of(kernel, level: int = WATCHED) -> str:
    """PTX of a compiled kernel of Numba's, made once for each level."""
    made = kernel.__dict__.setdefault("_texts", {})
    if level not in made:
        made[level] = compile_ir(kernel._codelibrary.llvm_strs, level).decode()
    return made[level]


def launch(kernel, args, griddim, blockdim, stream=0, sharedmem=0) -> None:
    """Run a compiled kernel on the PTX machine: in the place of `_Kernel.launch`.

    Raises KernelError for what the kernel does wrong, with the line of its source, and for what is not known here.
    """
    flat, back, names = [], [], {}
    parameters = list(inspect.signature(kernel.py_func).parameters) if hasattr(kernel, "py_func") else []
    for number, (kind, value) in enumerate(zip(kernel.argument_types, args, strict=True)):
        name = parameters[number] if number < len(parameters) else f"argument {number}"
        flatten(kernel, kind, value, name, flat, back, names)
    run = run_text(text_of(kernel), tuple(griddim), tuple(blockdim), flat, names, sharedmem)
    for write in back:
        write()
    if run.findings:
        first = run.findings[0]
        where = f", line {first.source}" if first.source else ""
        raise KernelError(f"{first.kind}{where}: {first.message}")


def run_text(ptx, grid, block, flat, names, shared=0):
    """Run PTX with these arguments; the arrays among them then hold what it left there. Returns `ptx_machine.Run`."""
    try:
        run = ptx_machine.run(ptx, grid, block, flat, names=names, shared=shared)
    except ptx_machine.PTXError as error:
        raise KernelError(str(error)) from None
    arrays = {id(value[0]): value[0] for value in flat if isinstance(value, tuple)}
    for array, left in zip(arrays.values(), run.arrays, strict=True):
        if array.flags.writeable:
            array[...] = left
    return run


def flatten(kernel, kind, value, name, flat, back, names) -> None:
    """Append an argument to `flat`, as Numba passes it: an array as eight numbers and more, a tuple one by one.

    `back`: what to call after the launch. `names`: {position: name} of arrays.
    """

    for extension in reversed(kernel.extensions):
        kind, value = extension.prepare_args(kind, value, stream=0, retr=back)
    what = type(kind).__name__
    if hasattr(value, "copy_input") or type(value).__name__ in ("In", "Out", "InOut"):  # cuda.In(array)
        value, keep = value.value, type(value).__name__ == "In"
        value = value.copy() if keep and isinstance(value, np.ndarray) else value
    if hasattr(kind, "ndim") and hasattr(kind, "layout"):  # an array
        array, pointer = placed(value, back)
        names[len(flat) + 4] = name
        flat += [0, 0, array.size, array.itemsize, pointer, *array.shape, *array.strides]
    elif what == "Record":
        names[len(flat)] = name
        flat.append(placed(value, back)[1])
    elif what == "EnumMember" or what == "IntEnumMember":
        flatten(kernel, kind.dtype, value.value, name, flat, back, names)
    elif (hasattr(kind, "types") and hasattr(kind, "count")) or isinstance(value, tuple):
        for inner, one in zip(kind, value, strict=True):
            flatten(kernel, inner, one, name, flat, back, names)
    elif str(kind).startswith("complex"):
        part = np.float32 if str(kind) == "complex64" else np.float64
        flat += [part(value.real), part(value.imag)]
    elif what in ("NPDatetime", "NPTimedelta"):
        flat.append(value.view(np.int64))
    elif str(kind) in ("bool", "boolean"):
        flat.append(int(bool(value)))
    elif str(kind) == "float16":
        flat.append(np.float16(value))
    elif str(kind).rstrip("0123456789") in ("int", "uint", "float"):
        flat.append(np.dtype(str(kind)).type(value))
    else:
        raise NotImplementedError(kind, value)


def placed(value, back):
    """(an array of NumPy's, where it points into what memory) of an array of the device's or of the host's.

    Arrays of the device may be parts of one piece of memory, as in Numba. One of the host is copied there and back.
    """
    array = getattr(value, "_ary", None)
    if array is None:
        array = np.asarray(value)
        if array.base is not None or not array.flags.c_contiguous:
            own = array.copy(order="K")  # its elements lie side by side, in the same order
            if array.flags.writeable:
                back.append(functools.partial(np.copyto, array, own))
            array = own
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    start = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    if owner.flags.f_contiguous and not owner.flags.c_contiguous:
        owner = owner.T
    return array, (owner.reshape(-1) if owner is not array and not owner.flags.c_contiguous else owner, start)


# --------------------------------------------------------------------------- in the place of Numba's own


class Attributes:
    """What Numba asks of a kernel that a driver has loaded."""

    maxthreads = Device.MAX_THREADS_PER_BLOCK

    def __getattr__(self, name):
        raise NotImplementedError(f"{name}: only NVIDIA's compiler knows it. compiler_report(k) asks that compiler.")


def install() -> None:
    """Let Numba compile by LLVM and launch on the PTX machine, in this process, from now on."""
    from numba import cuda
    from numba.cuda import api, codegen, dispatcher
    from numba.cuda.cudadrv import devices, nvvm
    from numba.cuda.simulator.cudadrv import devicearray

    nvvm.NVVM, nvvm.compile_ir = NVVM, compile_ir
    nvvm.is_available = lambda: True
    try:
        from numba.cuda.cudadrv import nvrtc

        nvrtc.get_supported_ccs = lambda: CAPABILITIES  # numba-cuda asks NVRTC for them
    except ImportError:
        pass
    devices._runtime, devices.gpus = Runtime(), Runtime.gpus
    kernel = dispatcher._Kernel
    kernel.launch, kernel.bind = launch, lambda self: None
    codegen.CUDACodeLibrary.get_cufunc = lambda self: SimpleNamespace(attrs=Attributes(), module=None)
    mine = {name: getattr(devicearray, name) for name in (
        "to_device", "device_array", "device_array_like", "pinned_array", "pinned_array_like", "mapped_array", "pinned",
    )}  # fmt: skip
    mine |= {
        "managed_array": lambda shape, dtype=np.float64, strides=None, order="C", stream=0, attach_global=True: (
            devicearray.managed_array(shape, dtype, strides, order)
        ),
        "mapped": mapped,
        "mapped_array_like": lambda ary, stream=0, portable=False, wc=False: devicearray.device_array_like(ary),
        "event_elapsed_time": lambda start, end: start.elapsed_time(end),
        "is_available": lambda: True,
        "detect": detect,
        "gpus": Runtime.gpus,
        "is_cuda_array": lambda value: hasattr(value, "__cuda_ndarray__"),
        "as_cuda_array": lambda value, sync=True: value,
        "close": lambda: None,
    }
    for name, value in mine.items():
        for module in (cuda, api):
            if hasattr(module, name):
                setattr(module, name, value)


@contextmanager
def mapped(*arrays, stream=0):
    """`cuda.mapped`: the arrays themselves, since the PTX machine shares the host's memory."""
    from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

    held = [FakeCUDAArray(array) for array in arrays]
    yield held[0] if len(held) == 1 else held


def detect() -> bool:
    """`cuda.detect`: say where kernels run."""
    print("No NVIDIA GPU was found. CUDA kernels are compiled by Numba and run on the PTX machine, on this CPU.")
    return True
