"""Finds the CUDA and OpenCL devices of this machine, and proves them before it counts on them.

Enumeration proves nothing: a device counts once a small kernel has built, run and returned the right numbers there.
"""

import contextlib
import ctypes
import functools
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import types
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import platformdirs

import cuda_without_gpu
from cuda_without_gpu.before_numba import let_numba_load

from . import drivers, files
from .errors import Told
from .packages import repair, version

# Ladder parameters are chosen by kind. PoCL loops over the work-items of a group where Intel's CPU
# compiler packs them into vector lanes, so the two want different shapes.
# The PTX machine is given a GPU's parameters.
KINDS = ("GPU", "CPU", "CPU (PoCL)", "PTX machine")

PROOF_SECONDS = 120
OLDEST_COMPILER = 12, 9  # of NVIDIA's compilers that make the code which the pages count; 12.8 makes other code
# Tells a child what a CUDA kernel meets there, whatever GPU there is: "PTX machine", or "compiler", which is NVIDIA's.
CUDA_OF_CHILD = "HELPERS_CUDA_OF_CHILD"
PROVED_ABOVE = "HELPERS_PROVED_OPENCL"  # names to a child the OpenCL device that its parent has proved


class DeviceError(Told):
    """No device of that dialect can run a kernel; the message says what to install or set."""


@dataclass(frozen=True)
class Device:
    """A device that has run a kernel and returned the right numbers.

    `max_threads` is threads (work-items) a block (work-group); `shared_bytes` is shared (local) memory a
    block; `memory_bytes` is all of its memory, None where that is simply the machine's. `vector_width` is float32 in
    a vector register, 1 on a GPU; `units` are its cores, or what a GPU has in their place.
    """

    dialect: str
    name: str
    kind: str
    driver: str
    max_threads: int
    shared_bytes: int
    memory_bytes: int | None
    handle: Any = field(default=None, compare=False, repr=False)
    vector_width: int = 1
    units: int = 1


# ---------------------------------------------------------------------------------------------- CUDA


def nvidia_driver(function: str, *arguments) -> bool:
    """Call that function of the NVIDIA driver, which answers without anything else of CUDA. Returns whether it did."""
    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        return getattr(driver, function)(*arguments) == 0
    except (OSError, AttributeError):  # there is none, or something else of that name
        return False


def nvidia_gpus() -> list[str]:
    """The names of the GPUs that the NVIDIA driver reports; empty without a driver."""
    count, name = ctypes.c_int(0), ctypes.create_string_buffer(100)
    if not nvidia_driver("cuInit", 0) or not nvidia_driver("cuDeviceGetCount", ctypes.byref(count)):
        return []
    names = []
    for number in range(count.value):
        nvidia_driver("cuDeviceGetName", name, len(name), number)
        names.append(name.value.decode(errors="replace"))
    return names


def nvidia_driver_cuda() -> tuple[int, int] | None:
    """The newest CUDA version the NVIDIA driver serves, as (major, minor); None without a driver."""
    version = ctypes.c_int(0)
    if not nvidia_driver("cuDriverGetVersion", ctypes.byref(version)):
        return None
    return version.value // 1000, version.value % 1000 // 10


def cuda_extra():
    """The extra of this package that brings what Numba needs of CUDA, as this machine's driver wants it."""
    return "cuda12" if (nvidia_driver_cuda() or (13, 0)) < (13, 0) else "cuda13"


@functools.cache
def has_compiler() -> bool:
    """Whether NVIDIA's compiler is installed, `OLDEST_COMPILER` or newer: it makes machine code, and needs no GPU."""
    from gpu_model import machine_code  # which reads its table of GPUs

    ptxas, nvdisasm = map(machine_code.nvidia_tool, ("ptxas", "nvdisasm"))
    if not ptxas or not nvdisasm:
        return False
    said = subprocess.run([ptxas, "--version"], capture_output=True, text=True).stdout
    release = re.search(r"release (\d+)\.(\d+)", said)
    return bool(release) and tuple(map(int, release.groups())) >= OLDEST_COMPILER


def prepare_numba():
    """Set what Numba reads once, when it loads; raises ImportError if its simulator was loaded before."""
    os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")  # small teaching grids are on purpose
    if compiling():
        cuda_without_gpu.enable()
    else:
        let_numba_load()


@functools.cache
def compiling() -> bool:
    """True when CUDA kernels are compiled with no GPU, and run on the PTX machine, in this process."""
    told = os.environ.get(CUDA_OF_CHILD)
    return told == "PTX machine" if told else not nvidia_gpus() or cuda_problem() is not None


def cache_folder() -> Path:
    """Where this user's files are kept from one day to the next; HELPERS_CACHE names another folder."""
    return Path(os.environ.get("HELPERS_CACHE") or platformdirs.user_cache_dir("matmul-ladder", appauthor=False))


def proof() -> Path:
    """The file that is there once CUDA was proved, in seconds, to work with this driver, these GPUs and packages."""
    all_packages = importlib.metadata.distributions()
    packages = {
        f"{p.name} {p.version}" for p in all_packages if re.match("numba|cuda|nvidia|llvmlite", p.name or "", re.I)
    }
    depends_on = repr((nvidia_driver_cuda(), nvidia_gpus(), sorted(packages)))
    return cache_folder() / f"cuda-works-{hashlib.sha256(depends_on.encode()).hexdigest()[:16]}"


@functools.cache
def cuda_problem() -> str | None:
    """None if Numba runs a kernel on the GPU, in a child, or did so before, else the last line of the error."""
    if os.path.exists(proof()):
        return None
    code = "from helpers.devices import prove_cuda; prove_cuda()"
    environment = {CUDA_OF_CHILD: "GPU", "PYTHONPATH": python_path()}
    _, problem = drivers.in_python(["-c", code], PROOF_SECONDS, **environment)
    if problem is None:
        with contextlib.suppress(OSError):  # a cache that cannot be written: it is proved again the next time
            cache_folder().mkdir(parents=True, exist_ok=True)
            proof().touch()
    return problem


def prove_cuda():
    """Double four numbers with a CUDA kernel; raises whatever goes wrong."""
    import numpy as np
    from numba import cuda

    @cuda.jit
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = 2 * x[i]

    d_x = cuda.to_device(np.arange(4, dtype=np.float32))
    double[1, 8](d_x)
    if d_x.copy_to_host().tolist() != [0, 2, 4, 6]:
        raise DeviceError("a small CUDA kernel returned wrong numbers")


# It runs compiled code with no GPU.
PTX_MACHINE = Device("CUDA", "the PTX machine", "PTX machine", "none", 1024, 48 * 1024, None)


@functools.cache
def cuda_device():
    """The CUDA `Device` kernels run on: the current NVIDIA GPU, an OpenCL device that takes SPIR-V, the PTX machine."""
    if compiling():
        return spirv_device() or PTX_MACHINE
    from numba import cuda

    gpu = cuda.get_current_device()
    name = gpu.name.decode() if isinstance(gpu.name, bytes) else gpu.name
    memory = cuda.current_context().get_memory_info().total
    driver = "CUDA {}.{}".format(*(nvidia_driver_cuda() or (0, 0)))
    return Device("CUDA", name, "GPU", driver, gpu.MAX_THREADS_PER_BLOCK, gpu.MAX_SHARED_MEMORY_PER_BLOCK, memory, gpu)


def spirv_device() -> Device | None:
    """The OpenCL device that CUDA kernels run on with no NVIDIA GPU: OpenCL's own, or the first that takes SPIR-V."""
    with contextlib.suppress(Exception):  # llvmlite may be old, pyopencl broken: the PTX machine needs neither
        from cuda_without_gpu.to_spirv import refuse_old_llvm

        refuse_old_llvm()
        for device in (opencl_device(), *opencl_devices()):
            with contextlib.suppress(Exception):  # of a driver that is older than the question
                if device.handle.il_version and problem_of(device) is None:
                    return replace(device, dialect="CUDA")
    return None


# -------------------------------------------------------------------------------------------- OpenCL


def engines() -> dict[str, str | None]:
    """What page 15 runs several processes with, and what is missing of it: {engine: None, or what is missing}."""
    mpiexec = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
    lacks = {name: None if version(name) else name for name in ("mpi4py", "dask", "distributed")}
    return {"MPI": lacks["mpi4py"] if mpiexec else "mpiexec", "Dask": lacks["dask"] or lacks["distributed"]}


def block_languages() -> dict[str, str | None]:
    """The block languages of page 18: {name: its version, or None where it is not installed}."""
    return {name: version(package) for name, package in (("Triton", "triton"), ("Warp", "warp-lang"))}


def load_warp() -> types.ModuleType:
    """Warp, loaded without what its library prints where there is no GPU. Raises ImportError where it is missing."""
    import warp

    warp.config.log_level = warp.LOG_WARNING
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        warp.init()
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
    return warp


def find_opencl_drivers():
    """Let OpenCL's loader see pip's CPU runtime as well as the system's drivers. Call before pyopencl loads.

    Intel's runtime is told how much local memory a work-group has, unless the user has said it.
    """
    # What pyopencl kept from another processor, as where machines share a home, is built anew: with no such variable it
    # raises a KeyError in place of that.
    os.environ.setdefault("PYOPENCL_CACHE_FAILURE_FATAL", "")
    with contextlib.suppress(OSError, ValueError):  # of a core's second cache, as PoCL does; 256 KiB is Intel's setting
        kib = int(Path("/sys/devices/system/cpu/cpu0/cache/index2/size").read_text().strip().removesuffix("K"))
        os.environ.setdefault("CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE", f"{max(256, kib)}KB")
    drivers.show_drivers()


TEMPORARY_CACHE = "matmul-ladder-cache-"  # how the folder begins that stands in for one that cannot be written


def find_home() -> None:
    """Where this user has no home, or cannot write to its cache, give this process and its children one while they run.

    pyopencl and PoCL build nothing without one. Call it before anything is loaded.
    """
    if sys.platform != "linux":
        return
    if os.path.expanduser("~") == "~":  # a user without a name, and HOME is not set
        os.environ["HOME"] = str(drivers.new_folder(TEMPORARY_CACHE))
    try:
        files.try_writing(platformdirs.user_cache_path("pyopencl") / "written", make_folder=True)
    except OSError:
        os.environ["XDG_CACHE_HOME"] = str(drivers.new_folder(TEMPORARY_CACHE))


@functools.cache
def oclgrind_library() -> Path | None:
    """The OpenCL driver of Oclgrind, with which `check` watches kernels; None where there is none that answers."""
    library = drivers.oclgrind_driver()
    return None if library is None or drivers.fault_of(library) else library


@functools.cache
def problem_of(device: Device) -> str | None:
    """Why that OpenCL device cannot be used, in its driver's words; None once a kernel ran on it and was right."""
    if os.environ.get(PROVED_ABOVE) == device.name:
        return None
    try:
        prove_opencl(device.handle)
    except Exception as error:  # a driver may fail in any way; each way means "not this one"
        return str(error).strip().splitlines()[0][:200] or type(error).__name__
    return None


def numbered(name: str, number: int) -> str:
    """The name of a device, of which there may be more: "H200", "H200#1", and so on."""
    return f"{name}#{number}" if number else name


def building(handle: object) -> contextlib.AbstractContextManager:
    """Within it a program may be built there: PoCL's by one process at a time (github.com/pocl/pocl/issues/1480)."""
    if "Portable" in handle.platform.name:
        return files.locked(platformdirs.user_cache_path("pocl"))
    return contextlib.nullcontext()


def prove_opencl(handle):
    """Double four numbers with an OpenCL kernel on that pyopencl device; raises whatever goes wrong."""
    import numpy as np
    import pyopencl as cl

    context = cl.Context([handle])
    queue = cl.CommandQueue(context)
    source = "__kernel void twice(__global float *x) { x[get_global_id(0)] *= 2; }"
    with building(handle):
        program = cl.Program(context, source).build()
    x = np.arange(4, dtype=np.float32)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    d_x = cl.Buffer(context, flags, hostbuf=x)
    cl.Kernel(program, "twice")(queue, x.shape, None, d_x)
    cl.enqueue_copy(queue, x, d_x)
    if x.tolist() != [0, 2, 4, 6]:
        raise DeviceError("a small OpenCL kernel returned wrong numbers")


@functools.cache
def opencl_devices() -> tuple[Device, ...]:
    """Every OpenCL device, best kind first, but those too slow; Oclgrind only if HELPERS_OPENCL_DEVICE asks for it."""
    import warnings

    drivers.leave_out_what_fails()
    import pyopencl as cl

    # Intel's runtime reports success at length after every build.
    warnings.filterwarnings("ignore", category=cl.CompilerWarning)
    warnings.filterwarnings("ignore", message="PyOpenCL compiler caching failed")
    too_slow = {"FPGA", "Oclgrind"}
    if "oclgrind" in os.environ.get("HELPERS_OPENCL_DEVICE", "").lower():
        too_slow = {"FPGA"}
    else:
        os.environ["PYOPENCL_HOME"] = ""  # where pip's loader finds pip's Oclgrind, which has an LLVM of its own
    handles = []
    with contextlib.suppress(cl.Error):  # the loader found no driver at all
        for platform in cl.get_platforms():
            with contextlib.suppress(cl.Error):
                handles += platform.get_devices()
    handles = [one for one in handles if not any(word in one.platform.name for word in too_slow)]
    found, seen = [], Counter()
    for handle in sorted(handles, key=lambda handle: KINDS.index(opencl_kind(handle))):
        model = handle.name.strip()
        with contextlib.suppress(cl.Error):
            found.append(described(handle, numbered(model, seen[model])))
            seen[model] += 1
    return tuple(found)


def described(handle: object, name: str) -> Device:
    """The `Device` that a pyopencl device is."""
    kind, driver = opencl_kind(handle), f"{handle.platform.name} {handle.driver_version}"
    most, local, memory = handle.max_work_group_size, handle.local_mem_size, handle.global_mem_size
    width = 1 if kind == "GPU" else max(1, handle.native_vector_width_float)
    return Device("OpenCL", name, kind, driver, most, local, memory, handle, width, handle.max_compute_units)


def opencl_kind(handle) -> str:
    """Which of KINDS that pyopencl device is."""
    import pyopencl as cl

    if handle.type & cl.device_type.GPU and not handle.type & cl.device_type.CPU:  # Oclgrind claims to be both
        return "GPU"
    return "CPU (PoCL)" if "Portable" in handle.platform.name else "CPU"


def opencl_device(name: str | None = None, kinds: tuple = KINDS) -> Device:
    """The OpenCL `Device` kernels run on.

    `name`: part of a platform or device name, with a number where several devices are called the same ("H200#1"); by
    default HELPERS_OPENCL_DEVICE, as it is now, then the first candidate that proves itself. `kinds`: those that will
    do, such as the CPUs only.
    Raises DeviceError when none does, with what to install.
    """
    if not isinstance(name, str | None):
        text = "device={name} is no name; give a part of one that python -m helpers doctor lists."
        raise DeviceError(text, name=repr(name)[:80])
    return proved_device(name or os.environ.get("HELPERS_OPENCL_DEVICE"), kinds)


@functools.cache
def proved_device(name: str | None, kinds: tuple) -> Device:
    """The first device of that name, or of all, that proves itself. Looked for once."""
    found = opencl_devices()
    if name:
        part = name.lower().removesuffix("#0")
        found = [one for one in found if part in f"{one.handle.platform.name} {one.name}".lower()]
        if not found:
            listed = ", ".join(f"{one.name} ({one.handle.platform.name})" for one in opencl_devices())
            text = "no OpenCL device is called {name}; found: {listed}."
            raise DeviceError(text, name=repr(name), listed=listed or ("none at all", {}))
    for device in found:
        if device.kind in kinds and problem_of(device) is None:
            return device
    tried = [f"{one.name}: {problem_of(one) if one.kind in kinds else one.kind}" for one in found]
    tried += [f"{library}: {fault}" for library, _, fault in drivers.faults()]
    key = "no OpenCL CPU can run a kernel ({why}). {remedy}"
    if "GPU" in kinds:
        key = "no OpenCL device can run a kernel ({why}). {remedy}"
    raise DeviceError(key, why="; ".join(tried) or ("no driver is installed", {}), remedy=opencl_remedy())


RUNTIME = drivers.RUNTIME, "intel-cmplr-lib-rt"  # pip's packages of an OpenCL CPU runtime
SYSTEM_RUNTIME = "sudo apt-get install pocl-opencl-icd"


def opencl_remedy() -> tuple[str, dict]:
    """What adds an OpenCL CPU runtime on this machine, or mends the one that is there: see `language.spelled`."""
    runtime, shown = drivers.pip_cpu_runtime(), drivers.visible_cpu_runtime()
    lost = version(drivers.RUNTIME) and (not runtime or drivers.fault_of(shown or runtime))
    if lost and str(lost).endswith(drivers.BUSY):
        return "Try again.", {}
    if lost:
        return "To mend pip's CPU runtime: {command}", {"command": repair(*RUNTIME)}
    if shown and drivers.PYOPENCL_FIRST and not opencl_devices():
        return "OpenCL's drivers were listed before `import helpers`. Restart Python, and import helpers first.", {}
    if shown:
        return "pip's CPU runtime fails here. To add another: {command}", {"command": SYSTEM_RUNTIME}
    if runtime:
        hidden = "pip's CPU runtime is installed but hidden: unset OCL_ICD_VENDORS, and import helpers before pyopencl."
        return hidden, {}
    command = SYSTEM_RUNTIME
    if sys.platform == "darwin":
        command = "conda install -c conda-forge pocl pyopencl"
    elif platform.machine().lower() in ("x86_64", "amd64"):
        command = f"pip install {' '.join(RUNTIME)}"
    return "To add a CPU runtime: {command}", {"command": command}


def numpy_blas():
    """The library behind NumPy's product, and the CPU whose code it runs: such as "OpenBLAS 0.3.31 for SkylakeX"."""
    import numpy  # noqa: F401, so that its library is loaded
    from threadpoolctl import threadpool_info

    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    if not pools:
        return "another library"
    # Other packages may have loaded theirs, too; pip's NumPy has its own.
    pool = next((pool for pool in pools if "numpy" in pool["filepath"]), pools[0])
    name = {"openblas": "OpenBLAS", "mkl": "MKL", "blis": "BLIS"}.get(pool["internal_api"], pool["internal_api"])
    version = ".".join(str(pool["version"]).split(".")[:3])
    forced = " (OPENBLAS_CORETYPE forces it)" if name == "OpenBLAS" and os.environ.get("OPENBLAS_CORETYPE") else ""
    return f"{name} {version}" + (f" for {pool['architecture']}" if pool.get("architecture") else "") + forced


def cpu_model() -> str:
    """Which CPU this is, such as "AMD EPYC, family 25, model 17, 2 cores"; a virtual machine may hide the name."""
    said = {}
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(errors="replace").partition("\n\n")[0].splitlines()
        said = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    name = said.get("model name") or platform.processor() or platform.machine() or "unknown CPU"
    numbers = {"family": "cpu family", "model": "model", "implementer": "CPU implementer", "part": "CPU part"}
    parts = [f"{word} {said[key]}" for word, key in numbers.items() if said.get(key)]
    cores = usable_cores()
    return ", ".join([name, *parts, f"{cores} core{'s' * (cores > 1)}"])


def usable_cores() -> int:
    """How many cores this process may use; two threads of one core count once."""
    import psutil

    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    each = (psutil.cpu_count() or 1) / (psutil.cpu_count(logical=False) or psutil.cpu_count() or 1)
    return max(1, round(threads / each))


def python_path():
    """PYTHONPATH under which a child process finds this very package, and those that it imports of the course's."""
    files = __file__, importlib.util.find_spec("ptx_machine").origin
    places = dict.fromkeys(str(Path(file).resolve().parents[1]) for file in files)
    return os.pathsep.join([*places, *filter(None, [os.environ.get("PYTHONPATH")])])
