"""What one would use instead of the ladder's kernels: libraries that multiply the same float32 matrices.

PyTorch, MKL and BLIS on the host, CLBlast on the OpenCL device, cuBLAS on the NVIDIA GPU. `check` and `measure` take
them as they take our kernels: the same inputs, canaries and clocks, float32 throughout and no TF32. The course needs
none of them, so each that cannot be used here is a `Missing`, which says how to add it.
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
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyopencl as cl
from numba import cuda

from .. import devices
from ..judge import right_within_bound
from ..launch import DIALECTS, Contestant, draw, operands
from ..launch.contestant import Work
from ..launch.cuda import CudaArrays
from ..launch.dialects import dialects as dialects_called
from ..launch.given import takes
from ..launch.host import HostWork
from ..launch.kernel import refuse_beyond_memory
from ..launch.opencl import OpenCLBuffers, refuse_beyond_buffer

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


class Absent(Exception):
    """A library, or the device it needs, is not here; the message is the remedy."""


@takes
def peers(dialects: tuple | str = tuple(DIALECTS)) -> list:
    """The host's libraries, then those of the dialects: a list of what `check` and `measure` take, or of `Missing`."""
    asked = {"Python", *(one.name for one in (() if dialects in ([], ()) else dialects_called(dialects)))}
    return [find(library) for library in (PyTorch, MKL, BLIS, CLBlast, CuBLAS) if library.dialect in asked]


def find(library: type["Peer"]):
    """The library, once it has multiplied two small matrices right; else `Missing`. Raises nothing."""
    try:
        k = library()
        if right_within_bound(k, *draw(5, 7, 3)):
            return k
        remedy = "is installed but gave wrong numbers at 5 x 7 x 3; install it again"
    except (Absent, devices.DeviceError) as error:
        remedy = str(error)
    except Exception as error:  # a library may fail in any way; each way means "not this one"
        remedy = f"is installed but fails: {(str(error).strip() or type(error).__name__).splitlines()[0]}"
    return Missing(library.name, library.dialect, remedy)


class Peer(Contestant):
    """A library. `work`: the class that does its work; `parameters` has its version."""

    work: type

    def __init__(self, device, version):
        self.device, self.parameters = device, {"version": version} if version else {}

    def refuse(self, M, N, K):
        """Raise MemoryError where the device cannot hold A, B and C; return None where it can."""
        if self.device:
            refuse_beyond_memory(self.device, M, N, K)

    def upload(self, A, B, fill=np.nan):
        """Put A (M, K) and B (K, N) where the library multiplies, beside a C full of `fill`."""
        return self.work(self, *operands.ready(A, B, self.device), fill)


def installed(*patterns):
    """The files that match, where conda and pip put shared libraries, the newest first."""
    prefixes = dict.fromkeys((sys.prefix, sysconfig.get_path("data")))  # not the same on Debian and on Colab
    return [file for one in patterns for prefix in prefixes for file in sorted(Path(prefix).glob(one), reverse=True)]


def line_that_adds(debian, conda):
    """The line that installs a library which pip does not have: its names in Debian and in conda-forge."""
    apt = sys.platform == "linux" and not Path(sys.prefix, "conda-meta").is_dir()
    return f"sudo apt-get install {debian}" if apt else f"conda install -c conda-forge {conda}"


def load(remedy, *names, mode=ctypes.DEFAULT_MODE):
    """The first of these shared libraries that loads. `names`: paths, or names that the system knows.

    Raises Absent, with the remedy as its message, if none loads.
    """
    for name in names:
        try:
            return ctypes.CDLL(str(name), mode)
        except OSError:  # not there; or there, without a library that it needs itself
            continue
    raise Absent(remedy)


# ---------------------------------------------------------------------------------------------- host


class HostPeer(Peer):
    """A library of the host. Its function(A, B, C) stores A @ B in C."""

    dialect = "Python"


class HostPeerWork(HostWork):
    """A, B, and a C that is made once with canaries behind it, as on a device."""

    def __init__(self, k, A, B, fill):
        super().__init__(k.function, A, B)
        M, N = A.shape[0], B.shape[1]
        C, self.guard = np.split(np.full(M * N + operands.GUARD, operands.CANARY), [M * N])
        self.C = C.reshape(M, N)
        self.C[:] = fill

    def multiply(self):
        """Call the library once."""
        self.function(self.A, self.B, self.C)

    def download(self):
        """C as a new array. Raises KernelError if the library wrote past its end."""
        operands.refuse_past_the_end(self.guard)
        return self.C.copy()


class PyTorch(HostPeer):
    """Whatever its CPU build multiplies with."""

    name, work = "PyTorch", HostPeerWork

    def __init__(self):
        try:
            import torch  # only now: it takes seconds
        except ModuleNotFoundError:
            raise Absent("to add it: pip install torch") from None
        super().__init__(None, str(torch.__version__))
        tensor = torch.from_numpy  # shares NumPy's memory, and costs about a microsecond
        self.function = lambda A, B, C: torch.matmul(tensor(A), tensor(B), out=tensor(C))


class CBLAS(HostPeer):
    """A library with the C interface that all of its kind have."""

    work = HostPeerWork

    def __init__(self, library, version):
        super().__init__(None, version)
        self.gemm = library.cblas_sgemm
        self.gemm.restype, self.gemm.argtypes = None, (*[INT] * 6, FLOAT, *[POINTER, INT] * 2, FLOAT, POINTER, INT)

    def function(self, A, B, C):
        """Store A @ B in C. All three: C-contiguous float32, C (M, N)."""
        (M, K), N = A.shape, B.shape[1]
        self.gemm(ROW_MAJOR, PLAIN, PLAIN, M, N, K, 1, A.ctypes.data, K, B.ctypes.data, N, 0, C.ctypes.data, N)


class MKL(CBLAS):
    """Intel's."""

    name = "MKL"

    def __init__(self):
        made = sys.platform != "darwin" and platform.machine().lower() in ("x86_64", "amd64")
        library = load(
            "to add it: pip install mkl" if made else "is not made for this machine",
            *installed("lib/libmkl_rt.so*", "Library/bin/mkl_rt.*.dll"),
            "libmkl_rt.so.3",
            "libmkl_rt.so.2",
        )
        text = ctypes.create_string_buffer(200)
        library.mkl_get_version_string(text, len(text))
        version = re.search(rb"Version ([\d.]+)", text.value)
        super().__init__(library, version and version[1].decode())


class BLIS(CBLAS):
    """A research library, of which AMD's own is made. Left alone it takes one core; here all.

    Debian also has a build whose threads begin anew with each call, and wait for each other by spinning. After a rest
    they may find themselves on one core, and then it is ten times as slow.
    """

    name = "BLIS"

    def __init__(self):
        library = load(
            f"to add it: {line_that_adds('libblis4-openmp', 'blis')}",
            *installed("lib/libblis.so*", "lib/libblis*.dylib", "Library/bin/libblis*.dll"),
            "libblis.so.4",
            mode=OWN_FIRST,
        )
        library.bli_info_get_version_str.restype = library.bli_arch_string.restype = ctypes.c_char_p
        made_for = library.bli_arch_string(library.bli_arch_query_id()).decode()
        library.bli_thread_set_num_threads(ctypes.c_int64(devices.usable_cores()))
        super().__init__(library, f"{library.bli_info_get_version_str().decode()} for {made_for}")


# -------------------------------------------------------------------------------------------- OpenCL


class CLBlastWork(OpenCLBuffers, Work):
    """A, B and C on the OpenCL device."""

    def __init__(self, k, A, B, fill):
        super().__init__(k.device, A, B, fill)
        self.gemm = k.gemm

    def timed(self, launches):
        """Multiply so many times. Returns seconds a launch: a GPU's own, from a marker on; on a CPU the wall's."""
        marker = cl.enqueue_marker(self.queue)
        marker.wait()
        start = time.perf_counter()
        for _ in range(launches):
            event = self.multiply()
        event.wait()
        if self.device.kind == "GPU":
            return (event.profile.end - marker.profile.end) * 1e-9 / launches
        return (time.perf_counter() - start) / launches

    def multiply(self):
        """Ask CLBlast for the product. Returns the event of its last kernel; raises RuntimeError when it refuses."""
        (M, N, K), queue = self.sizes, self.queue
        A, B, C = (X.int_ptr for X in (self.d_A, self.d_B, self.d_C))
        c_queue, c_event = POINTER(queue.int_ptr), POINTER()
        status = self.gemm(
            ROW_MAJOR,
            PLAIN,
            PLAIN,
            M,
            N,
            K,
            1,
            A,
            0,
            K,
            B,
            0,
            N,
            0,
            C,
            0,
            N,
            ctypes.byref(c_queue),
            ctypes.byref(c_event),
        )
        if status:
            raise RuntimeError(f"CLBlastSgemm returned {status}")
        # The event of the last of one to five kernels: its end is theirs, its start is not. Hence the marker.
        return cl.Event.from_int_ptr(c_event.value, retain=False)


class CLBlast(Peer):
    """AMD's, Intel's and NVIDIA's GPUs and CPUs, through OpenCL."""

    dialect, name, work = "OpenCL", "CLBlast", CLBlastWork
    build_seconds = None  # it builds its kernels in the first call of their kind, and does not say how long

    def __init__(self, device=None):
        library = load(
            f"to add it: {line_that_adds('libclblast1', 'clblast')}",
            *installed("lib/libclblast.*", "Library/bin/clblast.dll"),
            "libclblast.so.1",
        )
        maps = Path("/proc/self/maps")  # only the file's name tells the version, and only Linux shows that name
        version = re.search(r"libclblast\.so\.(\d+(\.\d+)+)", maps.read_text()) if maps.exists() else None
        super().__init__(devices.opencl_device(device), version and version[1])
        self.gemm = library.CLBlastSgemm
        self.gemm.restype, self.gemm.argtypes = (
            INT,
            (
                *[INT] * 3,
                *[SIZE] * 3,
                FLOAT,
                *[POINTER, SIZE, SIZE] * 2,
                FLOAT,
                POINTER,
                SIZE,
                SIZE,
                POINTER,
                POINTER,
            ),
        )

    def refuse(self, M, N, K):
        """Raise MemoryError where the device, or one of its buffers, cannot hold the matrices."""
        super().refuse(M, N, K)
        refuse_beyond_buffer(self.device, M, N, K)


# ---------------------------------------------------------------------------------------------- CUDA


def address(X):
    """Where a device array begins, as an integer."""
    return X.__cuda_array_interface__["data"][0]


class CuBLASWork(CudaArrays):
    """A, B and C on the NVIDIA GPU."""

    def __init__(self, k, A, B, fill):
        super().__init__(k.device, A, B, fill)
        self.gemm, self.handle = k.gemm, k.handle

    def multiply(self):
        """Ask cuBLAS for the product. Raises RuntimeError with its status when it refuses."""
        (M, N), K = self.shape, self.d_A.shape[1]
        A, B, C = map(address, (self.d_A, self.d_B, self.d_C))
        one, zero = FLOAT(1), FLOAT(0)
        # cuBLAS stores by columns, so that our arrays are A^T, B^T and C^T to it: C^T = B^T A^T. A new handle works
        # in the null stream, as Numba's events do.
        status = self.gemm(self.handle, 0, 0, N, M, K, ctypes.byref(one), B, N, A, K, ctypes.byref(zero), C, N)
        if status:
            raise RuntimeError(f"cublasSgemm returned {status}")


class CuBLAS(Peer):
    """NVIDIA's own."""

    dialect, name, work = "CUDA", "cuBLAS", CuBLASWork

    def __init__(self):
        device = devices.cuda_device()
        if device.kind != "GPU":
            raise Absent("needs an NVIDIA GPU")
        self.gemm, self.handle, version = cublas()
        super().__init__(device, version)


@functools.cache
def cublas():
    """cublasSgemm, a handle for it, and the version. Once a process, for a handle keeps memory of the GPU."""
    library, handle, number, version = load_cublas(), POINTER(), INT(), []
    cuda.current_context()  # cublasCreate takes this thread's context, which must be Numba's
    status = library.cublasCreate_v2(ctypes.byref(handle))
    status = status or library.cublasSetMathMode(handle, 0)  # CUBLAS_DEFAULT_MATH: float32, no TF32
    if status:
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
