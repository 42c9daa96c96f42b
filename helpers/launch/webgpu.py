"""WebGPU kernels, in WGSL: on the GPU that the graphics driver reaches, by Metal, Vulkan or Direct3D 12."""

import functools
import re
import time
from collections.abc import Callable

import numpy as np

from cuda_without_gpu.errors import KernelError, quoted

from .. import devices
from ..devices import Device
from . import operands
from .contestant import Backend, Work
from .given import told
from .kernel import Kernel
from .resolve import Dialect
from .webgpu_source import constants, line_of, without_comments, workgroup_bytes

READ = "STORAGE|COPY_SRC|COPY_DST"


def webgpu_kernel(
    step: str,
    device: str | Device | None = None,
    *,
    like: str | None = None,
    **given: int,
) -> "WebGPUKernel":
    """Build the WebGPU kernel of that step: k(A, B) -> C.

    `step` is a name in `ladder.steps("WebGPU")`; or WGSL source of your own with one entry point, which binds A, B and
    C as storage 0, 1 and 2 and the sizes (M, N, K) as a uniform 3, and `like` naming the step whose workgroup, grid and
    parameters it is launched with. The parameters reach the source as constants, such as TILE. `given`:
    parameters, such as TILE=16; the others are this device's defaults. `device` is part of an adapter's name, or a
    `devices.Device`; None takes the first.
    Raises ValueError for a step, parameter or tile that cannot run here, KernelError for a source that
    does not compile.
    """
    if not isinstance(step, str):
        raise ValueError(f"{told(step)} is no kernel: pass a step's name or WGSL source text.")
    asked = WEBGPU.resolve(step, like, device, given)
    return WebGPUKernel(source=step if asked["own"] else WEBGPU.source_of(asked["step"]), **asked)


def device_for(step, name):
    """The device of that name; with none, the first."""
    return name if isinstance(name, Device) and name.dialect == "WebGPU" else devices.webgpu_device(name)


WEBGPU = Dialect(
    name="WebGPU",
    folder="webgpu",
    suffix="wgsl",
    language="wgsl",
    comment="//",
    begins="@compute",
    device=device_for,
    build=webgpu_kernel,
)

# Mesa's llvmpipe 22.3 ends all loops of an invocation after 65,535 rounds together, and says nothing: register_2d is
# wrong from K = 5,218 on, naive from 65,536 on.
DEEPEST_IN_SOFTWARE = 4096
# WGSL wants these before all else.
DIRECTIVES = re.compile(r"(?:\s*(?:enable|requires|diagnostic)\b[^;]*;)*")
# A variable of a function, declared with no value: so a zero each time, also in a loop.
ZEROS = re.compile(r"\bvar(\s+\w+\s*:\s*)([^;=\n]+);")
ENTRY = re.compile(r"@compute\b[^{]*?\bfn\s+(\w+)")
# What each binding is, and how it must be declared.
BINDINGS = (
    ("A", "var<storage, read>"),
    ("B", "var<storage, read>"),
    ("C", "var<storage, read_write>"),
    ("M, N, K", "var<uniform>"),
)


class WebGPUBackend(Backend):
    """A GPU that the graphics driver reaches."""

    def __init__(self, device: Device):
        super().__init__(device)
        self.gpu = device.handle
        self.launching = "timestamp-query" not in self.gpu.features

    def hold(self, size, behind, X=None):
        """A buffer of so many float32, in fours, for kernels that load fours; the guard reaches to its end."""
        whole = np.full((size + operands.GUARD + 3) // 4 * 4, behind, np.float32)
        if X is not None:
            whole[:size] = X.ravel()
        return self.gpu.create_buffer_with_data(data=whole, usage=READ)

    def write(self, buffer, X, start=0):
        """Copy X there."""
        self.gpu.queue.write_buffer(buffer, 4 * start, X)

    def read(self, buffer, start=0, end=None):
        """What lies there, as a new array."""
        size = None if end is None else 4 * (end - start)
        return np.frombuffer(self.gpu.queue.read_buffer(buffer, 4 * start, size), np.float32).copy()

    def timed(self, multiply, launches):
        """Multiply so many times, and wait. Returns seconds a launch: by the GPU's clock if it has one, or by the wall.

        The GPU's clock stands around all launches, and holds none of what it takes to ask for them; the wall does.
        """
        encoder, stamps = self.gpu.create_command_encoder(), None
        if not self.launching:
            stamps = self.gpu.create_query_set(type="timestamp", count=2)
            written = {"query_set": stamps, "beginning_of_pass_write_index": 0, "end_of_pass_write_index": 1}
        compute = encoder.begin_compute_pass(timestamp_writes=None if self.launching else written)
        ask = multiply(compute)
        for _ in range(launches):
            ask()
        compute.end()
        d_times = self.gpu.create_buffer(size=16, usage="QUERY_RESOLVE|COPY_SRC")
        if not self.launching:
            encoder.resolve_query_set(stamps, 0, 2, d_times, 0)
        start = time.perf_counter()
        self.gpu.queue.submit([encoder.finish()])
        times = np.frombuffer(self.gpu.queue.read_buffer(d_times), np.uint64)  # waits
        wall = time.perf_counter() - start
        return (wall if self.launching else int(times[1] - times[0]) * 1e-9) / launches


class WebGPUKernel(Kernel):
    """A WGSL entry point with the step's workgroup and grid."""

    dialect, backend = "WebGPU", WebGPUBackend

    def __init__(self, **asked: object):
        super().__init__(**asked)
        import wgpu

        plain = without_comments(self.source)
        gpu, entries = self.device.handle, ENTRY.findall(plain)
        if len(entries) != 1:
            raise KernelError(f"the source must hold exactly one @compute entry point, not {len(entries)}.")
        if odd := re.search(r"[\x00\ud800-\udfff]", self.source):
            raise KernelError(f"the source holds {odd[0]!r}, which is no text of WGSL; leave it out.")
        code = with_constants(self.source, self.parameters)
        if self.own:  # some compilers set such a variable once (gfx-rs/wgpu 9489); a rung fills what a loop declares
            code = ZEROS.sub(r"var\1\2 = \2();", code)
        start = time.perf_counter()
        try:
            module = gpu.create_shader_module(code=code)
            self.refuse_memory_and_sizes(plain)
            compute = {"module": module, "entry_point": entries[0]}
            self.pipeline = gpu.create_compute_pipeline(layout=layout_on(gpu), compute=compute)
        except wgpu.GPUError as error:
            raise KernelError(f"{self} does not compile.\n{compiler_says(str(error), self.source)}") from None
        self.build_seconds = time.perf_counter() - start

    def refuse_memory_and_sizes(self, code: str) -> None:
        """Raise KernelError for what drivers take and then do wrong: too much workgroup memory, sizes read as f32."""
        asked, most = workgroup_bytes(code, constants(code, self.parameters)), self.device.shared_bytes
        if asked > most:
            raise KernelError(
                f"{self} has {asked} bytes of workgroup memory, all its var<workgroup> together; {self.device.name} "
                f"allows a workgroup {most}. Choose smaller tiles."
            )
        found = re.search(r"@binding\s*\(\s*3\s*\)[^;:]*:\s*vec([34])(?:<\s*f32\s*>|f)\s*;", code)
        if found and "bitcast" not in code:
            raise KernelError(
                f"{self} takes M, N and K, binding 3, as f32; they come as u32. Declare them as vec{found[1]}<u32>."
            )

    def refuse_size(self, M: int, N: int, K: int) -> None:
        """Raise what speaks against that size, too large a buffer or grid included."""
        super().refuse_size(M, N, K)
        if self.device.kind == "GPU in software" and K > DEEPEST_IN_SOFTWARE:
            raise ValueError(
                f"K = {K} is more than {self.device.name} can be trusted with: a GPU in software may end a kernel's "
                f"loops in the middle. Stay at K <= {DEEPEST_IN_SOFTWARE}."
            )
        limits = self.device.handle.limits
        largest = 4 * (max(M * K, K * N, M * N) + operands.GUARD + 3)
        most = min(limits["max-storage-buffer-binding-size"], limits["max-buffer-size"])
        if largest > most:
            raise MemoryError(
                f"one matrix of {largest // 4 - operands.GUARD - 3} elements is more than {self.device.name} binds at "
                f"once ({most // 4} elements). Multiply a block of rows at a time."
            )
        groups, most = max(self.grid(M, N)), limits["max-compute-workgroups-per-dimension"]
        if groups > most:
            raise ValueError(
                f"{self} needs {groups} workgroups along one side for a C of {M} x {N}; {self.device.name} allows "
                f"{most}. Multiply a part at a time, or choose larger tiles."
            )

    def launcher(self, work: Work) -> Callable:
        """A function of a compute pass, which binds the work there, and returns what asks for it once."""
        M, N, K = work.sizes
        sizes = np.array([M, N, K, 0], np.uint32)  # uniforms come in 16 bytes
        d_sizes = self.device.handle.create_buffer_with_data(data=sizes, usage="UNIFORM")
        bound = enumerate((work.A, work.B, work.C, d_sizes))
        entries = [{"binding": n, "resource": {"buffer": d_X, "size": d_X.size}} for n, d_X in bound]
        layout = self.pipeline.get_bind_group_layout(0)
        group = self.device.handle.create_bind_group(layout=layout, entries=entries)

        def begin(compute):
            compute.set_pipeline(self.pipeline)
            compute.set_bind_group(0, group)
            return functools.partial(compute.dispatch_workgroups, *self.grid(M, N))

        return begin


def layout_on(gpu):
    """What each kernel binds: A and B to read, C to read and write, the sizes."""
    kinds = ("read-only-storage", "read-only-storage", "storage", "uniform")
    entries = [{"binding": n, "visibility": "COMPUTE", "buffer": {"type": kind}} for n, kind in enumerate(kinds)]
    return gpu.create_pipeline_layout(bind_group_layouts=[gpu.create_bind_group_layout(entries=entries)])


def with_constants(source, parameters):
    """The source with the parameters as constants, but for those it declares itself, after its directives.

    They stand on a line that is there, so that the compiler's line numbers are those of the source.
    """
    code = without_comments(source)
    own = set(re.findall(r"^(?:const|override)\s+(\w+)", code, re.MULTILINE))
    declared = "".join(f"const {name} = {value}; " for name, value in parameters.items() if name not in own)
    after = DIRECTIVES.match(code).end()
    return source[:after] + declared + source[after:]


OPERATIONS = {
    "Less": "<",
    "LessEqual": "<=",
    "Greater": ">",
    "GreaterEqual": ">=",
    "Equal": "==",
    "NotEqual": "!=",
    "Add": "+",
    "Subtract": "-",
    "Multiply": "*",
    "Divide": "/",
    "Modulo": "%",
}
KINDS = {"Sint": "i32", "Uint": "u32", "Float": "f32", "Bool": "bool"}
# (what the compiler notes, what that means)
NOTES = (
    ("valid destination for a store", "nothing can be stored here: of the bindings only C is read_write"),
    ("write-only access", "WGSL has no `write` for a buffer: write var<storage, read_write>"),
    ("condition .* is not a boolean", "a condition must be true or false: compare, as in x != 0u"),
    ("Accessing with index", "an index must be a whole number, u32 or i32"),
    ("Using `f64`", "there are no numbers of 64 bits here: write f32"),
    ("Built-in type for", "a builtin has another type: an id is a vec3<u32>, and local_invocation_index a u32"),
)


def meant(note):
    """What a note of the compiler means, in words for a kernel's author."""
    if found := re.search(r"Operation (\w+) can't work with .*?kind: (\w+).* and .*?kind: (\w+)", note):
        kinds = [KINDS.get(kind, kind) for kind in found.groups()[1:]]
        text = f"{OPERATIONS.get(found[1], found[1])} takes two numbers of one type; these are {' and '.join(kinds)}"
        zero = "write 0u for a 0 that is u32, or " * (set(kinds) == {"i32", "u32"})
        return f"{text}: {zero}turn one into the other, as in u32(k)" if kinds[0] != kinds[1] else note
    return next((words for pattern, words in NOTES if re.search(pattern, note)), note)


def compiler_says(log, source):
    """The compiler's own errors, each with the source line it means; the whole log if none is recognised."""
    said, code = [], without_comments(source)
    for message, rest in re.findall(r"error: ([^\n]*)\n((?:[^\n]*\S[^\n]*\n)*)", log):
        at, notes = re.search(r"┌─ [^:\n]*:(\d+):", rest), re.findall(r"^\s*= (.*)$", rest, re.MULTILINE)
        if "is invalid" in message and notes:
            message = meant(notes[-1])
        elif notes:
            message += f"; {notes[-1].removeprefix('note: ')}"
        said.append(quoted(source, int(at[1]) if at else None, message))
    for group, binding in re.findall(r"ResourceBinding \{ group: (\d+), binding: (\d+) \}", log):
        message = (
            f"group {group} has no binding {binding}: A, B and C are bindings 0, 1 and 2 of group 0, M, N, K are 3"
        )
        if group == "0" and int(binding) < len(BINDINGS):
            message = "binding {} is {}, and must be declared {}".format(binding, *BINDINGS[int(binding)])
        said.append(quoted(source, line_of(rf"@binding\s*\(\s*{binding}[ui]?\s*\)", code), message))
    for size, threads, most in re.findall(r"workgroup size \[([\d, ]+)\] \((\d+) total.* (\d+)$", log.strip()):
        message = f"@workgroup_size({size}) asks for {threads} invocations in a workgroup; the most here is {most}"
        said.append(quoted(source, line_of("@workgroup_size", code), message))
    return "\n".join(dict.fromkeys(said)) or log.strip()
