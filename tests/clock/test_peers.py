"""The libraries beside the ladder: right where they are here, `Missing` with a remedy where they are not.

A few NumPy lines stand in for PyTorch, MKL, BLIS and cuBLAS, behind the same argument lists, so that their calls are
tested on a machine that has none of them. (No test here depends on speed.)
"""

import ctypes
import os
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import check, devices, measure, needs
from helpers.clock import libraries
from helpers.devices import Device

SHAPES = [(1, 1, 1), (5, 7, 3), (33, 65, 17)]
INT, FLOAT, POINTER = ctypes.c_int, ctypes.c_float, ctypes.c_void_p


def here(name):
    """The peer of that name; skips, naming the library, where it is missing."""
    k = libraries.find(name)
    if isinstance(k, libraries.Missing):
        pytest.skip(f"{name}: {k.remedy}")
    return k


# ---------------------------------------------------------------------------------------- stand-ins


def matrix(address, rows, columns):
    """The float32 matrix, by rows, at that address."""
    return np.ctypeslib.as_array((FLOAT * (rows * columns)).from_address(address)).reshape(rows, columns)


def torch_that(matmul):
    return SimpleNamespace(__version__="9.8", from_numpy=lambda X: X, matmul=matmul)


def cblas_that(multiply):
    """A library whose cblas_sgemm calls multiply(A, B, C) for matrices by rows."""

    @ctypes.CFUNCTYPE(None, *[INT] * 6, FLOAT, POINTER, INT, POINTER, INT, FLOAT, POINTER, INT)
    def cblas_sgemm(order, turn_a, turn_b, M, N, K, alpha, a, lda, b, ldb, beta, c, ldc):
        assert (order, turn_a, turn_b, alpha, beta) == (101, 111, 111, 1, 0) and (lda, ldb, ldc) == (K, N, N)
        multiply(matrix(a, M, lda), matrix(b, K, ldb), matrix(c, M, ldc))

    return SimpleNamespace(cblas_sgemm=cblas_sgemm)


class Loaded:
    """What threadpoolctl says of MKL and of BLIS."""

    def select(self, internal_api):
        told = []
        one = {
            "mkl": SimpleNamespace(version="2031.4-Product"),
            "blis": SimpleNamespace(version="3.1", architecture="zen9"),
        }[internal_api]
        one.set_num_threads = told.append
        THREADS[internal_api] = told
        return SimpleNamespace(lib_controllers=[one])


THREADS = {}


def cublas_that(calls, status=0):
    """cuBLAS's functions, which note their calls; cublasSgemm multiplies matrices by columns."""

    @ctypes.CFUNCTYPE(INT, POINTER, *[INT] * 5, POINTER, POINTER, INT, POINTER, INT, POINTER, POINTER, INT)
    def cublasSgemm_v2(handle, turn_a, turn_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc):
        assert (handle, turn_a, turn_b) == (77, 0, 0) and (lda, ldb, ldc) == (m, k, m)
        assert (FLOAT.from_address(alpha).value, FLOAT.from_address(beta).value) == (1, 0)
        calls.append("sgemm")
        # By columns: each matrix is the transpose of what lies there by rows.
        matrix(c, n, ldc).T[:] = matrix(a, k, lda).T @ matrix(b, n, ldb).T
        return status

    def cublasCreate_v2(handle):
        handle._obj.value = 77
        return 0

    def cublasSetMathMode(handle, mode):
        calls.append(("mode", handle.value, mode))
        return 0

    def cublasGetProperty(part, number):
        number._obj.value = (13, 4, 1)[part]
        return 0

    return SimpleNamespace(
        cublasSgemm_v2=cublasSgemm_v2,
        cublasCreate_v2=cublasCreate_v2,
        cublasSetMathMode=cublasSetMathMode,
        cublasGetProperty=cublasGetProperty,
    )


@pytest.fixture
def gpu(monkeypatch):
    """A stand-in for the GPU, in the host's memory; plant(library) gives it a cuBLAS. Skips on a real GPU."""
    if not devices.compiling():
        pytest.skip("CUDA runs on a GPU here, where cuBLAS itself is tested")
    calls = []

    class Event:
        def __init__(self, timing):
            assert timing
            self.synchronize = lambda: calls.append("synchronize")

        def record(self, stream):
            assert stream == 0  # the null stream, in which a new handle of cuBLAS works
            self.at = 2.0 * calls.count("sgemm")  # milliseconds: two a product
            calls.append("record")

    monkeypatch.setattr(devices, "cuda_device", lambda: Device("CUDA", "a GPU", "GPU", "none", 1024, 49152, None))
    monkeypatch.setattr(libraries.cuda, "event", Event)
    monkeypatch.setattr(libraries.cuda, "event_elapsed_time", lambda start, stop: stop.at - start.at, raising=False)
    monkeypatch.setattr(libraries, "address", lambda X: X._ary.ctypes.data)
    libraries.started_cublas.cache_clear()
    yield SimpleNamespace(
        calls=calls, plant=lambda library: monkeypatch.setattr(libraries, "load_cublas", lambda: library)
    )
    libraries.started_cublas.cache_clear()


def plant_host(monkeypatch, multiply):
    """PyTorch, MKL and BLIS that are multiply(A, B, C)."""
    monkeypatch.setitem(sys.modules, "torch", torch_that(lambda A, B, out: multiply(A, B, out)))
    monkeypatch.setattr(libraries, "load", lambda remedy, *names, mode=0: cblas_that(multiply))
    monkeypatch.setattr(libraries, "ThreadpoolController", Loaded)


# -------------------------------------------------------------------------------- the list and its rows


def test_the_host_comes_first_and_then_the_dialects(monkeypatch):
    monkeypatch.setattr(libraries, "find", lambda name: libraries.Missing(name, libraries.LIBRARIES[name].dialect, ""))

    def names(*dialects):
        return [k.name for k in libraries.peers(*dialects)]

    host = ["PyTorch", "MKL", "BLIS"]
    assert names() == [*host, "CLBlast", "cuBLAS"] and names([]) == host
    assert names(["OpenCL"]) == [*host, "CLBlast"] and names(["CUDA"]) == [*host, "cuBLAS"]
    assert [k.dialect for k in libraries.peers()] == ["Python", "Python", "Python", "OpenCL", "CUDA"]


@pytest.mark.parametrize("name", libraries.LIBRARIES)
def test_what_is_here_is_right_and_its_row_says_what_it_is(name):
    k = here(name)
    assert check(k, SHAPES)
    t = measure(k, (5, 7, 3))
    dialect, device = {"CLBlast": ("OpenCL", devices.opencl_device), "cuBLAS": ("CUDA", devices.cuda_device)}.get(
        name, ("Python", lambda: SimpleNamespace(name="host"))
    )
    assert (t.step, t.dialect, t.device) == (name, dialect, device().name)
    assert set(t.parameters) <= {"version"} and t.seconds > 0 and t.build_seconds == (None if name == "CLBlast" else 0)


def test_clblast_is_found_wherever_it_loads():
    try:
        ctypes.CDLL("libclblast.so.1")
    except OSError:
        pytest.skip("libclblast.so.1 is not installed; to add it: sudo apt-get install libclblast1")
    k = libraries.peers(["OpenCL"])[-1]
    assert not isinstance(k, libraries.Missing), k


@pytest.mark.skipif(sys.platform != "linux", reason="no other system has this flag")
def test_blis_calls_itself_although_mkl_has_functions_of_the_same_names(monkeypatch):
    modes = {}
    monkeypatch.setattr(ctypes, "CDLL", lambda name, mode=None: modes.setdefault(str(name), mode) and refuse(name))
    assert isinstance(libraries.find("BLIS"), libraries.Missing)
    assert modes and all(mode & os.RTLD_DEEPBIND for mode in modes.values())


def test_clblast_is_right_on_every_opencl_device(monkeypatch):
    here("CLBlast")
    proved = [c for c in devices.opencl_candidates() if c.problem is None]
    assert proved
    for candidate in proved:
        device = devices.opencl_device(f"{candidate.platform} {candidate.name}")
        with monkeypatch.context() as now:
            now.setattr(devices, "opencl_device", lambda device=device: device)
            k = libraries.find("CLBlast")
        assert k.device.name == candidate.name and check(k, [*SHAPES, (130, 129, 257)]), candidate


@pytest.mark.parametrize("kind, seconds", [("GPU", 0.006), ("CPU", 4.0)])
def test_clblast_is_timed_from_a_marker_to_the_last_event(monkeypatch, kind, seconds):
    wall = SimpleNamespace(now=0.0, perf_counter=lambda: wall.now)
    called = []

    def event(end):
        called.append(end)
        profile = SimpleNamespace(start=end - 1, end=end)  # nanoseconds; where the last kernel starts is not asked
        return SimpleNamespace(profile=profile, wait=lambda: setattr(wall, "now", wall.now + 8.0))

    monkeypatch.setattr(libraries, "time", wall)
    monkeypatch.setattr(libraries.cl, "enqueue_marker", lambda queue: event(5_000_000))
    on = object.__new__(libraries.CLBlastBackend)
    on.queue, on.device = SimpleNamespace(finish=lambda: None), SimpleNamespace(kind=kind)
    assert (
        on.timed(lambda: event(5_000_000 + 6_000_000 * len(called)), 2) == pytest.approx(seconds) and len(called) == 3
    )


def test_stand_ins_for_the_hosts_libraries_are_right(monkeypatch):
    plant_host(monkeypatch, lambda A, B, C: np.matmul(A, B, out=C))
    for k, version in zip(libraries.peers([]), ("9.8", "2031.4", "3.1 for zen9"), strict=True):
        assert check(k, SHAPES)
        with pytest.raises(ValueError, match="the columns of A"):  # it is called like a kernel
            k(np.ones((2, 3), np.float32), np.ones((2, 3), np.float32))
        t = measure(k, (5, 7, 3))
        assert (t.dialect, t.step, t.device, t.parameters) == ("Python", k.name, "host", {"version": version})
        assert t.build_seconds == 0
    assert {"mkl": [], "blis": [devices.usable_cores()]} == THREADS  # BLIS must be told


# ------------------------------------------------------------------------------------------- missing


def test_what_is_not_installed_is_missing_with_its_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    asked = []
    monkeypatch.setattr(ctypes, "CDLL", lambda name, mode=None: asked.append(name) or refuse(name))
    found = {k.name: k for k in libraries.peers(["OpenCL"])}
    assert found["PyTorch"] == libraries.Missing("PyTorch", "Python", "to add it: pip install torch")
    assert all(isinstance(found[name], libraries.Missing) for name in ("MKL", "BLIS", "CLBlast"))
    assert {"libmkl_rt.so.3", "libmkl_rt.so.2", "libblis.so.4", "libclblast.so.1"} <= set(asked)
    if sys.platform == "linux" and libraries.platform.machine() == "x86_64":
        assert found["MKL"].remedy == f"to add it: {needs.remedy('peers')} (some 270 MB)"
    for name, package in (("CLBlast", "libclblast1"), ("BLIS", "libblis4-openmp")):
        assert found[name].remedy.startswith((f"to add it: sudo apt-get install {package}", "to add it: conda install"))


@pytest.mark.parametrize("system, machine", [("darwin", "x86_64"), ("linux", "aarch64")])
def test_mkl_is_not_made_for_every_machine(monkeypatch, system, machine):
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(libraries.platform, "machine", lambda: machine)
    monkeypatch.setattr(ctypes, "CDLL", refuse)
    assert libraries.find("MKL") == libraries.Missing("MKL", "Python", "is not made for this machine")


@pytest.mark.parametrize(
    "system, conda, line",
    [
        ("linux", False, "sudo apt-get install libthis"),
        ("linux", True, "conda install -c conda-forge that"),
        ("darwin", False, "conda install -c conda-forge that"),
    ],
)
def test_the_line_that_adds_a_library_is_that_of_the_system(monkeypatch, tmp_path, system, conda, line):
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    if conda:
        (tmp_path / "conda-meta").mkdir()
    assert libraries.line_that_adds("libthis", "that") == f"to add it: {line}"


def refuse(name, *more):
    raise OSError(f"{name}: cannot open shared object file")


def test_cublas_that_is_not_installed_is_missing(monkeypatch, gpu):
    monkeypatch.setattr(libraries.ctypes.util, "find_library", lambda name: None)
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", None)
    monkeypatch.setattr(devices, "cuda_extra", lambda: "cuda12")
    assert libraries.find("cuBLAS") == libraries.Missing(
        "cuBLAS", "CUDA", 'to add it: pip install "cuda-toolkit[cublas]==12.*"'
    )
    # Found, but without a library that it needs itself.
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", SimpleNamespace(load_nvidia_dynamic_lib=refuse))
    monkeypatch.setattr(libraries.ctypes.util, "find_library", lambda name: "/nowhere/libcublas.so.12")
    assert "cuda-toolkit[cublas]" in libraries.find("cuBLAS").remedy


def test_cublas_is_loaded_from_where_it_is_found(monkeypatch, tmp_path):
    loaded = SimpleNamespace(abs_path=str(tmp_path / "libcublas.so.13"))
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", SimpleNamespace(load_nvidia_dynamic_lib=lambda name: loaded))
    monkeypatch.setattr(ctypes, "CDLL", lambda name, mode=0: f"loaded {name}")
    assert libraries.load_cublas() == f"loaded {loaded.abs_path}"


def test_without_a_gpu_there_is_no_cublas():
    if not devices.compiling():
        pytest.skip("CUDA runs on a GPU here")
    assert libraries.peers(["CUDA"])[-1] == libraries.Missing("cuBLAS", "CUDA", "needs an NVIDIA GPU")


def test_without_a_device_clblast_says_what_adds_one(monkeypatch):
    words = "no OpenCL device can run a kernel. To add a CPU runtime: ..."

    def none(name=None):
        raise devices.DeviceError(words)

    monkeypatch.setattr(libraries, "load", lambda remedy, *names, mode=0: SimpleNamespace())
    monkeypatch.setattr(devices, "opencl_device", none)
    assert libraries.find("CLBlast") == libraries.Missing("CLBlast", "OpenCL", words)


# ------------------------------------------------------------------------------ there, but not right


def past_the_end(A, B, C):
    np.matmul(A, B, out=C)
    FLOAT.from_address(C.ctypes.data + C.nbytes).value = 0


def broken(A, B, C):
    raise RuntimeError("no kernel for this processor\nand much more")


WRONG = {
    "the last product is left out": (lambda A, B, C: np.matmul(A[:, :-1], B[:-1], out=C), "wrong numbers"),
    "past the end": (past_the_end, "wrote 1 elements past the end of C"),
}


@pytest.mark.parametrize("how", WRONG)
def test_a_library_that_is_wrong_is_missing(monkeypatch, how):
    multiply, words = WRONG[how]
    plant_host(monkeypatch, multiply)
    for k in libraries.peers([]):
        assert isinstance(k, libraries.Missing) and words in k.remedy


def test_a_library_that_fails_is_missing_and_says_why(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", torch_that(lambda A, B, out: broken(A, B, out)))
    assert libraries.find("PyTorch").remedy == "is installed but fails: no kernel for this processor"
    monkeypatch.setattr(libraries, "load", lambda remedy, *names, mode=0: SimpleNamespace())
    assert "cblas_sgemm" in libraries.find("MKL").remedy


def test_an_error_of_clblast_is_told(monkeypatch):
    monkeypatch.setattr(
        libraries, "load", lambda remedy, *names, mode=0: SimpleNamespace(CLBlastSgemm=lambda *arguments: -1022)
    )
    assert libraries.find("CLBlast").remedy == "is installed but fails: CLBlastSgemm returned -1022"


# -------------------------------------------------------------------------------------------- cuBLAS


def test_cublas_multiplies_by_columns_between_two_events(gpu):
    gpu.plant(cublas_that(gpu.calls))
    k = libraries.peers(["CUDA"])[-1]
    assert gpu.calls == [("mode", 77, 0), "record", "sgemm", "record", "synchronize"]
    assert check(k, SHAPES)
    t = measure(k, (5, 7, 3))
    assert (t.dialect, t.step, t.device, t.parameters) == ("CUDA", "cuBLAS", "a GPU", {"version": "13.4.1"})
    assert t.seconds == pytest.approx(0.002)


def test_cublas_that_fails_is_missing(gpu):
    gpu.plant(cublas_that(gpu.calls, status=13))
    assert libraries.find("cuBLAS").remedy == "is installed but fails: cublasSgemm returned 13"
    libraries.started_cublas.cache_clear()
    gpu.plant(SimpleNamespace(cublasCreate_v2=lambda handle: 1))
    assert libraries.find("cuBLAS").remedy == "is installed but fails: cuBLAS does not start here: status 1"
