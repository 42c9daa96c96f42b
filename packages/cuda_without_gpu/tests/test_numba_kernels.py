"""Plain Numba with no GPU: compiled by LLVM, run by the PTX machine. Each test says which hook into Numba broke."""

import os
import re
import subprocess
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from numba import cuda, float32, int32, vectorize
from numba.cuda import libdevice
from numba.cuda.kernels.transpose import transpose

from cuda_without_gpu import KernelError, by_llvm, device, launching, memory, settings, to_ptx

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


def test_llvm_makes_the_ptx_with_the_lines_of_the_source(monkeypatch):
    def multiply_and_add(a):
        a[0] = a[0] * a[1] + a[2]

    monkeypatch.setattr(to_ptx, "reshaping", None)  # which is for kernels that reshape
    kernel = to_ptx.compiled_for(multiply_and_add, np.ones(3, np.float32))
    text = to_ptx.text_of(kernel)
    assert "LLVM NVPTX" in text, "nvvm.compile_ir is no longer what makes PTX of a kernel"
    line = multiply_and_add.__code__.co_firstlineno + 1
    assert re.search(rf"\.loc\s+\d+ {line}\b", text), "the option lineinfo no longer gives the source's lines"
    assert "fma.rn.f32" in text, "LLVM's -nvptx-fma-level no longer makes one instruction of a product and a sum"
    assert ".target sm_80" in text, "dispatcher.get_current_device no longer says what is compiled for"
    with monkeypatch.context() as nothing_anew:
        nothing_anew.setattr(to_ptx, "whole", None)
        assert to_ptx.text_of(kernel) is text
    text, _ = cuda.compile_ptx(twice.py_func, (float32,), device=True)
    assert "LLVM NVPTX" in text, "Numba's own target asks for a GPU that NVIDIA's compiler knows no more"


def asks_twice(A, B, C):
    As = cuda.shared.array((4, 8), float32)
    of_ints = cuda.shared.array(3, int32)
    As[0, 0] = A[0, 0] + A[0, 0]
    of_ints[0] = 1
    C[0, 0] = As[0, 0] + of_ints[0]


def test_accesses_and_shared_arrays_are_those_of_the_source():
    kernel = to_ptx.compiled_for(asks_twice, *EXAMPLE)
    loads = [len(re.findall(r"ld\S*\.global", to_ptx.text_of(kernel, each=each))) for each in (False, True)]
    assert loads == [1, 2], "LLVM's text of loads looks otherwise now"
    found = to_ptx.shared_arrays(kernel)
    assert [*found.values()] == [("As", (4, 8), 4), ("of_ints", (3,), 4)], "typed lines look otherwise in this Numba"
    assert [to_ptx.bytes_in(kernel._codelibrary.llvm_strs, letter) for letter in "lsc"] == [0, 140, 0]


def test_what_asks_for_an_index_keeps_no_number_in_memory():
    def twice_on(x):
        x[0, 1] += 1
        x[0, 1] += 2

    kernel = to_ptx.compiled_for(twice_on, EXAMPLE[0])
    asked, unasked = (to_ptx.text_of(kernel, axes=axes) for axes in (True, False))
    assert "index_within" in asked and "index_within" not in unasked
    assert [len(re.findall(r"st\.(?:global|[fb]32)", text)) for text in (asked, unasked)] == [1, 1]
    assert kernel._codelibrary.codegen.magic_tuple()[0] == "LLVM", "a GPU would load what cache=True has kept"


def test_the_decorators_options_and_signatures_are_taken_and_nobody_warns(drawn):
    a, b, out = drawn
    signatures = [(float32[:], float32[:], float32[:]), (int32[:], int32[:], int32[:])]
    kernel = cuda.jit(signatures, lineinfo=True, max_registers=32, fastmath=True, lto=True)(add.py_func)
    assert len(kernel.overloads) == 2, "a signature is no longer compiled by the decorator"
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # such as that a small grid leaves a GPU idle
        kernel.forall(100)(a, b, out)
    assert np.array_equal(out, a + b), "the context is no longer asked for a block's size"


def test_what_the_only_signature_does_not_fit_is_refused(drawn):
    @cuda.jit("void(float64[:], float64)")
    def filled(x, value):
        x[0] = value

    for given, said in (
        ((drawn[0], 2), r"argument 0 is array\(float32, 1d, C\); the kernel's signature says array\(float64"),
        ((np.zeros((1, 1)), 2), r"argument 0 is array\(float64, 2d, C\)"),
        ((np.zeros(1), 2j), r"argument 1 is 2j; the kernel's signature says float64"),
        ((np.zeros(1), 2, 3), "argument"),
    ):
        with pytest.raises(TypeError, match=said):
            filled[1, 1](*given)


def test_a_kernel_kept_on_the_disk_runs_in_another_process_where_numba_was_imported_before(tmp_path):
    (tmp_path / "kept.py").write_text(
        "from numba import cuda\nimport cuda_without_gpu, numpy as np\ncuda_without_gpu.enable()\n"
        "@cuda.jit(cache=True)\ndef one(x):\n    x[cuda.grid(1)] = 1\n"
        "x = np.zeros(8)\none[1, 8](x)\nprint(x.sum(), sum(one._cache_hits.values()))\n"
    )
    said = [
        subprocess.run([sys.executable, "kept.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
        for _ in range(2)
    ]
    assert [one.stdout.strip() for one in said] == ["8.0 0", "8.0 1"], said[1].stderr


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


@pytest.mark.parametrize(
    "name, made",
    [
        ("_ZdvRK6__halfS1__nbst", "fdiv float %af, %bf"),
        ("__numba_wrapper_hdiv", "fdiv float %af, %bf"),
        ("_ZneRK6__halfS1__1", "fcmp une float %af, %bf"),
        ("_ZL4hmax6__halfS_", "call half @llvm.maxnum.f16(half %ah, half %bh)"),
        ("_ZL5htrunc6__half", "call float @llvm.trunc.f32(float %af)"),
        ("_ZL6hexp106__half", "call float @__nv_exp10f(float %af)"),
        ("_ZN6__halfC1Ej_1", "uitofp i32 %n to half"),
        ("_ZN6__halfC1El_1", "sitofp i64 %n to half"),
    ],
)
def test_a_function_of_half_numbers_is_known_by_its_names_in_many_numbas(name, made):
    text = by_llvm.half_function(name)
    assert f"%r = {made}\n" in text and to_ptx.HALF.findall(text.replace("define linkonce_odr", "declare")) == [name]
    assert " ptr" not in text, "the LLVM of Numba 0.61 reads typed pointers only"


def test_inline_ptx_stays_with_its_threads_as_older_llvmlite_writes_it():
    text = by_llvm.as_llvm_takes_it('  %".71" = call i32 asm sideeffect "activemask.b32 $0;", "=r"\n()\n')
    assert text.endswith("() convergent nomerge\n")


@pytest.mark.parametrize(
    "name, most, said",
    [
        ("_cudapy_lmem.1", 524_288, r"local arrays take 524,292 bytes a thread; .* 524,288 at most\. Make them"),
        ("_cudapy_smem_1", 49_152, r"shared arrays take 49,156 bytes a block; a GPU has 49,152 at most"),
        ("_cudapy_cmem", 65_536, r"constant arrays take 65,540 bytes; a GPU has 65,536 at most\. Give them"),
    ],
)
def test_more_memory_than_a_gpu_has_is_refused_before_it_is_compiled(name, most, said):
    """numba#3350, numba#9084: ptxas ends with "uses too much shared data"; constant arrays were compiled and run."""
    made = "alloca" if "lmem" in name else "addrspace(3) global"
    texts = [f'%"{name}" = {made} [{most // 16} x double]\n%"{name}" = {made} [{most // 4} x half]\n']
    to_ptx.refuse_large_arrays(texts)
    with pytest.raises(KernelError, match=said):
        to_ptx.refuse_large_arrays([*texts, f'%"{name}" = {made} [1 x i32]\n'])


UNSET = """
  %"_cudapy_lmem.1" = alloca [2 x float]
  store [2 x float] zeroinitializer, [2 x float]* %"_cudapy_lmem.1"
  %"_cudapy_lmem.2" = alloca [513 x i8]
  store [513 x i8] zeroinitializer, [513 x i8]* %"_cudapy_lmem.2"
  %"never_set" = add i64 0, 0
  store i64 %"never_set", i64* %"total.2"
"""


def test_a_variable_that_is_not_set_holds_minus_one_where_that_is_wanted_and_a_long_array_nothing():
    short = UNSET.replace('  store [513 x i8] zeroinitializer, [513 x i8]* %"_cudapy_lmem.2"\n', "")
    assert to_ptx.with_unset(UNSET, frozenset()) == to_ptx.with_unset(UNSET, {"other"}) == short
    assert to_ptx.with_unset(UNSET, {"total"}) == short.replace("add i64 0,", "add i64 -1,")
    nan = "float 0x7FF8000000000000"
    filled = short.replace("store [2 x float] zeroinitializer", f"store [2 x float] [{nan}, {nan}]")
    assert to_ptx.with_unset(UNSET, {to_ptx.LOCAL_ARRAY}) == filled
    kernel = SimpleNamespace(_codelibrary=SimpleNamespace(llvm_strs=[UNSET]))
    assert to_ptx.variables_of(kernel) == ["total", to_ptx.LOCAL_ARRAY]


# ----------------------------------------------------------------------------------------------------- launching


def test_an_array_fits_a_signature_by_its_layout_and_the_size_of_its_integers():
    @cuda.jit("void(int32[:, ::1])")
    def nothing(x):
        pass

    a = np.zeros((2, 4), np.int32)
    nothing[1, 1](a.view(np.uint32))
    nothing[1, 1](a[0][np.newaxis])  # whose first stride is 0
    for other in (a.astype(np.int64), a.view(np.float32), a.T):
        with pytest.raises(
            TypeError, match=r"argument 0 is array\(.*; the kernel's signature says array\(int32, 2d, C"
        ):
            nothing[1, 1](other)


def test_an_address_is_that_of_the_devices_memory_or_of_somebody_elses_that_can_be_read():
    d = cuda.to_device(np.arange(12.0).reshape(3, 4))
    begin = d.device_ctypes_pointer.value
    owner, start = launching.pointed_at(begin + 95)
    assert start == 95 and owner is memory.owner_of(memory.array_of(d[1:]))
    with pytest.raises(ValueError, match="is in no array of the device that is still there"):
        launching.pointed_at(begin + 96)
    a = np.zeros((3, 4))
    begin = memory.address(a)
    assert memory.bounds(a[::-1, 1:3]) == (begin + 8, begin + 88)
    assert memory.bounds(a[:0]) == (begin, begin)
    assert memory.array_at(begin + 8, (2, 3), a.dtype, (32, 8)).shape == (2, 3)
    if os.name != "nt":
        with pytest.raises(ValueError, match=r"address 0x10 is not in this computer's memory: an array on a GPU"):
            memory.array_at(16, (4,), a.dtype)


def test_numbers_tuples_records_and_complex_numbers_are_passed_as_numba_passes_them():
    """A tuple of empty tuples, too: asked for lines, Numba divides by the size of one."""

    @cuda.jit
    def mixed(records, pair, z, half, yes, small, nothing, day):
        i = cuda.grid(1)
        if yes and i < records.size:
            records[i].x = pair[0] + z.imag + half
            records[i].n = twice(pair[1]) + small + 10 * len(nothing) + len(nothing[0]) + 100 * (day == day)

    records, day = np.zeros(3, [("x", "f4"), ("n", "i4")]), np.datetime64(5, "D")
    mixed[1, 32](records, (np.float32(1.5), 4), 1 + 2j, np.float16(0.25), True, np.int8(-1), ((), (), ()), day)
    assert records.tolist() == [(3.75, 137)] * 3


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
    longer = np.zeros(7, np.float32)
    said = r"line \d+: out of bounds: thread \(6, 0\) .* past the end of PRICES\b.*\n +out\[i\] = PRICES\[i\]"
    with pytest.raises(KernelError, match=said):
        sold[1, 32](longer)
    assert longer[:6].all(), "what the kernel stored before is there, as on a GPU"
    with pytest.raises(KernelError, match="PRICES is an argument of the kernel, and the kernel uses it by its global"):
        sold[1, 32](PRICES)
    with pytest.raises(
        KernelError, match=r"uses arrays of the device from outside: PRICES, corner\. Give it arguments"
    ):
        to_ptx.compiled_for(sold, out)
    PRICES = PRICES_BEFORE
    sold[1, 32](out)
    assert out.tolist() == [10] * 6, "the array is the same where nobody knows its name any more"


def test_what_no_gpu_launches_is_what_a_driver_says():
    bounded = cuda.jit(launch_bounds=64)(add.py_func)
    x = np.zeros(100, np.float32)
    with pytest.raises(cuda.cudadrv.driver.CudaAPIError, match=r"CUDA_ERROR_INVALID_VALUE.* 128 threads"):
        bounded[1, 128](x, x, x)
    with pytest.raises(ValueError, match=r"CUDA_ERROR_INVALID_VALUE.* 70,?000"):
        add[(1, 70_000), 1](x, x, x)
    with pytest.raises(ValueError, match="CUDA_ERROR_INVALID_VALUE: 49,156 bytes"):
        add[1, 1, 0, 49_156](x, x, x)
    add[1, 1, 0, 49_152](x, x, x)


def test_a_kernel_tells_its_memory_and_who_knows_its_registers():
    kernel = to_ptx.compiled_for(asks_twice, *EXAMPLE)
    assert (kernel.shared_mem_per_block, kernel.const_mem_size, kernel.max_threads_per_block) == (140, 0, 1024)
    text = ".const .align 8 .b8 T[32] = {1};\n.local .align 8 .b8 d[80];\n.local .b32 e[2];\n.shared .f32 s[3];\n"
    attributes = device.Attributes(text)
    assert (attributes.shared, attributes.const, attributes.local) == (12, 32, 88)
    with pytest.raises(NotImplementedError, match="regs: only NVIDIA's compiler knows it"):
        _ = kernel.regs_per_thread


def test_what_takes_too_long_says_what_can_be_done_here(monkeypatch):
    run = launching.Launch.run
    monkeypatch.setattr(launching.Launch, "run", lambda self: run(self, seconds=0.01))
    monkeypatch.setattr(settings.SETTINGS, "watch", "all")

    @cuda.jit
    def many_rounds(x):
        for i in range(10_000_000):
            x[0] += i

    with pytest.raises(KernelError, match=r"out of time: .* seconds .*; if it only takes long, launch fewer threads"):
        many_rounds[1, 1](np.zeros(1))


def test_with_debug_a_kernel_raises_with_the_threads_place_and_so_does_a_reshape_that_has_to_copy():
    @cuda.jit(debug=True, opt=False)
    def flat(A, out):
        view = A.reshape(A.size)
        i = cuda.threadIdx.x
        if i == 3 and out[i]:
            raise ValueError("three")
        out[i] = view[i]

    A, out = np.arange(24.0).reshape(4, 6), np.zeros(24)
    flat[1, 24](A, out)
    assert np.array_equal(out, A.ravel()), "numba_attempt_nocopy_reshape is no longer what reshape calls"
    with pytest.raises(ValueError, match=r"tid=\[0, 0, 3\] ctaid=\[0, 0, 0\]: three"):
        flat[1, 24](A, out)
    with pytest.raises(Exception, match="reshape"):
        flat[1, 12](cuda.to_device(A)[:, ::2], np.zeros(24))


def test_half_numbers_are_computed_with_as_numpy_does():
    @cuda.jit
    def of_halves(a, b, c, out, compared):
        i = cuda.grid(1)
        x, y = a[i], b[i]
        out[0, i], out[1, i], out[2, i], out[3, i], out[4, i] = x + y, x - y, x * y, x / y, -x
        out[5, i], out[6, i] = cuda.fp16.hfma(x, y, c[i]), cuda.fp16.hmax(x, y)
        out[7, i], out[8, i] = cuda.fp16.hmin(x, y), cuda.fp16.habs(x)
        compared[0, i], compared[1, i], compared[2, i] = x < y, x >= y, x != y

    a, b, c = np.random.default_rng(5).standard_normal((3, 64)).astype(np.float16)
    a[:4] = b[:4]
    out, compared = np.zeros((9, 64), np.float16), np.zeros((3, 64), bool)
    of_halves[1, 64](a, b, c, out, compared)
    once = (a.astype(np.float64) * b + c).astype(np.float16)  # a product and a sum are rounded once
    expected = [a + b, a - b, a * b, a / b, -a, once, np.maximum(a, b), np.minimum(a, b), np.abs(a)]
    assert np.array_equal(out, expected), "numba-cuda's functions for float16 have other names"
    assert np.array_equal(compared, [a < b, a >= b, a != b])


@pytest.mark.parametrize("seconds", [2.0, 0])  # watched, and natively
def test_a_function_that_leaves_both_of_its_results_by_pointers(seconds, monkeypatch):
    """Numba says that `__nv_sincos` gives a pointer back, too."""
    monkeypatch.setattr(launching, "WATCHED_SECONDS", seconds)

    @cuda.jit
    def both(x, sines, cosines):
        i = cuda.grid(1)
        sines[i], cosines[i] = libdevice.sincos(x[i])

    x, sines, cosines = np.arange(4.0), np.zeros(4), np.zeros(4)
    both[1, 4](x, sines, cosines)
    assert np.allclose(sines, np.sin(x), atol=1e-15) and np.allclose(cosines, np.cos(x), atol=1e-15)


def test_all_blocks_wait_for_each_other_and_one_that_does_not_come_is_told_at_its_line():
    @cuda.jit
    def reversed_whole(x, out, few):
        i = cuda.grid(1)
        x[i] += 1
        if cuda.blockIdx.x < few:
            cuda.cg.this_grid().sync()
        if few == 4:
            own = x[x.size - 1 - i]
            cuda.cg.this_grid().sync()
            x[i] = out[i] = own

    x, out = np.arange(128.0), np.zeros(128)
    reversed_whole[4, 32](x, out, 4)
    assert np.array_equal(out, np.arange(1, 129)[::-1]), "cudaCGSynchronize is no longer what grid.sync() calls"
    line = reversed_whole.py_func.__code__.co_firstlineno + 5
    said = rf"line {line}: divergent barrier: only 1 of the 4 blocks come here.*\n +cuda\.cg\.this_grid\(\)\.sync\(\)"
    with pytest.raises(KernelError, match=said):
        reversed_whole[4, 32](x, out, 1)


TABLE = np.arange(4.0)


def test_an_array_is_called_as_in_the_source_or_by_its_memory():
    @cuda.jit
    def beyond(out):
        As, Bs, mine = cuda.shared.array(4, float32), cuda.shared.array((2, 4), float32), cuda.local.array(4, float32)
        As[out.size], Bs[1, out.size], mine[out.size] = 1, 2, TABLE[out.size]
        out[0] = As[0] + Bs[0, 0] + mine[0]

    kernel = to_ptx.compiled_for(beyond, np.zeros(4))
    names = ["_cudapy_cmem", "__local_depot0", *to_ptx.shared_arrays(kernel)]
    assert all(name in to_ptx.text_of(kernel) for name in names), "Numba, or LLVM, has other names"
    said = to_ptx.with_names_of_source(kernel, " ".join([*names, "_cudapy_smem_99"]))
    assert said == "TABLE its local arrays As Bs a shared array"


def test_code_in_another_language_is_refused_in_words():
    for file, said in (("/tmp/more.cu", r"CUDA C\+\+ is linked by NVIDIA's tools"), ("<unnamed-cu>", "Use float32")):
        kernel = SimpleNamespace(_codelibrary=SimpleNamespace(_linking_files=[file]))
        with pytest.raises(KernelError, match=said):
            to_ptx.refuse_linked(kernel)


def test_what_is_refused_natively_stays_on_the_ptx_machine(monkeypatch, capsys):
    """Numba's guide, "Debugging CUDA Python": a kernel prints several things of several types."""
    monkeypatch.setattr(launching, "WATCHED_SECONDS", 0)

    @cuda.jit
    def tell(x, alike):
        i = cuda.grid(1)
        alike[i] = cuda.match_any_sync(0xFFFFFFFF, alike[i])
        if i < x.size:
            print(i, "holds", x[i], i == 1)

    for _ in range(2):
        alike = np.arange(32) % 3 << 40
        tell[1, 32](np.array([0.5, 1.5, 2.5]), alike)
        told = sorted(capsys.readouterr().out.splitlines())
        assert told == ["0 holds 0.500000 False", "1 holds 1.500000 True", "2 holds 2.500000 False"]
        assert (alike[:3] & 0xFFFFFFFF).tolist() == [0x49249249, 0x92492492, 0x24924924]


# ----------------------------------------------------------------------------------------------------- the host's side


def test_arrays_of_the_device_are_copied_and_cut(drawn):
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


def test_an_array_of_the_device_does_what_a_gpus_does_and_no_more():
    """The simulator's arrays add, and turn without a copy. On a GPU the first is a TypeError, the second a copy."""
    d = cuda.to_device(np.arange(6.0).reshape(2, 3))
    assert isinstance(d, cuda.cudadrv.devicearray.DeviceNDArray)
    with pytest.raises(TypeError, match="DeviceNDArray"):
        _ = d + d
    turned = d.T
    turned[0, 0] = 99
    assert turned.strides == (16, 8) and turned.copy_to_host()[1:].tolist() == [[1, 4], [2, 5]] and d[0, 0] == 0
    part = cuda.cudadrv.devicearray.DeviceNDArray((2,), (16,), np.float64, gpu_data=d[1].gpu_data)
    part[0] = 7
    assert part.copy_to_host().tolist() == [7, 5] and d.copy_to_host().tolist() == [[0, 1, 2], [7, 4, 5]]
    into = cuda.device_array((3, 2))
    assert transpose(d, into) is into and into.copy_to_host().tolist() == d.copy_to_host().T.tolist()
    assert d.transpose((0, 1)) is d and d.transpose((1, 0)).shape == (3, 2)
    with pytest.raises(NotImplementedError, match="non-2D"):
        cuda.device_array((2, 3, 4)).transpose()


def test_a_ufunc_repeats_what_is_shorter():
    @vectorize(["float64(float64, float64)"], target="cuda")
    def add_up(a, b):
        return a + b

    assert np.array_equal(add_up(np.arange(5.0), 2.0), np.arange(2.0, 7.0))


def test_each_kind_of_memory_can_be_given_to_a_kernel(drawn):
    a, b, _ = drawn
    for made in (cuda.pinned_array, cuda.mapped_array, cuda.managed_array):
        out = made(100, np.float32)
        out[:] = 0
        add[1, 128](a, b, out)
        assert np.array_equal(out, a + b)
        assert type(out).__name__ == {"pinned_array": "ndarray"}.get(made.__name__) or out.device_ctypes_pointer.value


def test_what_cuda_in_marks_is_not_copied_back(drawn):
    a, b, out = drawn
    add[1, 128](a, b, cuda.In(out))
    assert not out.any()
    add[1, 128](cuda.In(a), b, cuda.Out(out))
    assert np.array_equal(out, a + b)


class Foreign:
    """An array of another package's."""

    def __init__(self, interface):
        self.__cuda_array_interface__ = interface


def test_an_array_is_reached_by_its_cuda_array_interface(drawn):
    a, b, out = map(cuda.to_device, drawn)
    theirs, result = (Foreign(one.__cuda_array_interface__) for one in (a, out))
    add[1, 128](theirs, b, cuda.as_cuda_array(result))
    assert np.array_equal(out.copy_to_host(), drawn[0] + drawn[1])


def test_memory_that_is_somebody_elses_is_one_memory_where_two_arguments_overlap(monkeypatch):
    """As of a stand-in for CuPy by NumPy; on both roads."""

    @cuda.jit
    def through_both(x, y):
        x[2] = 5
        y[0] += 1

    for seconds in (2.0, 0):
        monkeypatch.setattr(launching, "WATCHED_SECONDS", seconds)
        a = np.arange(8.0)
        through_both[1, 1](*(Foreign(dict(part.__array_interface__, version=3)) for part in (a[:4], a[2:6])))
        assert a.tolist() == [0, 1, 6, 3, 4, 5, 6, 7]


def test_streams_and_events_do_nothing_and_tell_no_time(drawn):
    stream, begin, end = cuda.stream(), cuda.event(timing=True), cuda.event()
    begin.record(stream)
    with stream.auto_synchronize():
        add[1, 128, stream](*drawn)
    end.record(stream)
    end.synchronize()
    assert np.isnan(cuda.event_elapsed_time(begin, end)), "how long the PTX machine takes is no time of a GPU"
    assert int(cuda.external_stream(7).handle) == 7 and cuda.external_stream(7).external
    assert isinstance(stream, type(cuda.default_stream())) and np.array_equal(drawn[2], drawn[0] + drawn[1])


def test_questions_about_the_device_are_answered_honestly(capsys):
    assert cuda.is_available() and cuda.detect()
    assert "No NVIDIA GPU" in capsys.readouterr().out
    assert len(cuda.gpus) == len(cuda.list_devices()) == 1 and "no GPU" in repr(cuda.get_current_device())
    assert cuda.get_current_device().compute_capability == (8, 0)
    assert cuda.current_context().get_memory_info()[1] > 2**28
    assert cuda.current_context().get_active_blocks_per_multiprocessor(None, 256, 0) == 8
    with cuda.gpus[0], cuda.profiling():
        assert cuda.gpus.current.MAX_THREADS_PER_MULTI_PROCESSOR == 2048 and cuda.gpus.lst == list(cuda.gpus)
    with pytest.raises(AttributeError, match="TEXTURE_ALIGNMENT: the PTX machine stands for a GPU"):
        _ = cuda.get_current_device().TEXTURE_ALIGNMENT
    with pytest.raises(AttributeError, match="get_ipc_handle of a context: there is no NVIDIA GPU"):
        cuda.current_context().get_ipc_handle(None)
    with pytest.raises(cuda.CudaSupportError, match="there is no NVIDIA GPU, and so no driver"):
        cuda.cudadrv.driver.driver.cuDriverGetVersion()
    with pytest.raises(ValueError, match="device 1: there is one device, number 0"):
        cuda.select_device(1)
