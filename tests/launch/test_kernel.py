"""k(A, B) -> C: right at any shape, and plain words for whatever cannot be multiplied."""

from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest
from few import SMALL

from helpers import check, cuda_kernel, devices, ladder, measure, opencl_kernel
from helpers.launch import KernelError, draw, on_opencl
from helpers.launch.kernel import GUARD, validate
from helpers.launch.on_cuda import SIGNATURE, CudaKernel
from helpers.launch.on_opencl import aligned
from kernel_judge import wrong_elements

BUILD = {"CUDA": cuda_kernel, "OpenCL": opencl_kernel}
EVERY_STEP = [(dialect, step) for dialect in BUILD for step in ladder.steps(dialect)]


# Of the others a page checks each, or its threads share nothing.
SHARING = [("CUDA", "tiled"), ("OpenCL", "tiled"), ("OpenCL", "packed"), ("OpenCL", "column")]


@pytest.mark.parametrize("dialect, step", SHARING)
def test_a_step_that_no_page_checks_passes_the_check(dialect, step):
    assert check(BUILD[dialect](step, **SMALL[step]), [(9, 7, 10), (33, 40, 35)])


def test_sizes_follow_from_the_shape_unless_some_are_given():
    k = opencl_kernel("packed")
    small, large = (k.fitted(n, n, n) for n in (40, 4096))
    assert 2 * small.parameters["BM"] < k.parameters["BM"] <= large.parameters["BM"]
    assert k.fitted(39, 38, 41) is small  # built once
    assert small.fitted(4096, 4096, 4096) is small
    assert small.global_size(40, 40) == small.grid(40, 40)  # a work-item a group
    assert measure(k, 40, 0.001).parameters == small.parameters
    given = opencl_kernel("packed", **k.parameters)
    assert given.fitted(40, 40, 40) is given


@pytest.mark.parametrize("M, N, K", [(1, 300, 700), (7, 2100, 1001), (16, 1025, 2049), (300, 16, 300), (700, 600, 3)])
def test_packed_is_right_on_thin_products(M, N, K):
    A, B = draw(M, N, K)
    assert not wrong_elements(opencl_kernel("packed")(A, B), A, B).any()


def test_one_column_has_a_kernel_of_its_own():
    k = opencl_kernel("packed")
    assert k.fitted(300, 1, 40).step == "column" and k.fitted(300, 2, 40).step == "packed"
    assert k.fitted(7, 1, 9) is k.fitted(300, 1, 40)  # built once
    assert measure(k, (40, 1, 30), 0.001).step == "column"
    own = opencl_kernel(k.source, like="packed")
    assert own.fitted(300, 1, 40).source == k.source  # a kernel of your own does it itself
    assert not own.fitted(5, 6, 7).checked
    own.checked = True  # as `check` has it
    assert own.fitted(5, 6, 7).checked
    A, B = draw(70, 1, 65)
    assert not wrong_elements(own(A, B), A, B).any()


@pytest.mark.parametrize("nbytes", [4, (1 << 22) + 4])
def test_memory_for_a_cpu_begins_at_a_page(nbytes):
    """A driver copies memory that does not."""
    memory = aligned(nbytes)
    assert memory.nbytes == nbytes and memory.ctypes.data % (1 << 21 if nbytes >= 1 << 21 else 1 << 12) == 0


def test_memory_is_given_back_only_when_nothing_queued_uses_it():
    """Else the queue would write where NumPy has put something else: such a crash comes later, and elsewhere."""
    on, finished = on_opencl.OpenCLBackend(devices.opencl_device()), []
    on.queue = SimpleNamespace(finish=lambda: finished.append(True))
    del on
    assert finished == [True]


def test_a_dimension_of_zero_gives_what_numpy_gives():
    for M, N, K in ((0, 3, 4), (3, 0, 4), (3, 4, 0)):
        A, B = np.ones((M, K), np.float32), np.ones((K, N), np.float32)
        C = opencl_kernel("tiled")(A, B)
        assert C.dtype == np.float32
        np.testing.assert_array_equal(C, A @ B)


@pytest.mark.parametrize("dialect, step", EVERY_STEP)
def test_a_step_is_right_and_nan_and_inf_pass_through_as_in_numpy(dialect, step):
    k = BUILD[dialect](step, **SMALL[step])
    A, B = draw(9, 7, 10)
    assert not wrong_elements(k(A, B), A, B).any()
    A[2, 3], A[5, 0], B[4, 6] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        expected = A @ B
    C = k(A, B)
    np.testing.assert_array_equal(np.isnan(C), np.isnan(expected))
    np.testing.assert_array_equal(C[np.isinf(expected)], expected[np.isinf(expected)])


GOOD = np.ones((3, 4), np.float32)


@pytest.mark.parametrize(
    "A, B, error, words",
    [
        (GOOD, GOOD, ValueError, "columns of A (4) must be as many as the rows of B (3)"),
        (np.ones(3, np.float32), GOOD, ValueError, "A has shape (3,); a matrix has two sizes: A.reshape("),
        (GOOD, GOOD.T.astype(np.float64), TypeError, "B is <array of float64, shape (4, 3)>; give a NumPy array of"),
        (GOOD.tolist(), GOOD.T, TypeError, "; give a NumPy array of float32, such as np.float32(A)."),
    ],
)
def test_bad_operands_are_named(A, B, error, words):
    with pytest.raises(error) as raised:
        validate(A, B)
    assert words in str(raised.value)


def test_a_matrix_of_more_elements_than_32_bits_count_is_refused():
    k = opencl_kernel("naive")
    most = 2**31 - 1 - GUARD
    k.refuse(most, 1, 1)
    with pytest.raises(MemoryError, match="Multiply a block of rows of A at a time"):
        k.refuse(1, most + 1, 1)


def test_more_blocks_down_than_cuda_launches_are_refused_and_as_many_across_are_not():
    k = cuda_kernel("coalesced", BM=4, BN=8)
    k.__class__, k.device = CudaKernel, replace(k.device, kind="GPU")
    k.refuse(4 * 65535, 1, 1)
    k.refuse(1, 8 * 65536, 1)
    with pytest.raises(ValueError, match=r"needs more than 65535 blocks along y"):
        k.refuse(4 * 65535 + 1, 1, 1)


@pytest.mark.parametrize("own", [False, True], ids=["a step, when it is built", "a learner's, when it is launched"])
def test_a_kernel_for_a_gpu_is_compiled_once(own):
    def refuses(signature):
        raise TypeError("\nno such type\n")

    gpu = replace(devices.PTX_MACHINE, kind="GPU")
    asked = dict(step="naive", parameters=dict(BM=4, BN=4), source="", device=gpu, own=own)
    with pytest.raises(KernelError, match=r"does not compile:\nno such type$"):
        CudaKernel(SimpleNamespace(compile=refuses), **asked).upload(*draw(5, 6, 7))
    compiled = []
    code = MagicMock(compile=compiled.append)
    k = CudaKernel(code, **asked)
    assert compiled == [SIGNATURE] * (not own)
    k.upload(*draw(5, 6, 7))
    work = k.upload(*draw(5, 6, 7))
    assert compiled == [SIGNATURE] and k.build_seconds >= 0
    assert code.__getitem__.call_args.args == ((k.grid(5, 6), k.block),)
    assert [X.shape for X in work.multiply.args] == [(5, 7), (7, 6), (5, 6)]


@pytest.mark.parametrize("what", ["tiled", cuda_kernel("tiled").source], ids=["a step", "a text"])
def test_what_is_built_again_is_not_compiled_again(what):
    like = None if what == "tiled" else "tiled"
    first, again, other = (cuda_kernel(what, like=like, TILE=size) for size in (4, 4, 8))
    assert first is not again and first.function is again.function is not other.function
    if devices.compiling():  # what is kept of them on disk is not mixed up
        assert first.function._cache.parts != other.function._cache.parts


def test_a_device_that_is_named_or_given_is_taken_whatever_the_step_has():
    first, tiled = devices.opencl_device(), ladder.STEPS["tiled"]
    assert on_opencl.device_for(tiled, first) is first and on_opencl.device_for(tiled, first.name) == first
    with pytest.raises(devices.DeviceError, match="no such device"):
        on_opencl.device_for(tiled, "no such device")


def test_a_store_past_the_end_of_c_is_noticed():
    k = opencl_kernel("naive")
    source = k.source.replace("if (row >= M || col >= N) return;", "")
    wild = opencl_kernel(source, like="naive", BM=4, BN=4)
    wild.checked = True  # past the child process: 5 x 4 under blocks of 4 x 4 writes 12 elements into the guard
    with pytest.raises(KernelError, match="past the end of C: a store guard is missing"):
        wild(*draw(5, 4, 3))


def test_a_read_past_the_end_poisons_the_result():
    source = opencl_kernel("naive").source.replace("k < K", "k <= K")
    wild = opencl_kernel(source, like="naive", BM=4, BN=4)
    wild.checked = True
    assert np.isnan(wild(*draw(5, 4, 3))).any()


@pytest.mark.parametrize(
    "source, words",
    [
        ("__kernel void f(int M) {}", "f must take six arguments, in this order: int M, int N, int K"),
        ("__kernel void f(int M) {}\n__kernel void g(int M) {}", "exactly one __kernel, not 2"),
    ],
)
def test_an_opencl_source_of_another_form_is_named(source, words):
    with pytest.raises(KernelError, match=words):
        opencl_kernel(source, like="naive").compile()


def test_of_what_a_compiler_says_the_errors_are_told_and_no_warnings():
    log = "<kernel>:1:5: warning: unused 'a'\n<kernel>:2:1: error: no such 'x'\n"
    assert on_opencl.compiler_says(log, "int a;\nx = 1;") == "line 2: no such 'x'\n    x = 1;"


def test_uploads_of_one_kernel_do_not_mix_and_each_keeps_its_grid():
    for k in (cuda_kernel("naive", BM=2, BN=2), opencl_kernel("naive"), opencl_kernel("packed")):
        pairs = [draw(5, 6, 7), draw(5, 6, 7), draw(2, 2, 3)]
        works = [k.upload(*pair) for pair in pairs]
        for work in works:
            work.launch()
        for work, (A, B) in zip(works, pairs, strict=True):
            assert not wrong_elements(work.download(), A, B).any()


PRODUCT = """from numba import cuda

@cuda.jit{}
def product(A, B, C):
    row, col = cuda.grid(2)
    C[row, col] = A[row, 0] * B[0, col]
"""


@pytest.mark.parametrize(
    "source, says",
    [
        ("import nowhere\n", "line 1: ModuleNotFoundError: No module named 'nowhere'\n    import nowhere"),
        ("int i = 0;\n", r"line 1: invalid syntax\n    int i = 0;$"),
        ("def build(BM):\n    pass\n", "build must be a @cuda.jit function, or return one; it returns None"),
        ("x = 1\n", "exactly one kernel or one function that builds it, not 0"),
        (PRODUCT.format("(cache=True)"), r"line 3: .*cannot cache function .*\n    @cuda\.jit\(cache"),
        (
            PRODUCT.format('("void(float32[:], float32[:], float32[:])")'),
            r"line 6: .*getitem\(array\(float32, 1d, A\), .*; with one index",
        ),
        (PRODUCT.format("") + PRODUCT.format("").replace("product", "other"), "not 2: product, other. A function that"),
    ],
)
def test_what_a_source_raises_before_it_is_built_is_told_in_words(source, says):
    with pytest.raises(KernelError, match=says):
        cuda_kernel(source, like="naive")


def test_a_kernel_that_has_its_grid_already_is_told_so():
    namespace = {}
    exec(PRODUCT.format(""), namespace)
    with pytest.raises(KernelError, match=r"is no kernel: give .* without \[grid, block\]"):
        cuda_kernel(namespace["product"][(2, 2), (4, 4)], like="naive")


def test_what_builds_a_kernel_gets_the_devices_sizes_and_a_kernel_that_has_its_own_a_gpus():
    rung, sizes = cuda_kernel("register_2d"), ladder.STEPS["register_2d"].defaults
    assert cuda_kernel(rung.source, like="register_2d").parameters == rung.parameters
    wide = cuda_kernel("vectorized")  # whose file begins with a function that its kernel calls
    assert cuda_kernel(wide.source, like="vectorized").parameters == wide.parameters
    assert cuda_kernel(PRODUCT.format(""), like="register_2d").parameters == sizes["GPU"]
    assert cuda_kernel(PRODUCT.format(""), like="register_2d", BK=4).parameters == rung.parameters | {"BK": 4}
