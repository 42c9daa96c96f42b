"""What one would use instead of the ladder's kernels: libraries that multiply the same float32 matrices.

PyTorch, MKL and BLIS on the host, CLBlast on the OpenCL device, cuBLAS on the NVIDIA GPU. `check` and `measure` take
them as they take our kernels: the same inputs, canaries and clocks, float32 throughout and no TF32. The course needs
none of them, so each that cannot be used here is a `Missing`, which says how to add it. `LIBRARIES` is the table of
them; another one with the C interface of BLAS is one row more.
"""

import ctypes
import ctypes.util
import functools
import os
import platform
import re
import sys
import sysconfig
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyopencl as cl
from numba import cuda
from threadpoolctl import ThreadpoolController

from .. import devices, needs
from ..judge import right_within_bound
from ..launch import Contestant, draw
from ..launch.contestant import Backend
from ..launch.cuda import CudaBackend
from ..launch.dialects import dialects as dialects_called
from ..launch.given import takes
from ..launch.kernel import refuse_beyond_memory
from ..launch.opencl import OpenCLBackend, refuse_beyond_buffer

# The argument types of the libraries' calls in C.
INT, SIZE, FLOAT, POINTER = ctypes.c_int, ctypes.c_size_t, ctypes.c_float, ctypes.c_void_p
# A library's calls of itself reach itself, and not another that has functions of the same names and came first.
OWN_FIRST = getattr(os, "RTLD_DEEPBIND", ctypes.DEFAULT_MODE)
ROW_MAJOR, PLAIN = 101, 111  # as CBLAS numbers them, and CLBlast after it; PLAIN is "not transposed"


@dataclass(frozen=True)
class Missing:
    """A library that cannot be used here. `remedy`: one sentence, with the one line that adds it where there is one."""

    name: str
    dialect: str
    remedy: str


@dataclass(frozen=True)
class Library:
    """A row of `LIBRARIES`. `starts`: the row -> a device or None, a version, a backend and a launcher.

    `files`: patterns, below where conda and pip put shared libraries. `names`: what the system may know it by.
    `adds`: () -> the remedy where it is not here.
    """

    name: str
    dialect: str
    starts: Callable
    adds: Callable[[], str] = str
    files: tuple = ()
    names: tuple = ()

    def load(self, mode: int = ctypes.DEFAULT_MODE) -> ctypes.CDLL:
        """The shared library. Raises `Absent` where there is none."""
        return load(self.adds(), *installed(*self.files), *self.names, mode=mode)


class Absent(Exception):
    """A library, or the device it needs, is not here; the message is the remedy."""


class Peer(Contestant):
    """A library. `launcher`: `Work` -> what asks it once for the product."""

    def __init__(self, name, dialect, device, version, backend, launcher):
        self.name, self.dialect, self.device, self.backend, self.launcher = name, dialect, device, backend, launcher
        self.parameters = {"version": version} if version else {}
        # CLBlast builds its kernels in the first call of their kind, and does not say how long that takes.
        self.build_seconds = None if dialect == "OpenCL" else 0.0

    def refuse(self, M, N, K):
        """Raise MemoryError where the device, or one of its buffers, cannot hold A, B and C."""
        if self.device:
            refuse_beyond_memory(self.device, M, N, K)
        if self.dialect == "OpenCL":
            refuse_beyond_buffer(self.device, M, N, K)


@takes
def peers(dialects: Sequence[str] | str | None = None) -> list:
    """The host's libraries, then those of the dialects: a list of what `check` and `measure` take, or of `Missing`."""
    asked = {"Python", *(one.name for one in (() if dialects in ([], ()) else dialects_called(dialects)))}
    return [find(name) for name, library in LIBRARIES.items() if library.dialect in asked]


def find(name: str) -> Peer | Missing:
    """The library of that name, once it has multiplied two small matrices right; else `Missing`. Raises nothing."""
    library, dialect = LIBRARIES[name], LIBRARIES[name].dialect
    try:
        k = Peer(name, dialect, *library.starts(library))
        if right_within_bound(k, *draw(5, 7, 3)):
            return k
        remedy = "is installed but gave wrong numbers at 5 x 7 x 3; install it again"
    except (Absent, devices.DeviceError) as error:
        remedy = str(error)
    except Exception as error:  # a library may fail in any way; each way means "not this one"
        remedy = f"is installed but fails: {(str(error).strip() or type(error).__name__).splitlines()[0]}"
    return Missing(name, dialect, remedy)


def installed(*patterns):
    """The files that match, where conda and pip put shared libraries, the newest first."""
    prefixes = dict.fromkeys((sys.prefix, sysconfig.get_path("data")))  # not the same on Debian and on Colab
    return [file for one in patterns for prefix in prefixes for file in sorted(Path(prefix).glob(one), reverse=True)]


def line_that_adds(debian, conda):
    """The line that installs a library which pip does not have: its names in Debian and in conda-forge."""
    apt = sys.platform == "linux" and not Path(sys.prefix, "conda-meta").is_dir()
    return f"to add it: sudo apt-get install {debian}" if apt else f"to add it: conda install -c conda-forge {conda}"


def line_that_adds_mkl():
    """The line that installs MKL, or that Intel makes none for this machine."""
    made = sys.platform != "darwin" and platform.machine().lower() in ("x86_64", "amd64")
    return f"to add it: {needs.remedy('peers')} (some 270 MB)" if made else "is not made for this machine"


def load(remedy, *names, mode=ctypes.DEFAULT_MODE):
    """The first of these shared libraries, paths or names the system knows, that loads. Raises Absent if none does."""
    for name in names:
        try:
            return ctypes.CDLL(str(name), mode)
        except OSError:  # not there; or there, without a library that it needs itself
            continue
    raise Absent(remedy)


# ---------------------------------------------------------------------------------------------- host


def pytorch(_):
    """Whatever PyTorch's CPU build multiplies with."""
    try:
        import torch  # only now: it takes seconds
    except ModuleNotFoundError:
        raise Absent("to add it: pip install torch") from None

    def launcher(work):
        A, B, C = map(torch.from_numpy, work.matrices())  # which shares NumPy's memory
        return functools.partial(torch.matmul, A, B, out=C)

    return None, str(torch.__version__), Backend, launcher


def cblas(library, mode=ctypes.DEFAULT_MODE, all_cores=False):
    """Any library with the C interface of BLAS. `all_cores`: whether it must be told to take more than one."""
    gemm = library.load(mode).cblas_sgemm
    gemm.restype, gemm.argtypes = None, (*[INT] * 6, FLOAT, *[POINTER, INT] * 2, FLOAT, POINTER, INT)
    version = ""
    for loaded in ThreadpoolController().select(internal_api=library.name.lower()).lib_controllers:
        version = f"{loaded.version}".removesuffix("-Product")
        version += f" for {loaded.architecture}" if getattr(loaded, "architecture", None) else ""
        if all_cores:
            loaded.set_num_threads(devices.usable_cores())

    def launcher(work):
        (M, N, K), (A, B, C) = work.sizes, (X.ctypes.data for X in work.matrices())
        return functools.partial(gemm, ROW_MAJOR, PLAIN, PLAIN, M, N, K, 1, A, K, B, N, 0, C, N)

    return None, version, Backend, launcher


# -------------------------------------------------------------------------------------------- OpenCL


class CLBlastBackend(OpenCLBackend):
    """An OpenCL device that tells of a product only when the last of its one to five kernels ends: of its event."""

    def timed(self, multiply, launches):
        """Multiply so many times. Returns seconds a launch: a GPU's own, from a marker on; on a CPU the wall's."""
        marker = cl.enqueue_marker(self.queue)
        marker.wait()
        start = time.perf_counter()
        for _ in range(launches):
            event = multiply()
        event.wait()
        if self.device.kind == "GPU":
            return (event.profile.end - marker.profile.end) * 1e-9 / launches
        return (time.perf_counter() - start) / launches


def clblast(library):
    """AMD's, Intel's and NVIDIA's GPUs and CPUs, through OpenCL."""
    loaded, device, matrix = library.load(), devices.opencl_device(), (POINTER, SIZE, SIZE)
    maps = Path("/proc/self/maps")  # only the file's name tells the version, and only Linux shows that name
    version = re.search(r"libclblast\.so\.(\d+(\.\d+)+)", maps.read_text()) if maps.exists() else None
    gemm = loaded.CLBlastSgemm
    gemm.restype = INT
    gemm.argtypes = (*[INT] * 3, *[SIZE] * 3, FLOAT, *matrix, *matrix, FLOAT, *matrix, POINTER, POINTER)

    def launcher(work):
        (M, N, K), queue, event = work.sizes, POINTER(work.on.queue.int_ptr), POINTER()
        A, B, C = ((X.int_ptr, 0) for X in (work.A, work.B, work.C))  # each from its first element on
        asked = M, N, K, 1, *A, K, *B, N, 0, *C, N, ctypes.byref(queue), ctypes.byref(event)

        def multiply():
            if status := gemm(ROW_MAJOR, PLAIN, PLAIN, *asked):
                raise RuntimeError(f"CLBlastSgemm returned {status}")
            return cl.Event.from_int_ptr(event.value, retain=False)

        return multiply

    return device, version and version[1], CLBlastBackend, launcher


# ---------------------------------------------------------------------------------------------- CUDA


def address(X):
    """Where a device array begins, as an integer."""
    return X.__cuda_array_interface__["data"][0]


def cublas(_):
    """NVIDIA's own."""
    device = devices.cuda_device()
    if device.kind != "GPU":
        raise Absent("needs an NVIDIA GPU")
    gemm, handle, version = started_cublas()

    def launcher(work):
        (M, N, K), (A, B, C), one, zero = work.sizes, map(address, work.matrices()), FLOAT(1), FLOAT(0)
        # cuBLAS stores by columns, so that our arrays are A^T, B^T and C^T to it: C^T = B^T A^T. A new handle works
        # in the null stream, as Numba's events do.
        asked = handle, 0, 0, N, M, K, ctypes.byref(one), B, N, A, K, ctypes.byref(zero), C, N

        def multiply():
            if status := gemm(*asked):
                raise RuntimeError(f"cublasSgemm returned {status}")

        return multiply

    return device, version, CudaBackend, launcher


@functools.cache
def started_cublas():
    """cublasSgemm, a handle for it, and the version. Once a process, for a handle keeps memory of the GPU."""
    library, handle, number, version = load_cublas(), POINTER(), INT(), []
    cuda.current_context()  # cublasCreate takes this thread's context, which must be Numba's
    # The mode is CUBLAS_DEFAULT_MATH: float32, no TF32.
    if status := library.cublasCreate_v2(ctypes.byref(handle)) or library.cublasSetMathMode(handle, 0):
        raise RuntimeError(f"cuBLAS does not start here: status {status}")
    for part in range(3):  # major, minor, patch
        library.cublasGetProperty(part, ctypes.byref(number))
        version.append(str(number.value))
    gemm = library.cublasSgemm_v2
    gemm.restype, gemm.argtypes = INT, (POINTER, *[INT] * 5, POINTER, *[POINTER, INT] * 2, POINTER, POINTER, INT)
    return gemm, handle, ".".join(version)


def load_cublas():
    """The library of cuBLAS: pip's, conda's or an installed toolkit's. Raises Absent when there is none."""
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib  # comes with numba-cuda

        name = load_nvidia_dynamic_lib("cublas").abs_path
    except (ImportError, OSError, RuntimeError):  # no pathfinder; does not load; pathfinder's "not found"
        name = ctypes.util.find_library("cublas")
    major = devices.cuda_extra().removeprefix("cuda")
    return load(f'to add it: pip install "cuda-toolkit[cublas]=={major}.*"', *filter(None, [name]))


# BLIS is a research library, of which AMD's own is made. Debian also has a build of it whose threads begin anew with
# each call, and wait for each other by spinning: after a rest they may find themselves on one core, ten times as slow.
LIBRARIES = {
    library.name: library
    for library in [
        Library("PyTorch", "Python", pytorch),
        Library(
            "MKL",
            "Python",
            cblas,
            line_that_adds_mkl,
            files=("lib/libmkl_rt.so*", "Library/bin/mkl_rt.*.dll"),
            names=("libmkl_rt.so.3", "libmkl_rt.so.2"),
        ),
        Library(
            "BLIS",
            "Python",
            functools.partial(cblas, mode=OWN_FIRST, all_cores=True),
            functools.partial(line_that_adds, "libblis4-openmp", "blis"),
            files=("lib/libblis.so*", "lib/libblis*.dylib", "Library/bin/libblis*.dll"),
            names=("libblis.so.4",),
        ),
        Library(
            "CLBlast",
            "OpenCL",
            clblast,
            functools.partial(line_that_adds, "libclblast1", "clblast"),
            files=("lib/libclblast.*", "Library/bin/clblast.dll"),
            names=("libclblast.so.1",),
        ),
        Library("cuBLAS", "CUDA", cublas),
    ]
}
