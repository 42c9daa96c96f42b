"""The CUDA ladder, one file a step; on a real GPU, or in Numba's simulator where there is none."""

import importlib
import inspect
import linecache
import sys
import textwrap
import time
import traceback
from types import SimpleNamespace

import numpy as np
from numba import cuda, float32

from .. import devices, ladder, tuned
from .. import kernel as base
from ..kernel import Kernel, KernelError, read_back

STEPS = ladder.steps("CUDA")


def kernel(step, *, like=None, parameters=None, **given):
    """Build the CUDA kernel of that step: k(A, B) -> C.

    `step` is a name in STEPS; or a kernel of your own, as a `@cuda.jit` function or as source text, with
    `like` naming the step whose block, grid and parameters it is launched with. `parameters="tuned"` takes those that
    `tune` found on this device, and the defaults where it found none; `given` are single ones, such as TILE=16.
    Raises ValueError for a step, parameter or tile that cannot run here, KernelError for a source that
    does not compile.
    """
    device = devices.cuda_device()
    if like is None and isinstance(step, str) and "\n" not in step:
        rung = ladder.step(step, "CUDA")
        p = ladder.parameters(rung, device, tuned.chosen(parameters, rung, device, source_of(rung.name), given))
        return CudaKernel(rung.name, p, device, False, *from_ladder(rung.name, p))
    if like is None:
        raise ValueError("a kernel of your own needs like=...: the step whose block and grid it is launched with.")
    rung = ladder.step(like, "CUDA")
    p = ladder.parameters(rung, device, tuned.chosen(parameters, rung, device, source_of(rung.name), given))
    return CudaKernel(rung.name, p, device, True, *(from_text(step, p) if isinstance(step, str) else from_function(step)))


def source_of(name):
    """The text of that step's file."""
    return inspect.getsource(importlib.import_module(f".{name}", __name__))


def from_ladder(name, p):
    return call_builder(getattr(importlib.import_module(f".{name}", __name__), name), p), source_of(name)


def from_function(function):
    """A learner's `@cuda.jit` function, or the plain function inside it, and its source."""
    plain = getattr(function, "py_func", function)
    if not callable(plain):
        raise ValueError(f"{function!r} is no kernel: pass a @cuda.jit function, source text, or a step's name.")
    try:
        source = textwrap.dedent(inspect.getsource(plain))
    except (OSError, TypeError):
        source = f"# the source of {plain.__name__} is not at hand\n"
    return (function if plain is not function else cuda.jit(plain)), source


def from_text(source, p):
    """Build source text that defines one `@cuda.jit` kernel, or one builder such as those of the ladder."""
    name = f"<kernel {abs(hash(source)):x}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace = {"__name__": "kernel"}
    try:
        exec(compile(source, name, "exec"), namespace)
    except SyntaxError as error:
        raise KernelError(f"line {error.lineno}: {error.msg}\n    {(error.text or '').strip()}") from None
    except Exception as error:  # a wrong name, an import that fails, ...: the learner's line and words
        line = [n for f, n in traceback.walk_tb(error.__traceback__) if f.f_code.co_filename == name][-1]
        raise KernelError(f"line {line}: {type(error).__name__}: {error}") from None
    mine = [v for v in namespace.values() if getattr(v, "__module__", None) == "kernel" and callable(v)]
    mine = [v for v in mine if not is_device_function(v)]
    if len(mine) != 1:
        raise KernelError(f"the source must define exactly one kernel or one function that builds it, not {len(mine)}.")
    return (mine[0] if hasattr(mine[0], "py_func") else call_builder(mine[0], p)), source


def is_device_function(value):
    """Whether it is `@cuda.jit(device=True)`: called by kernels, never launched. (In the simulator, then on a GPU.)"""
    return getattr(value, "_device", False) or getattr(value, "targetoptions", {}).get("device", False)


def ptx(kernel, p, capability):
    """PTX for GPUs of that compute capability, (major, minor), of a kernel as source text or function. Needs no GPU.

    Not in the simulator. Raises KernelError for a kernel that does not compile, and where NVIDIA's compiler is missing.
    """
    from numba.cuda import dispatcher

    function, _ = from_text(kernel, p) if isinstance(kernel, str) else from_function(kernel)
    # Functions that a kernel calls are compiled for the current device. There may be none, and it is not asked.
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)
    try:
        return cuda.compile_ptx(function.py_func, (float32[:, ::1],) * 3, cc=capability)[0]
    except Exception as error:  # Numba raises many kinds; the learner needs its words, not the stages of its pipeline
        said = [line for line in str(error).strip().splitlines() if line.strip() and not line.startswith(("Failed in", "During:"))]
        raise KernelError("\n".join(said)) from None


def call_builder(builder, p):
    """Call builder with those of the parameters that it takes; the others are a matter of the launch."""
    takes = inspect.signature(builder).parameters
    missing = [name for name, q in takes.items() if name not in p and q.default is q.empty]
    if missing:
        raise KernelError(f"{builder.__name__} takes {', '.join(missing)}, which is no parameter of this step "
                          f"({', '.join(p)}). If it is the kernel itself, put @cuda.jit above it.")
    kernel = builder(**{name: p[name] for name in takes if name in p})
    if not hasattr(kernel, "py_func"):
        raise KernelError(f"{builder.__name__} must return the kernel, a @cuda.jit function; it returns {kernel!r}.")
    return kernel


class CudaKernel(Kernel):
    dialect = "CUDA"

    def __init__(self, step, parameters, device, own, function, source):
        super().__init__(step, parameters, source, device, own)
        self.function = function
        self.build_seconds = 0.0
        if device.kind == "GPU":
            start = time.perf_counter()
            try:
                function.compile((float32[:, ::1],) * 3)
            except Exception as error:  # Numba raises many kinds; the learner needs its words
                raise KernelError(f"{self} does not compile:\n{str(error).strip()}") from None
            self.build_seconds = time.perf_counter() - start

    def refuse(self, M, N, K):
        super().refuse(M, N, K)
        blocks = self.grid(M, N)[1]
        if self.device.kind == "GPU" and blocks > 65535:
            raise ValueError(f"{self} needs {blocks} blocks along y for a C of {M} x {N}; CUDA allows 65535. "
                             f"Multiply a part at a time, or choose larger tiles.")

    def upload(self, A, B, fill=np.nan):
        return CudaWork(self, A, B, fill)


class CudaWork:
    """A, B and C on the device, ready to launch again and again."""

    def __init__(self, k, A, B, fill):
        shape = (A.shape[0], B.shape[1])
        self.k, self.shape = k, shape
        try:
            self.d_A, self.d_B = guarded(A)[0], guarded(B)[0]
            self.d_C, self.d_guard = guarded(np.full(shape, fill, np.float32), behind=base.CANARY)
        except Exception as error:
            if "OUT_OF_MEMORY" not in str(error):
                raise
            raise MemoryError(f"{k.device.name} has too little memory free for A, B and C. Close what else uses it, or "
                              f"multiply a block of rows of A at a time.") from None

    def launch(self):
        """Run the kernel once. Returns the GPU's own seconds; None in the simulator, where time means nothing."""
        configured = self.k.function[self.k.grid(*self.shape), self.k.block]
        if self.k.device.kind == "simulator":
            # The simulator's main thread polls the others without a pause. Let Python turn to them much sooner
            # than after its usual 5 ms, and a launch with barriers takes a fifth of the time.
            interval = sys.getswitchinterval()
            sys.setswitchinterval(1e-4)
            try:
                configured(self.d_A, self.d_B, self.d_C)
            finally:
                sys.setswitchinterval(interval)
            return None
        start, stop = cuda.event(timing=True), cuda.event(timing=True)
        start.record()
        configured(self.d_A, self.d_B, self.d_C)
        stop.record()
        stop.synchronize()
        return cuda.event_elapsed_time(start, stop) / 1e3

    def download(self):
        """C as a NumPy array. Raises KernelError if the kernel wrote past its end."""
        return read_back(self.d_C.copy_to_host(), self.d_guard.copy_to_host())


def guarded(X, behind=np.nan):
    """X on the device, and the guard behind it, full of `behind`."""
    d_all = cuda.device_array(X.size + base.GUARD, np.float32)
    d_X, d_guard = d_all[: X.size], d_all[X.size :]
    d_X.copy_to_device(X.ravel())
    if base.GUARD:
        d_guard.copy_to_device(np.full(base.GUARD, behind, np.float32))
    return d_X.reshape(*X.shape), d_guard
