"""k(A, B) -> C: right at any shape, and plain words for whatever cannot be multiplied."""

import contextlib
import os
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pyopencl as cl
import pytest

from helpers import check, cuda_kernel, devices, ladder, measure, opencl_kernel, predicted_traffic, with_part
from helpers.launch import CudaKernel, KernelError, dialect, draw, opencl, operands
from helpers.launch.cuda import SIGNATURE
from helpers.launch.kernel import refuse_beyond_buffer
from helpers.launch.opencl import aligned, compiler_says
from kernel_judge import wrong_elements

BUILD = {"CUDA": cuda_kernel, "OpenCL": opencl_kernel}
both = pytest.mark.parametrize("build", BUILD.values(), ids=BUILD.keys())


EVERY_STEP = [(dialect, step) for dialect in BUILD for step in ladder.steps(dialect)]


@pytest.mark.parametrize(
    "build, loop, says",
    [
        (cuda_kernel, "\nfor k in range(BK)\n    pass\n", r"line (\d+): expected ':'\n    for k in range\(BK\)$"),
        (cuda_kernel, "\nint i = 0;\n", r"line (\d+): invalid syntax\n    int i = 0;$"),
        (opencl_kernel, "\nint i = 0;\nacc[0][0] += nothing;\n", r"line (\d+): .*'nothing'.*\n    acc\[0\]\[0\] \+="),
        (opencl_kernel, "\nfor int k = 0;\n", r"line (\d+): expected '\(' after 'for'\n    for int k = 0;"),
    ],
)
def test_a_mistake_in_a_learners_own_lines_is_quoted_with_its_number(build, loop, says):
    source = with_part({cuda_kernel: "CUDA", opencl_kernel: "OpenCL"}[build], "register_2d", 3, loop)
    with pytest.raises(KernelError) as error:
        build(source, like="register_2d").compile()
    found = re.search(says, str(error.value), re.MULTILINE)
    assert found, error.value
    quoted = str(error.value)[found.start() :].splitlines()[1].strip()
    assert source.splitlines()[int(found[1]) - 1].strip() == quoted


def checked_on_pages():
    """(dialect, step) of the kernels that pages check as they are, with the answer that is stored."""
    pages = (Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb")
    found = re.findall(r'check\((cuda|opencl)_kernel\(\\"(\w+)\\"\)\)', "".join(p.read_text("utf-8") for p in pages))
    return {({"cuda": "CUDA", "opencl": "OpenCL"}[dialect], step) for dialect, step in found}


# Most pages meet no second driver: .ci/run.
LEFT = [one for one in EVERY_STEP if one not in checked_on_pages() or os.environ.get("HELPERS_OPENCL_DEVICE")]


def test_pages_check_most_steps():
    assert len(checked_on_pages()) >= 8 and ("OpenCL", "column") in LEFT


@pytest.mark.parametrize("dialect, step", LEFT)
def test_a_step_that_no_page_checks_passes_the_check(dialect, step):
    assert check(BUILD[dialect](step))


@both
def test_a_kernel_says_what_it_is(build):
    k = build("tiled", TILE=4)
    assert (k.step, k.parameters, k.own) == ("tiled", {"TILE": 4}, False)
    assert "barrier" in k.source or "syncthreads" in k.source
    assert k.device.dialect == k.dialect


def test_sizes_follow_from_the_shape_unless_some_are_given():
    k = opencl_kernel("packed")
    small, large = (k.fitted(n, n, n) for n in (40, 4096))
    assert 2 * small.parameters["BM"] < k.parameters["BM"] <= large.parameters["BM"]
    assert k.fitted(39, 38, 41) is small  # built once
    assert small.fitted(4096, 4096, 4096) is small
    assert small.global_size(40, 40) == small.grid(40, 40)  # a work-item a group
    assert measure(k, 40, 0.001).parameters == small.parameters
    assert predicted_traffic(k, 300, 300, 30) == predicted_traffic(k.fitted(300, 300, 30), 300, 300, 30)
    given = opencl_kernel("packed", **k.parameters)
    assert given.fitted(40, 40, 40) is given
    assert predicted_traffic(given, 7, 300, 300) != predicted_traffic(k, 7, 300, 300)


THIN = [(1, 300, 700), (7, 2100, 1001), (16, 1025, 2049), (300, 1, 700), (300, 16, 300), (700, 600, 3)]


@pytest.mark.parametrize("M, N, K", THIN)
def test_packed_is_right_on_thin_products(M, N, K):
    k = opencl_kernel("packed")
    A, B = draw(M, N, K)
    assert not wrong_elements(k(A, B), A, B).any()
    assert k.device.units == k.device.handle.max_compute_units


@pytest.mark.parametrize("given", [dict(BM=4, TM=4), dict(BM=1, TM=1, BN=128, BK=256, TN=8)])
def test_packed_with_sizes_for_thin_products_is_right_on_any(given):
    assert check(opencl_kernel("packed", **given), [(1, 1, 1), (9, 3, 130), (70, 1, 65), (33, 300, 40)])


def test_one_column_has_a_kernel_of_its_own():
    k = opencl_kernel("packed")
    assert k.fitted(300, 1, 40).step == "column" and k.fitted(300, 2, 40).step == "packed"
    assert k.fitted(7, 1, 9) is k.fitted(300, 1, 40)  # built once
    assert measure(k, (40, 1, 30), 0.001).step == "column"
    own = opencl_kernel(k.source, like="packed")
    assert own.fitted(300, 1, 40).source == k.source  # a kernel of your own does it itself
    own.checked = True  # as `check` has it
    A, B = draw(70, 1, 65)
    assert not wrong_elements(own(A, B), A, B).any()


@pytest.mark.parametrize("nbytes", [4, 4096, 1 << 21, (1 << 22) + 4])
def test_memory_for_a_cpu_begins_at_a_page(nbytes):
    """A driver copies memory that does not."""
    memory = aligned(nbytes)
    assert memory.nbytes == nbytes and memory.ctypes.data % (1 << 21 if nbytes >= 1 << 21 else 1 << 12) == 0


def test_memory_is_given_back_only_when_nothing_queued_uses_it():
    """Else the queue would write where NumPy has put something else: such a crash comes later, and elsewhere."""
    work = opencl_kernel("naive").upload(*draw(256, 256, 256))
    keep = [work.A, work.B, work.C]  # so that this test harms nobody where the rule is broken
    for _ in range(20):
        last = work.multiply()
    assert last.command_execution_status != cl.command_execution_status.COMPLETE
    del work
    assert last.command_execution_status == cl.command_execution_status.COMPLETE
    assert keep


def test_a_kernel_of_your_own_is_fitted_too_once_it_is_right():
    own = opencl_kernel(opencl_kernel("packed").source, like="packed")
    assert not own.fitted(5, 6, 7).checked
    own.checked = True  # as `check` has it
    assert own.fitted(5, 6, 7).checked


def test_a_dimension_of_zero_gives_what_numpy_gives():
    for M, N, K in ((0, 3, 4), (3, 0, 4), (3, 4, 0)):
        A, B = np.ones((M, K), np.float32), np.ones((K, N), np.float32)
        C = opencl_kernel("tiled")(A, B)
        assert C.dtype == np.float32
        np.testing.assert_array_equal(C, A @ B)


@pytest.mark.parametrize("dialect, step", EVERY_STEP)
def test_nan_and_inf_pass_through_as_in_numpy(dialect, step):
    A, B = draw(9, 7, 10)
    A[2, 3], A[5, 0], B[4, 6] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        expected = A @ B
    C = BUILD[dialect](step, **ladder.STEPS[step].small)(A, B)
    np.testing.assert_array_equal(np.isnan(C), np.isnan(expected))
    np.testing.assert_array_equal(C[np.isinf(expected)], expected[np.isinf(expected)])


GOOD = np.ones((3, 4), np.float32)


@pytest.mark.parametrize(
    "A, B, error, words",
    [
        (GOOD, GOOD, ValueError, "columns of A (4) must be as many as the rows of B (3)"),
        (np.ones(3, np.float32), GOOD, ValueError, "Give A.reshape(1, -1), one row, or A.reshape(-1, 1), one column."),
        (GOOD, np.ones(4, np.float32), ValueError, "Give B.reshape(-1, 1), one column, or B.reshape(1, -1), one row."),
        (np.ones((1, 3, 4), np.float32), GOOD, ValueError, "A has 3 dimensions"),
        (np.ones((2, 1, 3, 4), np.float32), GOOD, ValueError, "its matrices one at a time, such as A[0, 0]."),
        (np.array(3, np.float32), GOOD, ValueError, "Give A.reshape(1, 1)."),
        (GOOD.astype(np.float64), GOOD.T, TypeError, "A holds float64; these kernels compute in float32"),
        (GOOD, GOOD.T.astype(complex), TypeError, "its imaginary part would be lost"),
        (GOOD.tolist(), GOOD.T, TypeError, "A is a list; pass a NumPy array of float32, np.array(A, np.float32)."),
        (GOOD, np.ma.masked_array(GOOD.T), TypeError, "such as zeros: B.filled(0)."),
    ],
)
def test_bad_operands_are_named(A, B, error, words):
    with pytest.raises(error) as raised:
        operands.validate(A, B)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda k: k(GOOD, GOOD.T, np.zeros((3, 3), np.float32)),
        lambda k: k(3, 3, 4, GOOD, GOOD.T),
        lambda k: k(GOOD),
        lambda k: k[(1, 1), (4, 4)](GOOD, GOOD.T),
    ],
    ids=["with C", "with sizes", "A alone", "with a grid"],
)
def test_a_call_as_of_a_raw_kernel_is_told_how_it_is_called(call):
    with pytest.raises(TypeError, match=r"naive .*Call it as C = k\(A, B\): C is a new array"):
        call(opencl_kernel("naive"))
    assert not np.iterable(opencl_kernel("naive"))


def test_an_array_on_a_device_is_told_how_it_comes_back():
    import pyopencl.array

    k = opencl_kernel("naive")
    d_A = pyopencl.array.to_device(k.queue, GOOD)
    with pytest.raises(TypeError, match=r"A is an Array; pass a NumPy array of float32, A\.get\(\)\."):
        k(d_A, GOOD.T)
    assert k(d_A.get(), GOOD.T).shape == (3, 3)


def test_the_ptx_machine_refuses_sizes_that_take_minutes(no_spirv):
    k = cuda_kernel("tiled")
    with pytest.raises(ValueError, match=r"would take the PTX machine minutes.*128 x 128 x 64"):
        k(*draw(1024, 1024, 1024))


def test_more_than_the_devices_memory_is_refused():
    k = opencl_kernel("tiled")
    k.device = replace(k.device, memory_bytes=1 << 20)
    with pytest.raises(MemoryError, match=r"need 0.0 GB.*Multiply a block of rows"):
        k(*draw(300, 300, 300))


def test_more_than_one_buffer_holds_is_refused():
    k = opencl_kernel("naive")
    huge = np.broadcast_to(np.float32(1), (1 << 16, 1 << 16))  # 17 GB, none of it allocated
    with pytest.raises(MemoryError, match=r"holds in one buffer|need .* GB"):
        k(huge, huge)


@pytest.mark.parametrize("held, most", [(2**40, 2**31 - 1), (2**20, 2**18)], ids=["a 32-bit index", "one buffer"])
def test_the_largest_matrix_with_its_guard_is_the_last_that_is_let_through(held, most):
    device = SimpleNamespace(name="a device", handle=SimpleNamespace(max_mem_alloc_size=held))
    sizes = [(most - operands.GUARD, 1, 1), (1, most - operands.GUARD, 1)]
    for M, N, K in sizes:
        refuse_beyond_buffer(device, M, N, K)
        with pytest.raises(MemoryError, match=rf"can address \({most} elements\)"):
            refuse_beyond_buffer(device, M + (M > 1), N + (N > 1), K)


def test_more_blocks_down_than_cuda_launches_are_refused_and_as_many_across_are_not():
    k = cuda_kernel("coalesced", BM=4, BN=8)
    k.__class__, k.device = CudaKernel, replace(k.device, kind="GPU", memory_bytes=None)
    k.refuse(4 * 65535, 1, 1)
    k.refuse(1, 8 * 65536, 1)
    with pytest.raises(ValueError, match=r"needs 65536 blocks along y .* CUDA allows 65535"):
        k.refuse(4 * 65535 + 1, 1, 1)


@both
def test_what_is_placed_is_multiplied_where_it_lies_and_its_place_is_taken_again(build):
    k, (A, B), (X, Y) = build("naive"), draw(5, 6, 7), draw(5, 6, 7)
    place = k.place(A)
    assert (place.shape, place.device) == ((5, 7), k.device) and k.place(X, place) is place
    work = k.upload(place, B)
    work.launch()
    assert not wrong_elements(work.download(), X, B).any()
    with pytest.raises(ValueError, match=r"X is \(7, 6\) and `over` is \(5, 7\)"):
        k.place(Y, place)
    with pytest.raises(TypeError, match="over=3 is no matrix on a device"):
        k.place(A, 3)


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
    assert code.__getitem__.call_args.args == ((k.grid(5, 6), k.block, work.on.stream),)
    assert [X.shape for X in work.multiply.args] == [(5, 7), (7, 6), (5, 6)]


def test_a_dialect_is_found_in_any_case_and_the_others_are_named():
    assert dialect("cuda") is dialect("CUDA") and dialect("opencl").name == "OpenCL"
    with pytest.raises(ValueError, match=r"unknown dialect 'HIP'\. The dialects are: CUDA, OpenCL\.$"):
        dialect("HIP")


@both
def test_your_own_kernel_must_pass_the_check_first(build):
    k = build(build("tiled", TILE=4).source, like="tiled", TILE=4)
    A, B = draw(5, 6, 7)
    with pytest.raises(KernelError, match=r"has not passed a check yet. Run check\(k\) first"):
        k(A, B)
    assert check(k, [(5, 6, 7)])
    assert not wrong_elements(k(A, B), A, B).any()


@pytest.mark.parametrize("what", ["tiled", cuda_kernel("tiled").source], ids=["a step", "a text"])
def test_what_is_built_again_is_not_compiled_again(what):
    like = None if what == "tiled" else "tiled"
    first, again, other = (cuda_kernel(what, like=like, TILE=size) for size in (4, 4, 8))
    assert first is not again and first.function is again.function is not other.function


@pytest.mark.parametrize("build, block", [(cuda_kernel, "block"), (opencl_kernel, "work-group")])
def test_your_own_kernel_needs_a_launch(build, block):
    with pytest.raises(ValueError, match=f"needs like=.* whose {block} and grid .*, one of naive, coalesced, tiled,"):
        build("a kernel\nof two lines")


def test_a_device_that_is_named_or_given_is_taken_whatever_the_step_has():
    first, tiled = devices.opencl_device(), ladder.STEPS["tiled"]
    assert opencl.device_for(tiled, first) is first and opencl.device_for(tiled, first.name) == first
    with pytest.raises(devices.DeviceError, match="no such device"):
        opencl.device_for(tiled, "no such device")


@pytest.mark.parametrize("build, name", [(opencl_kernel, "matmul.cl"), (cuda_kernel, "a/tiled.py")])
def test_a_file_s_name_is_told_from_what_it_holds(build, name):
    with pytest.raises(ValueError, match=rf"is a file's name; give what the file holds: Path\('{name}'\)\.read_text"):
        build(name, like="tiled")


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
        ("__kernel void f(int M) {}", "f takes 1 arguments; it must take six"),
        ("__kernel void f(int M) {}\n__kernel void g(int M) {}", "exactly one __kernel, not 2"),
    ],
)
def test_an_opencl_source_of_another_form_is_named(source, words):
    with pytest.raises(KernelError, match=words):
        opencl_kernel(source, like="naive").compile()


def test_uploads_of_one_kernel_do_not_mix_and_each_keeps_its_grid():
    for k in (cuda_kernel("naive", BM=2, BN=2), opencl_kernel("naive"), opencl_kernel("packed")):
        pairs = [draw(5, 6, 7), draw(5, 6, 7), draw(2, 2, 3)]
        works = [k.upload(*pair) for pair in pairs]
        for work in works:
            work.launch()
        for work, (A, B) in zip(works, pairs, strict=True):
            assert not wrong_elements(work.download(), A, B).any()


@pytest.mark.parametrize("platform, alone", [("Portable Computing Language", True), ("Intel(R) OpenCL", False)])
def test_with_pocl_one_process_builds_at_a_time(monkeypatch, platform, alone):
    """Ranks that build the same program at once fail there: two of eight runs of six ranks did."""
    held = []

    @contextlib.contextmanager
    def locked(folder):
        held.append("locked")
        yield
        held.append("free")

    program = SimpleNamespace(build=lambda options: held.append("built"))
    monkeypatch.setattr(devices.files, "locked", locked)
    monkeypatch.setattr(opencl.cl, "Program", lambda context, source: program)
    opencl.program(SimpleNamespace(devices=[SimpleNamespace(platform=SimpleNamespace(name=platform))]), "a source")
    assert held == (["locked", "built", "free"] if alone else ["built"])


def test_a_kernel_that_calls_itself_is_told_to_loop():
    if "Portable" in devices.opencl_device().driver:
        pytest.skip("PoCL compiles a kernel that calls itself")
    calls = f"__kernel void mine({SIX_OF}) {{ if (K > 1) mine(M, N, K - 1, A, B, C); C[0] += K; }}"
    with pytest.raises(KernelError, match="does not compile") as error:
        opencl_kernel(calls, like="naive", BM=4, BN=4).compile()
    assert "BUILD_PROGRAM_FAILURE" not in str(error.value)


@pytest.mark.parametrize(
    "line, says",
    [
        ("k = M; C[k] = k + k;", "line 2: k has no type: write `int k = …`.*\n    k = M; C.k. = k . k;$"),
        ("if (M > 1)\n float x = 1; C[0] = M;", "line 3: a body that declares a name.* stands in braces"),
        ("__shared__ float As[4];", "line 2: __shared__ is a word of CUDA; OpenCL's is __local"),
        ("C[0] = half_sum * M;", "line 2: use of undeclared identifier 'half_sum'\n"),
        ("C[row * N] = row * M;", "line 2: use of undeclared identifier 'row'\n    C.row . N. = row . M;$"),
    ],
)
def test_what_the_compiler_says_is_told_once_and_to_an_author_who_knows_python(line, says):
    text = "__kernel void mine(int M, int N, int K, __global float *A, __global float *B, __global float *C) {\n"
    with pytest.raises(KernelError, match=says):
        opencl_kernel(text + line + "\n}", like="naive", BM=4, BN=4).compile()


INCLUDES = "\n#include <stdint.h>\nfloat half(float x);\n"
LOST = "/usr/include/x86/libc.h:33:10: fatal error: 'bits/start.h' file not found\n"


@pytest.mark.parametrize(
    "log, says",
    [
        (
            f"In file included from 1:2:\nIn file included from /usr/include/stdint.h:9:\n{LOST}",
            "line 2: 'bits/start.h' file not found (libc.h, line 33)\n    #include <stdint.h>",
        ),
        (LOST, "line 2: 'bits/start.h' file not found (libc.h, line 33)\n    #include <stdint.h>"),
        (
            "error: /tmp/x_y.cl:2:10: 'stdint.h' file not found",
            "line 2: 'stdint.h' file not found\n    #include <stdint.h>",
        ),
        (
            "JIT session error: Symbols not found: [ half ]\nFailed",
            "line 3: half is declared, and no function has its body\n    float half(float x);",
        ),
        (
            "Cannot find symbol half in kernel library",
            "line 3: half is declared, and no function has its body\n    float half(float x);",
        ),
    ],
    ids=["Intel", "no way to it", "PoCL", "Intel: no body", "PoCL: no body"],
)
def test_an_error_in_what_is_included_is_told_at_the_include_and_a_function_without_a_body_by_name(log, says):
    assert compiler_says(log, INCLUDES) == says


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
        ("from numba import cuda\n@cuda.jti\ndef f(A, B, C):\n    pass\n", "\n    @cuda.jti"),
        ("x = 1\x00\n", "null bytes"),
        ("def k(A, B, C):\n    pass\n", "k takes A, B, C, which is no parameter of this step .*put @cuda.jit above it"),
        ("def build(BM):\n    pass\n", "must return the kernel.* it returns None"),
        ("x = 1\n", "exactly one kernel or one function that builds it, not 0"),
        ("@cuda.jit\ndef k(A, B, C):\n    pass\n", "line 1: NameError: name 'cuda' is not defined"),
        (PRODUCT.format("(cache=True)"), r"line 3: .*cannot cache function .*\n    @cuda\.jit\(cache"),
        (
            PRODUCT.format('("void(float32[:], float32[:], float32[:])")'),
            r"line 6: .*cannot index array.* with 2 indices",
        ),
        ("__global__ void mm(float *A) { A[0] = 1; }", "line 1: this is C: cuda_kernel takes Python"),
        (PRODUCT.format("") + PRODUCT.format("").replace("product", "other"), "not 2: product, other. A function that"),
        (PRODUCT.format("(device=True)"), "product is called, not launched"),
    ],
)
def test_what_a_source_raises_before_it_is_built_is_told_in_words(source, says):
    with pytest.raises(KernelError, match=says):
        cuda_kernel(source, like="naive")


@pytest.mark.parametrize(
    "source, says",
    [
        (PRODUCT.format(""), r"line 3: this is Python: opencl_kernel takes OpenCL C, a __kernel\n    @cuda\.jit"),
        ("__global__ void mm(float *A) { A[0] = 1; }", r"line 1: this is CUDA C\+\+: opencl_kernel takes OpenCL C"),
    ],
    ids=["Python", "CUDA C++"],
)
def test_another_language_given_as_opencl_is_named(source, says):
    with pytest.raises(KernelError, match=says):
        opencl_kernel(source, like="naive")
    assert opencl_kernel(f"/* the old one:\n{source}*/\n{opencl_kernel('naive').source}", like="naive").own


def test_a_kernel_that_has_its_grid_already_is_told_so():
    namespace = {}
    exec(PRODUCT.format(""), namespace)
    with pytest.raises(KernelError, match=r"without \[grid, block\]: like=\.\.\. sets both"):
        cuda_kernel(namespace["product"][(2, 2), (4, 4)], like="naive")


SIX_OF = "const int M, const int N, const int K, __global const float *A, __global const float *B, __global float *C"


@pytest.mark.parametrize(
    "old, new, says",
    [
        ("float *B", "half *B", "mine takes half* as its argument 5, B; it must take __global const float *B."),
        ("float *A", "double *A", "mine takes double* as its argument 4, A; it must take __global const float *A."),
        ("int M", "float M", "mine takes float as its argument 1, M; it must take int M."),
        ("__global float *C)\n{\n    C[0] = A && B;", "float C)\n{", "as its argument 6, C"),
        ("__kernel", "__kernel __attribute__((reqd_work_group_size(8, 2, 1)))", "8 x 2 x 1 with reqd_work_group_size"),
        ("{", "{ __local float a[1 << 22]; a[M] = A[N]; C[K] = a[0];", "mine takes 16,777,216 bytes of local memory"),
        (
            "\n",
            "\n#define BM 16 // rows\n",
            "defines BM itself as 16, and would be launched with BM=4. Build it with BM=16",
        ),
    ],
)
def test_what_the_device_would_refuse_or_read_wrong_is_told_when_it_is_built(monkeypatch, old, new, says):
    monkeypatch.setattr(cl, "_PYOPENCL_NO_CACHE", True)  # which keeps no types of arguments; a child has none either
    source = f"\n__kernel void mine({SIX_OF})\n{{\n    C[0] = A && B;\n}}\n"  # a driver may not load a half
    with pytest.raises(KernelError, match=re.escape(says)):
        opencl_kernel(source.replace(old, new, 1), like="naive", BM=4, BN=4).compile()


@pytest.mark.parametrize(
    "old, new", [("float *A", "float4 *A"), ("int M", "uint M"), ("\n", "\n#ifndef BM\n#define BM 16\n#endif\n")]
)
def test_what_the_device_takes_is_built(old, new):
    source = f"\n__kernel void mine({SIX_OF})\n{{\n    C[0] = B[0];\n}}\n"
    opencl_kernel(source.replace(old, new, 1), like="naive", BM=4, BN=4).compile()


def test_a_source_that_crashes_intels_compiler_leaves_this_process_alone(monkeypatch):
    monkeypatch.setattr(devices, "oclgrind_library", lambda: None)  # which finds what is wrong with it
    if "Intel" not in devices.opencl_device().driver:
        pytest.skip("another compiler takes that source: Intel's for CPUs is asked")
    body = "__local float t[64]; event_t e = async_work_group_copy(t, A, get_local_id(0) ? 64 : 32, 0);"
    body += " wait_group_events(1, &e); C[0] = t[0];"
    report = check(opencl_kernel(f"__kernel void mine({SIX_OF})\n{{\n{body}\n}}", like="naive", BM=4, BN=4))
    assert "crashed on your kernel; this notebook goes on. All work-items" in report.findings[0].message
    assert report.findings[0].lines == (3,)
