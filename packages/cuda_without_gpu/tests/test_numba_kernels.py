"""Plain Numba with no GPU: compiled by LLVM, run by the PTX machine. Each test says which hook into Numba broke."""

import pickle
import re
import runpy
import subprocess
import sys
import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from numba import cuda, float32, int32

from cuda_without_gpu import KernelError, before_numba, by_llvm, device, to_ptx

SIZE = 16
EXAMPLE = (np.zeros((1, 1), np.float32),) * 3


@cuda.jit
def add(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


@cuda.jit(device=True)
def twice(x):
    return 2 * x


@pytest.fixture
def drawn():
    """Three arrays of 100 float32, the last all zero."""
    rng = np.random.default_rng(1)
    return *(rng.random(100, np.float32) for _ in range(2)), np.zeros(100, np.float32)


# ----------------------------------------------------------------------------------------------------- compiling


def test_llvm_makes_the_ptx_with_the_lines_of_the_source():
    def multiply_and_add(a):
        a[0] = a[0] * a[1] + a[2]

    kernel = to_ptx.compiled_for(multiply_and_add, np.ones(3, np.float32))
    text = to_ptx.text_of(kernel)
    assert "LLVM NVPTX" in text, "nvvm.compile_ir is no longer what makes PTX of a kernel"
    line = multiply_and_add.__code__.co_firstlineno + 1
    assert re.search(rf"\.loc\s+\d+ {line}\b", text), "the option lineinfo no longer gives the source's lines"
    assert "fma.rn.f32" in text, "LLVM's -nvptx-fma-level no longer makes one instruction of a product and a sum"
    assert ".target sm_80" in text, "dispatcher.get_current_device no longer says what is compiled for"


def test_ptx_is_made_where_no_gpu_is_named():
    """Numba's own target asks for one that NVIDIA's compiler knows no more."""
    text, _ = cuda.compile_ptx(twice.py_func, (float32,), device=True)
    assert "LLVM NVPTX" in text


def test_what_reshape_calls_is_made_for_a_kernel_that_reshapes_only(monkeypatch, drawn):
    monkeypatch.setattr(to_ptx, "reshaping", None)
    assert to_ptx.text_of(to_ptx.compiled_for(add.py_func, *drawn))


def test_each_access_to_an_array_is_kept_at_the_level_that_is_watched():
    def twice_the_same(a, out):
        out[0] = a[0]
        cuda.syncthreads()
        out[0] = a[0]

    kernel = to_ptx.compiled_for(twice_the_same, np.ones(1, np.float32), np.ones(1, np.float32))
    watched = to_ptx.text_of(kernel, to_ptx.WATCHED)
    assert len(re.findall("ld.global|ld.f32|ld.b32", watched)) == 2 == len(re.findall(r"\bst\.", watched))


def asks_twice(A, B, C):
    As = cuda.shared.array((4, 8), float32)
    of_ints = cuda.shared.array(3, int32)
    As[0, 0] = A[0, 0] + A[0, 0]
    of_ints[0] = 1
    C[0, 0] = As[0, 0] + of_ints[0]


def test_what_is_asked_for_twice_is_loaded_twice_where_each_access_is_wanted():
    kernel = to_ptx.compiled_for(asks_twice, *EXAMPLE)
    loads = [len(re.findall(r"ld\S*\.global", to_ptx.text_of(kernel, each=each))) for each in (False, True)]
    assert loads == [1, 2], "LLVM's text of loads looks otherwise now"


def test_shared_arrays_have_the_names_and_shapes_of_the_source():
    found = to_ptx.shared_arrays(to_ptx.compiled_for(asks_twice, *EXAMPLE))
    assert [*found.values()] == [("As", (4, 8), 4), ("of_ints", (3,), 4)], "typed lines look otherwise in this Numba"


def test_a_kernel_is_compiled_once_for_its_types_and_level(drawn):
    function = cuda.jit(add.py_func)  # that nobody has compiled yet
    text = to_ptx.text_of(to_ptx.compiled_for(function, *drawn))
    made = by_llvm.compiled.cache_info().misses
    assert to_ptx.text_of(to_ptx.compiled_for(function, *drawn)) == text
    assert by_llvm.compiled.cache_info().misses == made
    to_ptx.text_of(to_ptx.compiled_for(function, *drawn), to_ptx.COUNTED)
    assert by_llvm.compiled.cache_info().misses == made + 1


@pytest.mark.parametrize(
    "options",
    [
        {"lineinfo": True},
        {"max_registers": 32},
        {"fastmath": True},
        {"inline": "always"},
        {"lto": True},
        {"debug": True, "opt": False},
    ],
)
def test_the_decorators_options_are_taken(options, drawn):
    a, b, out = drawn
    cuda.jit(**options)(add.py_func)[1, 128](a, b, out)
    assert np.array_equal(out, a + b)


@pytest.mark.parametrize(
    "signature",
    [
        "void(float32[:], float32[:], float32[:])",
        (float32[:], float32[:], float32[:]),
        [(float32[:], float32[:], float32[:]), (int32[:], int32[:], int32[:])],
    ],
)
def test_signatures_are_compiled_where_they_stand(signature, drawn):
    a, b, out = drawn
    kernel = cuda.jit(signature)(add.py_func)
    assert kernel.overloads, "a signature is no longer compiled by the decorator"
    kernel[1, 128](a, b, out)
    assert np.array_equal(out, a + b)


def test_an_array_that_the_only_signature_does_not_fit_is_refused(drawn):
    kernel = cuda.jit("void(float64[:], float64[:], float64[:])")(add.py_func)
    with pytest.raises(TypeError, match=re.escape("argument 0 is array(float32, 1d, C); the kernel's signature says")):
        kernel[1, 128](*drawn)


def test_a_kernel_kept_on_the_disk_runs_in_another_process(tmp_path):
    (tmp_path / "kept.py").write_text(
        "import cuda_without_gpu, numpy as np\ncuda_without_gpu.enable()\nfrom numba import cuda\n"
        "@cuda.jit(cache=True)\ndef one(x):\n    x[cuda.grid(1)] = 1\n"
        "x = np.zeros(8)\none[1, 8](x)\nprint(x.sum(), sum(one._cache_hits.values()))\n"
    )
    said = [
        subprocess.run([sys.executable, "kept.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
        for _ in range(2)
    ]
    assert [one.stdout.strip() for one in said] == ["8.0 0", "8.0 1"], said[1].stderr


# ----------------------------------------------------------------------------------------------------- launching


def test_a_launch_takes_grid_block_stream_and_shared_memory():
    @cuda.jit
    def turned(x):
        held = cuda.shared.array(0, float32)
        i = cuda.threadIdx.x
        held[i] = x[i]
        cuda.syncthreads()
        x[i] = held[cuda.blockDim.x - 1 - i]

    x = np.arange(64, dtype=np.float32)
    turned[1, 64, cuda.stream(), 256](x)
    assert np.array_equal(x, np.arange(64)[::-1]), "_Kernel.launch no longer gets a launch's bytes of shared memory"


def test_a_complex_number_is_no_number_of_another_type():
    """numba-cuda's own test: its imaginary part was dropped."""

    @cuda.jit("void(float64[:], float64)")
    def filled(x, value):
        x[0] = value

    with pytest.raises(TypeError, match=r"argument 1 is 2j; the kernel's signature says float64"):
        filled[1, 1](np.zeros(1), 2j)


def test_forall_chooses_a_block(drawn):
    a, b, out = drawn
    add.forall(100)(a, b, out)
    assert np.array_equal(out, a + b), "the context is no longer asked for a block's size"


def test_numbers_tuples_records_and_complex_numbers_are_passed_as_numba_passes_them():
    @cuda.jit
    def mixed(records, pair, z, half, yes, small):
        i = cuda.grid(1)
        if yes and i < records.size:
            records[i].x = pair[0] + z.imag + half
            records[i].n = twice(pair[1]) + small

    records = np.zeros(3, [("x", "f4"), ("n", "i4")])
    mixed[1, 32](records, (np.float32(1.5), 4), 1 + 2j, np.float16(0.25), True, np.int8(-1))
    assert records.tolist() == [(3.75, 7)] * 3


def test_atomics_shuffles_and_votes():
    @cuda.jit
    def warpwide(x, total, seen, highest):
        i = cuda.grid(1)
        cuda.atomic.add(total, 0, x[i])
        cuda.atomic.max(highest, 0, float(x[i]))
        seen[i] = cuda.shfl_down_sync(0xFFFFFFFF, x[i], 1)
        everyone = cuda.ballot_sync(0xFFFFFFFF, True)
        if cuda.all_sync(0xFFFFFFFF, x[i] >= 0) and i == 0:
            total[1] = everyone

    x, seen = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    total, highest = np.zeros(2, np.uint32), np.zeros(1)
    warpwide[1, 32](x, total, seen, highest)
    assert total.tolist() == [x.sum(), 0xFFFFFFFF] and np.array_equal(seen[:31], x[1:])
    assert highest == 31, "nvvm.llvm_replace no longer gives Numba's atomics their code"


def test_the_active_mask_is_of_the_lanes_that_are_there():
    """numba-cuda's own test: LLVM made one instruction of those in both branches, for all lanes."""

    @cuda.jit
    def who_is_here(x):
        i = cuda.grid(1)
        if i % 2 == 0:
            x[i] = cuda.activemask()
        else:
            x[i] = cuda.activemask()

    x = np.zeros(32, np.uint32)
    who_is_here[1, 32](x)
    assert x.tolist() == [0x55555555, 0xAAAAAAAA] * 16
    who_is_here[1, 20](x)
    assert x[:20].tolist() == [0x00055555, 0x000AAAAA] * 10, "lanes that are not in the block take no part"


PRICES = None


def test_an_array_of_the_device_that_a_kernel_captures_is_the_array_itself():
    """numba-cuda's documentation, "Capturing device arrays": was "out of bounds"."""
    global PRICES
    PRICES, PRICES_BEFORE = cuda.to_device(np.arange(6, dtype=np.float32)), PRICES
    corner = cuda.to_device(np.arange(12, dtype=np.int32).reshape(3, 4, order="F"))[1:, 1:]

    @cuda.jit
    def sold(out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = PRICES[i] + corner[1, 2]
            PRICES[i] = -1
        if i == 0:
            corner[0, 0] = 99

    out = np.zeros(6, np.float32)
    sold[1, 32](out)
    assert np.array_equal(out, np.arange(6) + 11) and np.all(PRICES.copy_to_host() == -1)
    assert corner.copy_to_host().tolist() == [[99, 7, 10], [5, 8, 11]]
    with pytest.raises(KernelError, match="PRICES is an argument of the kernel, and the kernel uses it by its global"):
        sold[1, 32](PRICES)
    with pytest.raises(
        KernelError, match=r"uses arrays of the device from outside: PRICES, corner\. Give it arguments"
    ):
        to_ptx.compiled_for(sold, out)
    PRICES = PRICES_BEFORE


def test_outside_of_a_captured_array_is_out_of_bounds():
    few = cuda.to_device(np.arange(4.0))

    @cuda.jit
    def too_far(out):
        i = cuda.grid(1)
        out[i] = few[i]

    with pytest.raises(KernelError, match=r"out of bounds: thread \(4, 0\)(?s:.*)out\[i\] = few\[i\]"):
        too_far[1, 6](np.zeros(6))


def test_a_block_larger_than_the_launch_bounds_is_what_a_driver_says():
    bounded = cuda.jit(launch_bounds=64)(add.py_func)
    x = np.zeros(100, np.float32)
    with pytest.raises(cuda.cudadrv.driver.CudaAPIError, match=r"CUDA_ERROR_INVALID_VALUE.* 128 threads"):
        bounded[1, 128](x, x, x)
    with pytest.raises(ValueError, match=r"CUDA_ERROR_INVALID_VALUE.* 70,?000"):
        add[(1, 70_000), 1](x, x, x)


def test_a_tuple_of_empty_tuples_is_passed():
    """numba-cuda's own test: asked for lines, Numba divides by the size of an empty tuple."""

    @cuda.jit
    def lengths(out, x):
        out[0], out[1] = len(x), len(x[0])

    out = np.ones(2, np.int64)
    lengths[1, 1](out, ((), (), ()))
    assert out.tolist() == [3, 0]


def test_a_kernel_tells_its_memory_and_who_knows_its_registers():
    @cuda.jit("void(float32[:])")
    def sums(x):
        held, mine = cuda.shared.array(50, float32), cuda.local.array(20, float32)
        i = cuda.threadIdx.x
        held[i], mine[i % 20] = x[i], x[i]
        cuda.syncthreads()
        x[i] = held[49 - i] + mine[int(x[i])]

    (of_types,) = sums.overloads.values()
    assert of_types.shared_mem_per_block == 200 and of_types.local_mem_per_thread >= 80
    assert of_types.const_mem_size == 0 and of_types.max_threads_per_block == 1024
    with pytest.raises(NotImplementedError, match="regs: only NVIDIA's compiler knows it"):
        _ = of_types.regs_per_thread


def test_what_takes_too_long_says_what_can_be_done_here(monkeypatch):
    monkeypatch.setattr(device, "SECONDS", 0.01)
    monkeypatch.setattr(before_numba, "WATCH", "all")

    @cuda.jit
    def many_rounds(x):
        for i in range(10_000_000):
            x[0] += i

    with pytest.raises(KernelError, match=r"out of time: .* seconds .*; if it only takes long, launch fewer threads"):
        many_rounds[1, 1](np.zeros(1))


def test_a_launch_with_a_stream_can_be_pickled():
    kernel = pickle.loads(pickle.dumps(cuda.jit("void(float32[:], float32[:], float32[:])")(add.py_func)[1, 128]))
    x = np.ones(100, np.float32)
    kernel(x, x, x)
    assert np.all(x == 2)


def test_reshape_in_a_kernel_makes_a_view_or_refuses():
    @cuda.jit(debug=True, opt=False)
    def flat(A, out):
        view = A.reshape(A.size)
        i = cuda.grid(1)
        if i < view.size:
            out[i] = view[i]

    A, out = np.arange(24.0).reshape(4, 6), np.zeros(24)
    flat[1, 32](A, out)
    assert np.array_equal(out, A.ravel()), "numba_attempt_nocopy_reshape is no longer what reshape calls"
    with pytest.raises(Exception, match="reshape"):
        flat[1, 32](cuda.to_device(A)[:, ::2], out)


@pytest.mark.parametrize("made", [(4, 6), (2, 3, 4), (1, 24), (24, 1, 1), (2, 2, 6)])
@pytest.mark.parametrize("cut", [np.s_[:], np.s_[:, :3], np.s_[::2], np.s_[:, ::2], np.s_[1:2]])
def test_a_reshaped_view_has_numpys_strides(cut, made):
    old = np.zeros((4, 6))[cut]
    for view in (old, old.T):
        expected = view.view()
        try:
            expected.shape = made
        except (AttributeError, ValueError):
            expected = None
        strides = [0] * len(made)
        fits = to_ptx.reshaped(view.ndim, view.shape, view.strides, len(made), made, strides, view.itemsize, 0)
        assert bool(fits) == (expected is not None)
        if fits:
            assert all(
                n == 1 or mine == numpys for n, mine, numpys in zip(made, strides, expected.strides, strict=True)
            )


def test_half_numbers_are_computed_with_as_numpy_does():
    @cuda.jit
    def of_halves(a, b, out, compared):
        i = cuda.grid(1)
        x, y = a[i], b[i]
        out[0, i], out[1, i], out[2, i], out[3, i], out[4, i] = x + y, x - y, x * y, x / y, -x
        compared[0, i], compared[1, i], compared[2, i] = x < y, x >= y, x != y

    a, b = np.random.default_rng(5).standard_normal((2, 64)).astype(np.float16)
    a[:4] = b[:4]
    out, compared = np.zeros((5, 64), np.float16), np.zeros((3, 64), bool)
    of_halves[1, 64](a, b, out, compared)
    assert np.array_equal(out, [a + b, a - b, a * b, a / b, -a]), "numba-cuda's functions for float16 have other names"
    assert np.array_equal(compared, [a < b, a >= b, a != b])


@pytest.mark.parametrize("name", ["sin", "exp10", "sqrt", "trunc"])  # two of LLVM's functions, two of NVIDIA's
def test_functions_of_half_numbers_are_numpys(name):
    fp16, numpys = getattr(cuda, "fp16", None), getattr(np, name, lambda x: np.float16(10) ** x)
    if not hasattr(fp16, f"h{name}"):
        pytest.skip("Numba's own target has no such function")
    function = getattr(fp16, f"h{name}")

    @cuda.jit
    def of_a_half(x, out):
        i = cuda.grid(1)
        out[i] = function(x[i])

    x = np.linspace(0.25, 4.75, 32).astype(np.float16)
    out = np.zeros_like(x)
    of_a_half[1, 32](x, out)
    assert np.allclose(out, numpys(x), rtol=2e-3), "numba-cuda's function has another name"


@pytest.mark.parametrize("name", ["_ZdvRK6__halfS1__nbst", "_ZdvRK6__halfS1__1", "__numba_wrapper_hdiv"])
def test_a_function_of_half_numbers_is_known_by_its_names_in_older_numbas(name):
    text = by_llvm.half_function(name)
    assert "fdiv float" in text and to_ptx.HALF.findall(text.replace("define linkonce_odr", "declare")) == [name]
    assert " ptr" not in text, "the LLVM of Numba 0.61 reads typed pointers only"


def test_inline_ptx_stays_with_its_threads_as_older_llvmlite_writes_it():
    text = by_llvm.as_llvm_takes_it('  %".71" = call i32 asm sideeffect "activemask.b32 $0;", "=r"\n()\n')
    assert text.endswith("() convergent nomerge\n")


def test_a_product_and_a_sum_of_half_numbers_are_rounded_once():
    @cuda.jit
    def products(a, b, c, out, high, low, sizes):
        i = cuda.grid(1)
        out[i] = cuda.fp16.hfma(a[i], b[i], c[i])
        high[i], low[i] = cuda.fp16.hmax(a[i], b[i]), cuda.fp16.hmin(a[i], b[i])
        sizes[i] = cuda.fp16.habs(a[i])

    a, b, c = np.random.default_rng(6).standard_normal((3, 64)).astype(np.float16)
    out, high, low, sizes = np.zeros((4, 64), np.float16)
    products[1, 64](a, b, c, out, high, low, sizes)
    exact = a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)
    assert np.array_equal(out, exact.astype(np.float16))
    assert np.array_equal([high, low, sizes], [np.maximum(a, b), np.minimum(a, b), np.abs(a)])


def test_all_blocks_wait_for_each_other():
    @cuda.jit
    def reversed_whole(x, out):
        i = cuda.grid(1)
        x[i] += 1
        cuda.cg.this_grid().sync()
        out[i] = x[x.size - 1 - i]

    x, out = np.arange(128.0), np.zeros(128)
    reversed_whole[4, 32](x, out)
    assert np.array_equal(out, np.arange(1, 129)[::-1]), "cudaCGSynchronize is no longer what grid.sync() calls"


@pytest.mark.parametrize(
    "few, words",
    [("cuda.blockIdx.x == 0", "only 1 of the 2 blocks come here"), ("cuda.threadIdx.x < 3", "only 3 of the 4 threads")],
)
def test_what_misses_the_sync_of_a_grid_is_told_at_its_line(few, words, tmp_path):
    (tmp_path / "some.py").write_text(
        "from numba import cuda\n@cuda.jit\ndef some(x):\n    g = cuda.cg.this_grid()\n"
        f"    if {few}:\n        g.sync()\n    x[cuda.grid(1)] = 1\n"
    )
    some = runpy.run_path(str(tmp_path / "some.py"))["some"]
    with pytest.raises(KernelError, match=rf"line 6: divergent barrier: {words}.*\n +g\.sync\(\)"):
        some[2, 4](np.zeros(8))


def test_what_a_kernel_does_wrong_is_an_error_with_the_line():
    @cuda.jit
    def too_far(x):
        x[cuda.grid(1)] = 1  # one past the end

    x = np.zeros(8, np.float32)
    with pytest.raises(KernelError, match=r"line \d+: out of bounds: thread .* behind the end of x\b.*\n.*one past"):
        too_far[1, 9](x)
    assert x.all(), "what the kernel stored before is there, as on a GPU"


TABLE = np.arange(4.0)


def beyond_constants(out):
    out[0] = TABLE[out.size]


def beyond_its_own(out):
    mine = cuda.local.array(4, float32)
    mine[out.size] = 1
    out[0] = mine[0]


def beyond_one_of_two(out):
    As, Bs = cuda.shared.array(4, float32), cuda.shared.array(4, float32)
    which = As if out[0] else Bs
    which[out.size] = 1
    out[0] = which[0]


def beyond_no_name(out):
    cuda.shared.array(4, float32)[out.size] = 1


@cuda.jit(device=True)
def staged():
    return cuda.shared.array(4, float32)[cuda.gridDim.x + 3]


def beyond_a_functions(out):
    out[0] = staged()


@pytest.mark.parametrize(
    "function, name",
    [
        (beyond_constants, "TABLE"),
        (beyond_its_own, "its local arrays"),
        (beyond_one_of_two, "Bs"),
        (beyond_no_name, "a shared array"),
        (beyond_a_functions, "a shared array"),
    ],
)
def test_an_array_is_called_as_in_the_source_or_by_its_memory(function, name):
    with pytest.raises(KernelError, match=rf"out of bounds: .* 0 bytes behind the end of {name}\n"):
        cuda.jit(function)[1, 1](np.zeros(4))


def test_a_race_is_an_error():
    @cuda.jit
    def reversed_in_a_hurry(x):
        held = cuda.shared.array(64, float32)
        i = cuda.threadIdx.x
        held[i] = x[i]
        x[i] = held[63 - i]

    words = r"line (\d+): race: .* reads element \d+ of held, which .* wrote in line \d+, and"
    with pytest.raises(KernelError, match=words):
        reversed_in_a_hurry[1, 64](np.zeros(64, np.float32))


def test_with_debug_a_kernel_raises_with_the_threads_place():
    @cuda.jit(debug=True, opt=False)
    def raises(x):
        if cuda.threadIdx.x == 3:
            raise ValueError("three")

    with pytest.raises(ValueError, match=r"tid=\[0, 0, 3\] ctaid=\[0, 0, 0\]: three"):
        raises[1, 8](np.zeros(1))


def test_code_in_another_language_is_refused_in_words(tmp_path):
    (tmp_path / "more.cu").write_text('extern "C" __device__ int f(int *r) { return 0; }')

    @cuda.jit(link=[str(tmp_path / "more.cu")])
    def linked(x):
        x[0] = 1

    with pytest.raises(KernelError, match=r"CUDA C\+\+ is linked by NVIDIA's tools"):
        linked[1, 1](np.zeros(1))


def test_small_grids_are_no_reason_to_warn(drawn):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cuda.jit(add.py_func)[1, 1](*drawn)


# ----------------------------------------------------------------------------------------------------- the host's side


def test_arrays_of_the_device_are_copied_cut_and_turned(drawn):
    a, b, _ = drawn
    d_a, d_b = cuda.to_device(a), cuda.to_device(b)
    d_out = cuda.device_array_like(d_a)
    add[1, 128](d_a[::2], d_b[1::2], d_out[:50])
    add[1, 128](d_a, d_b, d_out[50:])
    assert np.array_equal(d_out.copy_to_host(), np.concatenate([a[::2] + b[1::2], (a + b)[:50]]))
    d_out.copy_to_device(a)
    host = np.empty(100, np.float32)
    d_out.copy_to_host(host)
    assert np.array_equal(host, a)
    square = cuda.to_device(np.arange(4.0).reshape(2, 2))
    assert np.array_equal(square.T.copy_to_host(), [[0, 2], [1, 3]])


def test_an_array_of_the_device_does_what_a_gpus_does_and_no_more():
    """The simulator's arrays add, and turn without a copy. On a GPU the first is a TypeError, the second a copy."""
    d = cuda.to_device(np.arange(6.0).reshape(2, 3))
    assert isinstance(d, cuda.cudadrv.devicearray.DeviceNDArray)
    with pytest.raises(TypeError, match="DeviceNDArray"):
        _ = d + d
    turned = d.T
    turned[0, 0] = 99
    assert turned.strides == (16, 8) and turned.copy_to_host()[1:].tolist() == [[1, 4], [2, 5]] and d[0, 0] == 0
    with pytest.raises(NotImplementedError, match="non-2D"):
        cuda.device_array((2, 3, 4)).transpose()


def test_two_parts_of_an_array_are_one_memory():
    @cuda.jit
    def shift(source, target):
        i = cuda.grid(1)
        if i == 0:
            target[0] = source[0] + 1
            target[1] = source[1] + 1

    d = cuda.to_device(np.zeros(3))
    shift[1, 1](d[:2], d[1:])
    assert d.copy_to_host().tolist() == [0, 1, 2]


@pytest.mark.parametrize("made", ["pinned_array", "mapped_array", "managed_array"])
def test_each_kind_of_memory_can_be_given_to_a_kernel(made, drawn):
    a, b, _ = drawn
    out = getattr(cuda, made)(100, np.float32)
    add[1, 128](a, b, out)
    assert np.array_equal(out.copy_to_host() if hasattr(out, "copy_to_host") else out, a + b)


def test_what_cuda_in_marks_is_not_copied_back(drawn):
    a, b, out = drawn
    add[1, 128](a, b, cuda.In(out))
    assert not out.any()
    add[1, 128](cuda.In(a), b, cuda.Out(out))
    assert np.array_equal(out, a + b)


def test_an_array_is_reached_by_its_cuda_array_interface(drawn):
    class Foreign:
        def __init__(self, array):
            self.__cuda_array_interface__ = array.__cuda_array_interface__

    a, b, out = map(cuda.to_device, drawn)
    add[1, 128](Foreign(a), b, cuda.as_cuda_array(Foreign(out)))
    assert np.array_equal(out.copy_to_host(), drawn[0] + drawn[1])


def test_streams_and_events_do_nothing_and_tell_no_time(drawn):
    a, b, out = drawn
    stream = cuda.stream()
    begin, end = cuda.event(timing=True), cuda.event()
    begin.record(stream)
    with stream.auto_synchronize():
        add[1, 128, stream](a, b, out)
    end.record(stream)
    end.synchronize()
    cuda.synchronize()
    assert np.isnan(cuda.event_elapsed_time(begin, end)), "how long the PTX machine takes is no time of a GPU"
    assert int(cuda.external_stream(7).handle) == 7 and cuda.external_stream(7).external
    assert isinstance(stream, type(cuda.default_stream())) and np.array_equal(out, a + b)


def test_questions_about_the_device_are_answered_honestly(capsys):
    assert cuda.is_available() and cuda.detect()
    assert "No NVIDIA GPU" in capsys.readouterr().out
    assert len(cuda.gpus) == len(cuda.list_devices()) == 1 and "no GPU" in repr(cuda.get_current_device())
    assert cuda.get_current_device().compute_capability == (8, 0)
    assert cuda.current_context().get_memory_info().total > 2**28
    cuda.select_device(0)
    with cuda.gpus[0], cuda.profiling():
        assert cuda.gpus.current.MAX_THREADS_PER_MULTI_PROCESSOR == 2048 and cuda.gpus.lst == list(cuda.gpus)
    with pytest.raises(AttributeError, match="CLOCK_RATE: the PTX machine stands for a GPU"):
        _ = cuda.get_current_device().CLOCK_RATE
    with pytest.raises(AttributeError, match="memalloc of a context: there is no NVIDIA GPU"):
        cuda.current_context().memalloc(4)
    with pytest.raises(cuda.CudaSupportError, match="there is no NVIDIA GPU, and so no driver"):
        cuda.cudadrv.driver.driver.cuDriverGetVersion()
    with pytest.raises(ValueError, match="device 1: there is one device, number 0"):
        cuda.select_device(1)


# ----------------------------------------------------------------------------------------------------- beside Numba


def test_numba_may_be_imported_before():
    """After, as the README has it: tests/test_readmes.py."""
    code = """
from numba import cuda
import cuda_without_gpu
cuda_without_gpu.enable()
import numpy as np
@cuda.jit
def one(x):
    x[cuda.grid(1)] = 1
x = np.zeros(8)
one[1, 8](x)
print(x.sum())
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert said.stdout.split() == ["8.0"], said.stderr


WITHOUT_NUMBA_CUDA = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "NumbaCudaFinder"]
import numpy as np, numba
import cuda_without_gpu
from cuda_without_gpu import to_ptx
cuda_without_gpu.enable()
from numba import cuda, float32
assert cuda.__file__.startswith(numba.__path__[0]), cuda.__file__

@cuda.jit
def backwards(x):
    odd = cuda.shared.array(3, float32)
    held = cuda.shared.array(4, float32, alignment=16)
    mine = cuda.local.array((2, 2), float32, alignment=8)
    i = cuda.threadIdx.x
    odd[i % 3], held[i] = 0, x[i]
    cuda.syncthreads()
    mine[1, 1] = held[3 - i]
    x[i] = mine[1, 1]

x = np.arange(4, dtype=np.float32)
backwards[1, 4](x)
assert x.tolist() == [3, 2, 1, 0], x
assert ".align 16 .b8 _cudapy_smem_2[16]" in to_ptx.text_of(to_ptx.compiled_for(backwards, x))
print("all right")
"""


def test_numbas_own_target_runs_where_numba_cuda_is_missing():
    """As on macOS, for which numba-cuda has no wheels. It knows no alignment by itself."""
    said = subprocess.run([sys.executable, "-c", WITHOUT_NUMBA_CUDA], capture_output=True, text=True, timeout=600)
    assert said.stdout == "all right\n", said.stderr


# ---------------------------------------------------------------------------------------------------- reports of others


def test_a_kernel_prints_into_the_notebook(capsys):
    """Numba's guide, "Debugging CUDA Python": one number, and several things of several types."""

    @cuda.jit
    def tell(x):
        i = cuda.grid(1)
        if i < x.size:
            print(i, "holds", x[i], i == 1)

    tell[2, 2](np.array([0.5, 1.5, 2.5]))
    told = sorted(capsys.readouterr().out.splitlines())
    assert told == ["0 holds 0.500000 False", "1 holds 1.500000 True", "2 holds 2.500000 False"]


def test_an_argument_too_many_is_said_after_a_good_launch_too():
    @cuda.jit("void(float32[:], float32)")
    def scale(x, by):
        x[cuda.grid(1)] *= by

    scale[1, 2](np.ones(2, np.float32), np.float32(3))
    with pytest.raises(TypeError, match="argument"):
        scale[1, 2](np.ones(2, np.float32), np.float32(3), 4)


def test_a_kernel_may_call_a_kernel():
    """numba#9329: runs on a GPU, and not in the simulator."""

    @cuda.jit
    def add_one(a, b, out, i):
        out[i] = a[i] + b[i]

    @cuda.jit
    def add_all(a, b, out):
        i = cuda.grid(1)
        if i < a.shape[0]:
            add_one(a, b, out, i)

    a, b, out = np.random.default_rng(3).random((3, 10))
    add_all[1, 128](a, b, out)
    assert np.array_equal(out, a + b)


def test_slices_of_dynamic_shared_memory_are_apart():
    """numba#5073: was [2, 2] on a GPU."""

    @cuda.jit
    def sliced(x):
        memory = cuda.shared.array(0, dtype=int32)
        first, second = memory[0:1], memory[1:2]
        first[0] = 1
        second[0] = 2
        x[0], x[1] = first[0], second[0]

    x = np.zeros(2, np.int32)
    sliced[1, 1, 0, 8](x)
    assert x.tolist() == [1, 2]


def test_a_global_has_the_value_that_it_had_when_the_kernel_was_compiled():
    """numba#3265: the simulator gave 9, a GPU 0."""
    global SIZE

    @cuda.jit("void(float64[:])")
    def filled(array):
        mine = cuda.local.array(16, float32)
        for i in range(SIZE):
            mine[i] = i
        array[cuda.grid(1)] = mine[SIZE - 1]

    SIZE, before = 10, SIZE
    try:
        d_array = cuda.to_device(np.zeros(32))
        filled[1, 32](d_array)
        assert set(d_array.copy_to_host()) == {15.0}
    finally:
        SIZE = before


def test_more_memory_than_a_gpu_has_is_refused_before_it_is_taken():
    @cuda.jit
    def large(x):
        mine = cuda.local.array(536870912, float32)
        mine[0] = x[0]
        x[1] = mine[0]

    with pytest.raises(KernelError, match="local arrays take 2,147,483,648 bytes a thread; a GPU has 524,288"):
        large[1, 1](np.zeros(2, np.float32))


@pytest.mark.parametrize("bytes_, refused", [(65_536, False), (65_544, True)])
def test_more_constants_than_a_gpu_has_are_refused(bytes_, refused):
    """numba#9084: a captured array is constant memory, and was compiled and run here."""
    table = np.ones(bytes_ // 8)

    @cuda.jit
    def looked_up(x):
        x[0] = table[int(x[1])]

    with (
        pytest.raises(KernelError, match=r"constant arrays take 65,544 bytes; .*65,536 at most")
        if refused
        else nullcontext()
    ):
        to_ptx.compiled_for(looked_up, np.zeros(2))


@pytest.mark.parametrize("bytes_, refused", [(49_152, False), (49_156, True)])
def test_more_shared_memory_than_a_gpu_has_is_refused(bytes_, refused):
    """numba#3350: ptxas ends with "uses too much shared data". What a launch sets is the driver's to refuse."""
    count = bytes_ // 4

    @cuda.jit
    def staged(x):
        tile = cuda.shared.array(count, float32)
        tile[0] = x[0]
        x[1] = tile[0]

    @cuda.jit
    def by_launch(x):
        cuda.shared.array(0, float32)[0] = x[0]

    x = np.zeros(2, np.float32)
    with pytest.raises(KernelError, match="shared arrays take 49,156 bytes a block") if refused else nullcontext():
        to_ptx.text_of(to_ptx.compiled_for(staged, x))
    with pytest.raises(ValueError, match="CUDA_ERROR_INVALID_VALUE: 49,156 bytes") if refused else nullcontext():
        by_launch[1, 1, 0, bytes_](x)
