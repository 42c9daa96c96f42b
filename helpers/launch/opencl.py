"""OpenCL kernels: on any GPU or CPU driver that proves itself."""

import contextlib
import functools
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from .. import devices, ladder, needs
from ..arguments import told
from ..devices import Device
from ..errors import KernelError, quoted
from .contestant import Backend, Work
from .kernel import Kernel, no_room
from .resolve import Dialect

with needs.loading("pyopencl"):
    import pyopencl as cl


def opencl_kernel(
    step: str, device: str | Device | None = None, *, like: str | None = None, **given: int
) -> "OpenCLKernel":
    """Build the OpenCL kernel of that step: k(A, B) -> C.

    `step` is a name in `ladder.steps("OpenCL")`; or OpenCL source of your own with one `__kernel`, which takes
    (M, N, K, A, B, C), and `like` naming the step whose work-group, global size and parameters it is
    launched with. The parameters reach the source as macros, such as TILE. `given`: parameters, such as TILE=16; the
    others are this device's defaults. With none given, the sizes of some steps follow from the shape:
    `k.fitted(M, N, K)` is the kernel that multiplies that one.
    `device` is part of a platform or device name, or a `devices.Device`; None takes the first that the step is for.
    Raises ValueError for a step, parameter or tile that cannot run here, KernelError for a source that
    does not compile.
    """
    if not isinstance(step, str):
        raise ValueError(f"{told(step)} is no kernel: pass a step's name or OpenCL source text.")
    asked = OPENCL.resolve(step, like, device, given)
    if asked["own"]:
        refuse_another_language(step)
        refuse_own_macros(step, asked["parameters"])
    return OpenCLKernel(source=step if asked["own"] else OPENCL.source_of(asked["step"]), **asked)


def refuse_another_language(source):
    """Raise KernelError for Python, and for CUDA C++, but for what stands in a comment."""
    code = re.sub(r"/\*.*?\*/", lambda comment: "\n" * comment[0].count("\n"), source, flags=re.DOTALL)
    if found := re.search(r"^[ \t]*(@\w*\.?jit\b|def \w+\(|__global__ ).*", code, re.MULTILINE):
        number, language = code.count("\n", 0, found.end()) + 1, "CUDA C++" if "__" in found[1] else "Python"
        raise KernelError(quoted(source, number, f"this is {language}: opencl_kernel takes OpenCL C, a __kernel"))


def refuse_own_macros(source, parameters):
    """Raise KernelError for a source that gives one of the parameters another value with a line of its own."""
    for number, line in enumerate(source.splitlines(), 1):
        found = re.match(r"\s*#\s*define\s+(\w+)\s+\(?(\d+)\)?\s*(?:/[/*].*)?$", line)
        if not found or re.search(rf"#\s*(ifndef|undef)\s+{found[1]}\b|defined\W+{found[1]}\b", source):
            continue
        name, value = found[1], int(found[2])
        if parameters.get(name, value) != value:
            raise KernelError(
                f"the source defines {name} itself as {value}, and would be launched with {name}={parameters[name]}. "
                f"Build it with {name}={value}, or leave that line out.\n{quoted(source, number, 'defined here')}"
            )


def device_for(step, name):
    """The device of that name; with none, the first of a kind that the step has defaults for, or the first of all."""
    if isinstance(name, Device) and name.dialect == "OpenCL":
        return name
    return devices.opencl_device(None, tuple(step.defaults)) if step and name is None else devices.opencl_device(name)


OPENCL = Dialect(
    name="OpenCL",
    folder="opencl",
    suffix="cl",
    language="c",
    comment="//",
    begins="__kernel",
    device=device_for,
    build=opencl_kernel,
)


@functools.cache
def context_of(device: Device):
    """The device's pyopencl context."""
    return cl.Context([device.handle])


QUEUES = threading.local()


def context_and_queue(device: Device):
    """The device's context, and this thread's queue, which times what it runs: a copy can run beside a kernel."""
    context, mine = context_of(device), QUEUES.__dict__
    if device not in mine:
        mine[device] = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
    return context, mine[device]


class OpenCLBackend(Backend):
    """An OpenCL device, through this thread's queue."""

    def __init__(self, device: Device):
        super().__init__(device)
        self.context, self.queue = context_and_queue(device)

    def empty(self, size):
        """A buffer of so many float32. Raises MemoryError where there is no room."""
        flags, nbytes = cl.mem_flags.READ_WRITE, 4 * size
        with told_of_room(self.device):
            if self.device.kind == "GPU":
                return cl.Buffer(self.context, flags, size=nbytes)
            # In NumPy's memory, which comes in large pages where the system has them, as NumPy's own operands do.
            return cl.Buffer(self.context, flags | cl.mem_flags.USE_HOST_PTR, hostbuf=aligned(nbytes))

    def write(self, buffer, X, start=0):
        """Copy X there, and wait. Raises MemoryError where there is no room."""
        with told_of_room(self.device):
            cl.enqueue_copy(self.queue, buffer, X, dst_offset=4 * start)

    def read(self, buffer, start=0, end=None):
        """What lies there, as a new array."""
        found = np.empty((buffer.size // 4 if end is None else end) - start, np.float32)
        if found.size:
            cl.enqueue_copy(self.queue, found, buffer, src_offset=4 * start)
        return found

    def timed(self, multiply, launches):
        """Multiply so many times. Returns seconds a launch: by a GPU's profile of each, on a CPU by the wall."""
        start = time.perf_counter()
        events = [multiply() for _ in range(launches)]
        events[-1].wait()  # the queue runs them in order
        if self.device.kind == "GPU":
            return sum(event.profile.end - event.profile.start for event in events) * 1e-9 / launches
        return (time.perf_counter() - start) / launches

    def __del__(self):
        # What is still queued would write to memory that NumPy has given to others by then.
        with contextlib.suppress(cl.Error):
            self.queue.finish()


@contextlib.contextmanager
def told_of_room(device: Device) -> Iterator[None]:
    """Within it, the driver's word for no room is raised as MemoryError, with the device's name and a remedy."""
    try:
        yield
    except cl.MemoryError:
        raise no_room(device) from None


def aligned(nbytes):
    """So many bytes of NumPy's memory, as an array that begins at a large page if it fills one, else at a small one."""
    page = 1 << 21 if nbytes >= 1 << 21 else 1 << 12  # bytes
    memory = np.empty(nbytes + page, np.uint8)
    start = -memory.ctypes.data % page
    return memory[start : start + nbytes]


def program(context, source, *options):
    """The built program. Raises pyopencl's RuntimeError where the source does not compile."""
    with devices.building(context.devices[0]):
        return cl.Program(context, source).build(list(options))


ARGUMENT_TYPES = "-cl-kernel-arg-info"  # keeps them for `type_of`
SIX = "int M, int N, int K, and global float pointers A, B, C"


class OpenCLKernel(Kernel):
    """A `__kernel` with the step's work-group and global size. A learner's is built once it has passed a check."""

    dialect, backend, build_seconds = "OpenCL", OpenCLBackend, None
    order = "MNKABC"  # of its arguments

    def __init__(self, **asked: object):
        super().__init__(**asked)
        self.variants = {}
        self.context, self.queue = context_and_queue(self.device)
        if not self.own:
            self.compile()

    def compile(self) -> None:
        """Build it, once: of a learner's source a compiler may crash, or not come to an end, so `check` does it first.

        Raises KernelError for what does not compile, or cannot be launched here.
        """
        if self.build_seconds is not None:
            return
        start = time.perf_counter()
        try:
            self.program = program(self.context, self.source, *macros(self.parameters), ARGUMENT_TYPES)
            kernels = self.program.all_kernels()
        except cl.RuntimeError as error:
            raise KernelError(f"{self} does not compile.\n{compiler_says(str(error), self.source)}") from None
        if len(kernels) != 1:
            raise KernelError(f"the source must hold exactly one __kernel, not {len(kernels)}.")
        self.function = kernels[0]
        if self.function.num_args != 6:
            raise KernelError(
                f"{self.function.function_name} takes {self.function.num_args} arguments; it must take six: {SIX}."
            )
        self.refuse_other_arguments()
        self.refuse_other_groups()
        self.build_seconds = time.perf_counter() - start

    def refuse_other_arguments(self) -> None:
        """Raise KernelError unless the kernel takes three numbers of 4 bytes, and then three pointers to float."""
        pointers = ["*" in self.type_of(number) for number in range(6)]
        if pointers.count(True) == 3 and any(pointers[:3]):
            raise KernelError(
                f"{self.function.function_name} takes its six arguments in another order than this course gives them: "
                f"three whole numbers first, then three matrices. They are {SIX}."
            )
        buffer = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, size=4)
        for number, name in enumerate(("M", "N", "K", "A", "B", "C")):
            kind, right = self.type_of(number), "int" if number < 3 else "float"
            # A pointer to float4 is one to float; a type with a name of the learner's own is not known.
            known = re.fullmatch(r"(u?(?:char|short|int|long)|unsigned \w+|half|float|double)(\d*) ?(\**)", kind)
            other = known and (known[1].replace("unsigned ", "u").removeprefix("u" * (number < 3)) != right)
            try:
                self.function.set_arg(number, np.int32(1) if number < 3 else buffer)
            except cl.Error:
                other = True
            other = other or kind.startswith("__constant")  # which holds 64 KB, and so no matrix
            if other or (known and number < 3 and known[2]):
                must = f"int {name}" if number < 3 else f"__global {'const ' * (name != 'C')}float *{name}"
                raise KernelError(
                    f"{self.function.function_name} takes {kind} as its argument {number + 1}, {name}; it must take "
                    f"{must}. All six are {SIX}."
                )

    def type_of(self, number: int) -> str:
        """The type of that argument, such as "float*", with its memory where that is not the usual one."""
        info, address = cl.kernel_arg_info, cl.kernel_arg_address_qualifier
        try:
            kind = self.function.get_arg_info(number, info.TYPE_NAME)
            memory = address.to_string(self.function.get_arg_info(number, info.ADDRESS_QUALIFIER))
        except cl.Error:  # a driver may keep none of these
            return "something else"
        return f"__{memory.lower()} {kind}" if memory in ("LOCAL", "CONSTANT") else kind

    def refuse_other_groups(self) -> None:
        """Raise KernelError for a work-group that the source sets otherwise, or that takes too much local memory."""
        info, name = cl.kernel_work_group_info, self.function.function_name
        device = self.context.devices[0]
        asked = tuple(self.function.get_work_group_info(info.COMPILE_WORK_GROUP_SIZE, device))
        launched = (*self.block, 1)
        if any(asked) and asked != launched:
            raise KernelError(
                f"{name} asks for work-groups of {' x '.join(map(str, asked))} with reqd_work_group_size, and is "
                f"launched like {self.step} with {' x '.join(map(str, launched))} ({ladder.spell(self.parameters)}). "
                f"Write reqd_work_group_size{launched}, leave it out, or choose other parameters."
            )
        taken, most = self.function.get_work_group_info(info.LOCAL_MEM_SIZE, device), self.device.shared_bytes
        if self.own and taken > most:
            raise KernelError(
                f"{name} takes {taken:,} bytes of local memory, and a work-group has {most:,} at most on "
                f"{self.device.name}. Make its __local arrays smaller; a float takes 4 bytes."
            )

    def fitted(self, M: int, N: int, K: int) -> "OpenCLKernel":
        """The kernel that multiplies a product of that size: itself, or a variant for that shape, built once."""
        if not self.by_shape:
            return self
        step = ladder.STEPS[self.step]
        if N == 1 and step.column and not self.own:
            step = ladder.STEPS[step.column]
            source, p = OPENCL.source_of(step.name), step.defaults_for(self.device)
        else:
            source, p = self.source, step.fitted(self.parameters, self.device, M, N, K)
        key = step.name, *p.values()
        if key not in self.variants:
            self.variants[key] = OpenCLKernel(
                step=step.name, parameters=p, source=source, device=self.device, own=self.own
            )
        self.variants[key].checked = self.checked
        return self.variants[key]

    def launcher(self, work: Work) -> Callable:
        """What asks for the kernel once, and returns its event."""
        self.compile()
        # A kernel object of its own keeps its arguments: to set them takes longer than a small product.
        function, queue = cl.Kernel(self.program, self.function.function_name), work.on.queue
        given = dict(zip("MNKABC", (*map(np.int32, work.sizes), work.A, work.B, work.C), strict=True))
        function.set_args(*(given[name] for name in self.order))
        M, N, _ = work.sizes
        return functools.partial(cl.enqueue_nd_range_kernel, queue, function, self.global_size(M, N), self.block)


def macros(parameters: dict) -> list[str]:
    """The parameters as options of an OpenCL compiler."""
    return [f"-D{name}={value}" for name, value in parameters.items()]


UNKNOWN = re.compile(r"use of undeclared identifier '(\w+)'")
OF_CUDA = {  # words of CUDA, in C++ and in Python, and OpenCL's
    "__shared__": "__local",
    "__syncthreads": "barrier(CLK_LOCAL_MEM_FENCE)",
    "threadIdx": "get_local_id",
    "blockIdx": "get_group_id",
    "blockDim": "get_local_size",
    "cuda": "get_global_id, get_local_id or barrier",
}


def meant(message, line, above):
    """What a compiler's message about a line means, for an author who knows Python; `above`: the line before it."""
    name = UNKNOWN.match(message)
    if name and name[1] in OF_CUDA:
        return f"{name[1]} is a word of CUDA; OpenCL's is {OF_CUDA[name[1]]}"
    if name and re.fullmatch(r"(convert_)?half\d*(_rt[ezpn])?", name[1]):
        return f"this device does not compute with {name[1]} (it has no cl_khr_fp16): take float"
    if name and re.match(rf"\s*{name[1]}\s*=[^=]", line):
        return f"{name[1]} has no type: write `int {name[1]} = …` for a whole number, `float {name[1]} = …` for others"
    if message == "expected expression" and re.match(r"\s*(const |int |float |size_t )", line) and above.endswith(")"):
        return "a body that declares a name, or has several statements, stands in braces, { }"
    return name[0] if name else message  # without "did you mean 'pow'?"


# Intel's and NVIDIA's compilers write "FILE:3:7: error: ...", PoCL's "error: FILE:3:7: ...".
ERROR = re.compile(r"(?:^|(\S*):)(\d+):\d+: (?:fatal )?error: (.*)", re.MULTILINE)
ERROR_OF_POCL = re.compile(r"error: (\S*):(\d+):\d+: (.*)")
NO_BODY = re.compile(r"Symbols not found: \[ (\w+)|Cannot find symbol (\w+) in|nresolved extern function '(\w+)'")


def at_the_include(file, number, message, log, source):
    """An error's line and message; of one within a file that the source includes, the line of its #include."""
    name = Path(file).name
    if not name.endswith(".h"):
        return int(number), message
    first = re.search(rf"In file included from \w*:?(\d+):\n(?:In file .*\n)*{re.escape(file)}:", log)
    named = re.search(r"#\s*include", source)
    line = int(first[1]) if first else source.count("\n", 0, named.start()) + 1 if named else 0
    return line, f"{message} ({name}, line {number})"


def compiler_says(log, source):
    """The compiler's own errors, each with the source line it means; the whole log if none is recognised."""
    said, lines, names = [], ["", *source.splitlines()], set()
    found = [at_the_include(*error, log, source) for error in ERROR.findall(log) or ERROR_OF_POCL.findall(log)]
    if lost := NO_BODY.search(log):
        name = next(filter(None, lost.groups()))
        found.append(
            (source.count("\n", 0, source.find(name)) + 1, f"{name} is declared, and no function has its body")
        )
    in_doubt = {number for number, message in found if UNKNOWN.match(message)}
    for number, message in found:
        name = UNKNOWN.match(message)
        taken = number in in_doubt and message.startswith("taking address of function")  # `pow` for an unknown `row`
        if taken or (name and name[1] in names):
            continue
        names.update(name.groups() if name else ())
        line, above = (lines[i].rstrip() if 0 <= i < len(lines) else "" for i in (int(number), int(number) - 1))
        entry = quoted(source, int(number), meant(message, line, above))
        if entry not in said:
            said.append(entry)
    if itself := re.search(r"recursive call in function:\s+(\w+)", log):
        return f"{itself[1]} calls itself, which OpenCL does not allow; write a loop."
    return "\n".join(said) or log.rpartition("BUILD_PROGRAM_FAILURE")[2].strip()
