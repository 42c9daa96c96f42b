"""WebGPU kernels, in WGSL: on the GPU that the graphics driver reaches, by Metal, Vulkan or Direct3D 12."""

import re
import time

import numpy as np

from .. import devices
from ..devices import Device
from . import operands
from .contestant import Work
from .errors import KernelError, quoted
from .given import told
from .kernel import Kernel
from .operands import OnDevice
from .resolve import Dialect

READ = "STORAGE|COPY_SRC|COPY_DST"


def webgpu_kernel(
    step: str,
    device: str | Device | None = None,
    *,
    like: str | None = None,
    parameters: str | None = None,
    **given: int,
) -> "WebGPUKernel":
    """Build the WebGPU kernel of that step: k(A, B) -> C.

    `step` is a name in `ladder.steps("WebGPU")`; or WGSL source of your own with one entry point, which binds A, B and
    C as storage 0, 1 and 2 and the sizes (M, N, K) as a uniform 3, and `like` naming the step whose workgroup, grid and
    parameters it is launched with. The parameters reach the source as constants, such as TILE. `parameters="tuned"`
    takes those that `tune` found on this device, and the defaults where it found none; `given` are single ones, such as
    TILE=16. `device` is part of an adapter's name, or a `devices.Device`; None takes the first.
    Raises ValueError for a step, parameter or tile that cannot run here, KernelError for a source that
    does not compile.
    """
    if not isinstance(step, str):
        raise ValueError(f"{told(step)} is no kernel: pass a step's name or WGSL source text.")
    asked = WEBGPU.resolve(step, like, device, parameters, given)
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
COMMENT = r"//[^\n]*|/\*.*?\*/"
DIRECTIVES = re.compile(rf"(?:(?>\s|{COMMENT})*+(?:enable|requires|diagnostic)\b[^;]*;)*", re.DOTALL)
# A variable of a function, declared with no value: so a zero each time, also in a loop.
ZEROS = re.compile(r"\bvar(\s+\w+\s*:\s*)([^;=\n]+);")
ENTRY = re.compile(r"@compute\b[^{]*?\bfn\s+(\w+)")


class WebGPUKernel(Kernel):
    """A WGSL entry point with the step's workgroup and grid."""

    dialect = "WebGPU"

    def __init__(self, **asked: object):
        super().__init__(**asked)
        import wgpu

        gpu, entries = self.device.handle, ENTRY.findall(self.source)
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
            compute = {"module": module, "entry_point": entries[0]}
            self.pipeline = gpu.create_compute_pipeline(layout=layout_on(gpu), compute=compute)
        except wgpu.GPUError as error:
            raise KernelError(f"{self} does not compile.\n{compiler_says(str(error), self.source)}") from None
        self.build_seconds = time.perf_counter() - start

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

    def upload(self, A: np.ndarray, B: np.ndarray, fill: float = np.nan) -> "WebGPUWork":
        """Copy A (M, K) and B (K, N) to the GPU, beside a C full of `fill`."""
        return WebGPUWork(self, *operands.pair_for(A, B, self.device), fill)

    def place(self, X: np.ndarray, over: OnDevice | None = None) -> OnDevice:
        """Copy X to the GPU, over another matrix of that shape, or into memory of its own."""
        X = operands.as_placed("X", X)
        if over is None:
            return OnDevice(X.shape, guarded(self.device, X), self.device)
        operands.refuse_another_shape(X, over)
        self.device.handle.queue.write_buffer(over.memory, 0, X)
        return over


def layout_on(gpu):
    """What each kernel binds: A and B to read, C to read and write, the sizes."""
    kinds = ("read-only-storage", "read-only-storage", "storage", "uniform")
    entries = [{"binding": n, "visibility": "COMPUTE", "buffer": {"type": kind}} for n, kind in enumerate(kinds)]
    return gpu.create_pipeline_layout(bind_group_layouts=[gpu.create_bind_group_layout(entries=entries)])


class WebGPUWork(Work):
    """A, B and C on the GPU, each with a guard behind it, ready for a kernel to be launched again and again."""

    def __init__(self, k, A, B, fill):
        self.gpu, self.shape, self.pipeline = k.device.handle, (A.shape[0], B.shape[1]), k.pipeline
        self.grid = k.grid(*self.shape)
        self.d_A, self.d_B = (X.memory if isinstance(X, OnDevice) else guarded(k.device, X) for X in (A, B))
        self.d_C = guarded(k.device, operands.filled(self.shape, fill), operands.CANARY)
        sizes = np.array([*self.shape, A.shape[1], 0], np.uint32)  # uniforms come in 16 bytes
        d_sizes = self.gpu.create_buffer_with_data(data=sizes, usage="UNIFORM")
        bound = enumerate((self.d_A, self.d_B, self.d_C, d_sizes))
        entries = [{"binding": n, "resource": {"buffer": d_X, "size": d_X.size}} for n, d_X in bound]
        self.bound = self.gpu.create_bind_group(layout=self.pipeline.get_bind_group_layout(0), entries=entries)
        self.launching = "timestamp-query" not in self.gpu.features

    def timed(self, launches):
        """Multiply so many times, and wait. Returns seconds a launch: by the GPU's clock if it has one, or by the wall.

        The GPU's clock stands around all launches, and holds none of what it takes to ask for them; the wall does.
        """
        encoder, stamps = self.gpu.create_command_encoder(), None
        if not self.launching:
            stamps = self.gpu.create_query_set(type="timestamp", count=2)
            written = {"query_set": stamps, "beginning_of_pass_write_index": 0, "end_of_pass_write_index": 1}
        compute = encoder.begin_compute_pass(timestamp_writes=None if self.launching else written)
        compute.set_pipeline(self.pipeline)
        compute.set_bind_group(0, self.bound)
        for _ in range(launches):
            compute.dispatch_workgroups(*self.grid)
        compute.end()
        d_times = self.gpu.create_buffer(size=16, usage="QUERY_RESOLVE|COPY_SRC")
        if not self.launching:
            encoder.resolve_query_set(stamps, 0, 2, d_times, 0)
        start = time.perf_counter()
        self.gpu.queue.submit([encoder.finish()])
        times = np.frombuffer(self.gpu.queue.read_buffer(d_times), np.uint64)  # waits
        wall = time.perf_counter() - start
        return (wall if self.launching else int(times[1] - times[0]) * 1e-9) / launches

    def download(self):
        """C as a new NumPy array. Raises KernelError if something wrote past its end."""
        found, size = self.found(self.d_C), self.shape[0] * self.shape[1]
        operands.refuse_past_the_end(found[size:])  # where a clamped store lands, too
        return found[:size].reshape(self.shape).copy()

    def left_alone(self, A, B):
        """True: WebGPU lets no kernel write to what it binds to read."""
        return True

    def memory(self):
        """Bytes of each buffer, by the buffer."""
        return {id(d_X): d_X.size for d_X in (self.d_A, self.d_B, self.d_C)}

    def found(self, d_X):
        """What lies in that buffer, float32."""
        return np.frombuffer(self.gpu.queue.read_buffer(d_X), np.float32)


def guarded(device, X, behind=np.nan):
    """A buffer with X, or with room for it where X is only a `Room`, and a guard behind it, full of `behind`."""
    size = X.nbytes // 4
    whole = np.full((size + operands.GUARD + 3) // 4 * 4, behind, np.float32)  # in fours, for kernels that load fours
    if isinstance(X, np.ndarray):
        whole[:size] = X.ravel()
    return device.handle.create_buffer_with_data(data=whole, usage=READ)


def with_constants(source, parameters):
    """The source with the parameters as constants, but for those it declares itself, after its directives.

    They stand on a line that is there, so that the compiler's line numbers are those of the source.
    """
    code = re.sub(COMMENT, "", source, flags=re.DOTALL)
    own = set(re.findall(r"^(?:const|override)\s+(\w+)", code, re.MULTILINE))
    constants = "".join(f"const {name} = {value}; " for name, value in parameters.items() if name not in own)
    after = DIRECTIVES.match(source).end()
    return source[:after] + constants + source[after:]


def compiler_says(log, source):
    """The compiler's own errors, each with the source line it means; the whole log if none is recognised."""
    said = []
    for message, number in re.findall(r"error: ([^\n]*)\n\s*┌─ [^:\n]*:(\d+):", log):
        entry = quoted(source, int(number), message)
        if entry not in said:
            said.append(entry)
    return "\n".join(said) or log.strip()
