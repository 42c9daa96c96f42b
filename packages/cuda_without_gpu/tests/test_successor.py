"""Kernels of numba-cuda-mlir on the PTX machine, where it is installed: `pip install cuda_without_gpu[successor]`."""

import enum
import importlib.metadata
import re
import tomllib
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from packaging.requirements import Requirement

import cuda_without_gpu
from cuda_without_gpu import KernelError, replacing

EXTRAS = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def installed(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


MISSING = [name for name in (Requirement(line).name for line in EXTRAS["successor"]) if not installed(name)]
if MISSING:
    pytest.skip(f"not installed: {', '.join(MISSING)}", allow_module_level=True)

cuda_without_gpu.enable()

from cuda.core._utils.cuda_utils import CUDAError  # noqa: E402
from numba_cuda_mlir import cuda  # noqa: E402
from numba_cuda_mlir.cuda import float32, float64  # noqa: E402
from numba_cuda_mlir.cuda.experimental import consteval  # noqa: E402
from numba_cuda_mlir.numba_cuda.cudadrv import nvrtc  # noqa: E402

from cuda_without_gpu import successor  # noqa: E402


def line_of(text):
    """The number of the one line here that holds a text."""
    (number,) = (n for n, line in enumerate(Path(__file__).read_text().splitlines(), 1) if line.strip() == text)
    return number


def tiled(TILE):
    @cuda.jit
    def kernel(A, B, C):
        As, Bs = cuda.shared.array((TILE, TILE), float32), cuda.shared.array((TILE, TILE), float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        row, column = cuda.blockIdx.y * TILE + y, cuda.blockIdx.x * TILE + x
        total = float32(0)
        for first in range(0, A.shape[1], TILE):
            As[y, x] = A[row, first + x] if row < A.shape[0] and first + x < A.shape[1] else float32(0)
            Bs[y, x] = B[first + y, column] if first + y < B.shape[0] and column < B.shape[1] else float32(0)
            cuda.syncthreads()
            for k in range(TILE):
                total += As[y, k] * Bs[k, x]
            cuda.syncthreads()
        if row < C.shape[0] and column < C.shape[1]:
            C[row, column] = total

    return kernel


@pytest.mark.parametrize("M, N, K", [(1, 1, 1), (9, 7, 11), (16, 16, 16)])
def test_a_matrix_product_is_right_on_arrays_of_the_host_and_of_the_device(M, N, K):
    rng = np.random.default_rng(0)
    A, B, C = rng.random((M, K), "f4"), rng.random((K, N), "f4"), np.full((M, N), np.nan, "f4")
    on_device, product = cuda.to_device(A), tiled(4)
    product[(-(-N // 4), -(-M // 4)), (4, 4)](on_device, np.asfortranarray(B), C)
    assert np.allclose(C, A @ B, rtol=1e-5)
    every_second = cuda.to_device(np.zeros((2 * M, 2 * K), "f4"))
    product[(-(-K // 4), -(-M // 4)), (4, 4)](on_device, np.eye(K, dtype="f4"), every_second[::2, 1::2])
    assert np.array_equal(every_second.copy_to_host()[::2, 1::2], A)


@cuda.jit
def fold(x):
    held = cuda.shared.array(128, float32)
    i = cuda.threadIdx.x
    held[i] = x[i]
    x[i] += held[127 - i]


def test_a_race_is_named_by_its_lines_and_the_sources_names():
    with pytest.raises(KernelError) as raised:
        fold[1, 128](np.zeros(128, "f4"))
    reads, wrote = line_of("x[i] += held[127 - i]"), line_of("held[i] = x[i]")
    said, code = str(raised.value).split("\n")
    assert re.match(rf"line {reads}: race: .* reads element \d+ of held, .* wrote in line {wrote}, ", said)
    assert code == "    x[i] += held[127 - i]"


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = 2 * x[i]


def test_an_access_out_of_bounds_names_the_argument_and_its_line():
    line = line_of("y[i] = 2 * x[i]")
    with pytest.raises(KernelError, match=rf"^line {line}: out of bounds: .* of x"):
        double[1, 64](cuda.to_device(np.zeros(32)), cuda.device_array(64))


@cuda.jit
def unrolled(x):
    for i in consteval(range(3)):
        x[i] = i


def test_a_function_that_is_changed_before_it_is_compiled_has_its_lines():
    with pytest.raises(KernelError, match=rf"^line {line_of('x[i] = i')}: out of bounds: .* of x\n    x\[i\] = i"):
        unrolled[1, 1](np.zeros(2))


class Colour(enum.Enum):
    RED = 3


MOMENT = np.datetime64("2026-01-02", "D")
RECORD = np.dtype([("n", np.int32), ("x", np.float64)], align=True)


@cuda.jit
def gather(out, whole, tiny, truth, half, single, double, small, complex_, moment, days, colour, record, pair):
    out[0], out[1], out[2], out[3] = whole, tiny, truth, half
    out[4], out[5], out[6], out[7] = single, double, small.imag, complex_.real
    days[0] = moment
    if colour == Colour.RED:
        out[9] = 1
    out[10], record.x = record.x, 0.5
    out[11], out[12] = pair[0], pair[1][1]


def test_arguments_of_each_kind_arrive():
    out, days, record = np.zeros(13), np.zeros(1, MOMENT.dtype), np.zeros(1, RECORD)[0]
    record["x"] = 10
    numbers = 2**40, np.int8(-1), True, np.float16(3), np.float32(0.25), 0.1, np.complex64(6j), 7 + 1j, MOMENT
    gather[1, 1](out, *numbers, days, Colour.RED, record, (11, np.array([1.0, 12.0])))
    assert out.tolist() == [2**40, -1, 1, 3, 0.25, 0.1, 6, 7, 0, 1, 10, 11, 12]
    assert record["x"] == 0.5 and days[0] == MOMENT


def test_a_column_of_records_and_of_every_second_one_whose_strides_the_launcher_takes_for_bytes():
    @cuda.jit
    def column(records, out):
        out[cuda.grid(1)] = records.x[cuda.grid(1)]

    records, out = np.zeros(8, RECORD), np.zeros(4)
    records["x"] = range(8)
    column[1, 4](records, out)
    assert out.tolist() == [0, 1, 2, 3]
    with pytest.raises(KernelError, match="out of bounds"):  # as on a GPU
        column[1, 4](cuda.to_device(records)[::2], out)


def test_the_hosts_side_is_numbas_own():
    assert cuda.is_available() and len(cuda.gpus) == 1 and "no GPU" in repr(cuda.get_current_device())
    stream, begin, end = cuda.stream(), cuda.event(), cuda.event()
    begin.record(stream)
    x, y = cuda.to_device(np.arange(64.0), stream=stream), cuda.device_array(64, np.float64, stream=stream)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a GPU that is not full
        double[2, 32, stream](x, y)
    end.record(stream)
    stream.synchronize()
    y[:4] = 0
    assert np.isnan(cuda.event_elapsed_time(begin, end))  # what was watched
    assert y.copy_to_host()[::8].tolist() == [0, 16, 32, 48, 64, 80, 96, 112] and y[1:5][-1] == 8
    managed = cuda.managed_array(64)
    double.forall(64)(y, managed)
    assert managed[63] == 252


CAPTURED = cuda.to_device(np.arange(4, dtype=np.float32))
PART = CAPTURED[1:]


@cuda.jit
def shift(out, more):
    CAPTURED[0] = 8
    out[0] = CAPTURED[3 + more] + PART[0]


def test_a_captured_array_of_the_device_is_read_written_and_named():
    out = np.zeros(1, "f4")
    shift[1, 1](out, 0)
    assert out[0] == 3 + 1 and CAPTURED[0] == 8
    with pytest.raises(KernelError, match=r"4 bytes past the end of (CAPTURED|PART)"):
        shift[1, 1](out, 2)


@cuda.jit
def largest(x, most):
    held = cuda.shared.array(1, float64)
    if cuda.threadIdx.x == 0:
        held[0] = 0
    cuda.syncthreads()
    cuda.atomic.max(held, 0, x[cuda.grid(1)])
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.atomic.max(most, 0, held[0])


def test_an_atomic_operation_that_is_a_loop_is_no_race():
    x, most = np.random.default_rng(0).permutation(128).astype(np.float64), np.zeros(1)
    largest[2, 64](x, most)
    assert most[0] == 127


def test_dynamic_shared_memory_is_as_large_as_the_launch_says():
    @cuda.jit
    def turn(x):
        held = cuda.shared.array(0, float64)
        held[cuda.threadIdx.x] = x[cuda.threadIdx.x]
        cuda.syncthreads()
        x[cuda.threadIdx.x] = held[cuda.blockDim.x - 1 - cuda.threadIdx.x]

    x = np.arange(64.0)
    turn[1, 64, 0, 512](x)
    assert x[0] == 63
    with pytest.raises(KernelError, match=r"out of bounds: .* shared memory"):
        turn[1, 64, 0, 256](x)


def test_a_kernel_prints(capsys):
    @cuda.jit
    def say():
        print(cuda.grid(1), "of", 2)

    say[1, 2]()
    assert capsys.readouterr().out == "0 of 2\n1 of 2\n"


def test_a_kernel_with_debug_raises_its_own_exceptions():
    @cuda.jit(debug=True, opt=False)
    def refuse(x):
        if x[0] < 0:
            raise ValueError("negative")

    refuse[1, 1](np.ones(1))
    with pytest.raises(ValueError, match=r"^refuse, a kernel, raised it$"):
        refuse[1, 1](-np.ones(1))


def test_a_pointer_is_a_number():
    @cuda.jit("void(CPointer(float64), int64)")
    def fill(place, n):
        for k in range(n):
            place[k] = k

    x = cuda.to_device(np.zeros(4))
    fill[1, 1](x.__cuda_array_interface__["data"][0] + 8, 3)
    assert x.copy_to_host().tolist() == [0, 0, 1, 2]


class Foreign:
    """An array of another package's, over memory of the host."""

    def __init__(self, array):
        self.__cuda_array_interface__ = array.__array_interface__


def test_arrays_of_other_packages_are_taken_where_they_are():
    @cuda.jit
    def swap(x, y):
        held = x[1]
        x[1] = y[1]
        y[1] = held + x[1] + y[0]

    x = np.arange(8.0)
    swap[1, 1](Foreign(x[:4]), Foreign(x[1:5]))
    assert x.tolist() == [0, 2, 1 + 2 + 2, 3, 4, 5, 6, 7]


def test_what_no_gpu_launches_is_an_error_of_the_drivers():
    with pytest.raises(CUDAError, match=r"^Failed to launch CUDA kernel: .* 2,048 along x"):
        fold[1, 2048](np.zeros(2048, "f4"))
    with pytest.raises(KernelError, match=r"^a launch in clusters"):
        fold[2, 64, 0, 0, 2](np.zeros(128, "f4"))


CODE = """
extern "C" __device__ int twice(int *back, int n) { *back = 2 * n; return 0; }
extern "C" __device__ __noinline__ int lost(int *back, int n) { *back = *(volatile int *)(256 + n); return 0; }
"""


def test_code_in_cuda_cxx_is_linked_and_lines_are_known():
    twice = cuda.declare_device("twice", "int32(int32)", link=cuda.CUSource(CODE))

    @cuda.jit(lto=True)
    def kernel(out, i):
        out[i] = twice(out[0])

    out = np.full(1, 21, np.int32)
    kernel[1, 1](out, 0)
    assert out[0] == 42
    with pytest.raises(KernelError, match=f"^line {line_of('out[i] = twice(out[0])')}: out of bounds"):
        kernel[1, 1](out, 1)
    lost = cuda.declare_device("lost", "int32(int32)", link=cuda.CUSource(CODE))

    @cuda.jit
    def astray(out):
        out[0] = lost(out[0])

    with pytest.raises(KernelError, match=r"^out of bounds: "):  # in a line of another file
        astray[1, 1](out)


def test_callbacks_for_what_a_driver_has_loaded_are_refused():
    source = cuda.CUSource(CODE, setup_callback=print)
    twice = cuda.declare_device("twice", "int32(int32)", link=source)

    @cuda.jit
    def kernel(out):
        out[0] = twice(out[0])

    with pytest.raises(KernelError, match=r"^a callback of a module"):
        kernel[1, 1](np.ones(1, np.int32))


def test_a_grid_is_synchronised():
    @cuda.jit
    def turn(x, out):
        i = cuda.grid(1)
        x[i] = cuda.grid(1)
        cuda.cg.this_grid().sync()
        out[i] = x[63 - i]

    out = np.zeros(64)
    turn[2, 32](np.zeros(64), out)
    assert out.tolist() == list(range(63, -1, -1))


def test_ltoir_is_linked():
    code, _ = nvrtc.compile(CODE, "twice.cu", (8, 0), ltoir=True)
    twice = cuda.declare_device("twice", "int32(int32)", link=cuda.LTOIR(code.code))

    @cuda.jit
    def kernel(out):
        out[0] = twice(out[0])

    out = np.full(1, 21, np.int32)
    kernel[1, 1](out)
    assert out[0] == 42


def test_machine_code_is_refused():
    given = [SimpleNamespace(code_type="cubin", name="fast.cubin")]
    linker = SimpleNamespace(_materialize_pending_cu=lambda: None, _object_codes=given)
    with pytest.raises(KernelError, match=r"^link: fast\.cubin, machine code of a GPU"):
        successor.linked(linker)


def test_what_a_driver_says_of_a_kernel():
    fold.compile("void(float32[:])")
    assert set(fold.get_shared_mem_per_block().values()) == {512}
    assert set(fold.get_max_threads_per_block().values()) == {1024}
    with pytest.raises(NotImplementedError, match="registers"):
        fold.get_regs_per_thread()
    assert cuda.jit("void(float64[:])", shared_memory_carveout="maxl1")(lambda x: None).signatures


def test_what_a_next_version_lacks_is_said_by_name():
    from numba_cuda_mlir.descriptor import MLIRDispatcher

    with pytest.raises(RuntimeError, match=r"^numba-cuda-mlir [\d.]+ has no MLIRDispatcher\.gone, "):
        replacing.replace(MLIRDispatcher, gone=1)
