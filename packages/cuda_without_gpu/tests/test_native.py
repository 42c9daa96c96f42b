"""Kernels at native speed: what runs so is right, what does not is refused before anything runs, and when that is."""

import math
import os
from types import SimpleNamespace

import numpy as np
import pytest
from llvmlite import ir
from numba import cuda, float32, float64, int32, types, uint32
from numba.core import cgutils
from numba.cuda.extending import intrinsic

from cuda_without_gpu import (
    KernelError,
    NotNative,
    emit_spirv,
    in_child,
    kept,
    launching,
    native,
    settings,
    shared_memory,
    to_ptx,
    to_spirv,
)
from cuda_without_gpu.errors import MayMissBarrier, OutOfTime
from cuda_without_gpu.native_child import context_and_queue

TILE, WIDE = 16, 64
FOUR, VECTOR = types.UniTuple(types.float32, 4), ir.VectorType(ir.FloatType(), 4)


@pytest.fixture(autouse=True, scope="module")
def device():
    """The context and the queue of the device."""
    try:
        to_spirv.refuse_old_llvm()
        return context_and_queue()
    except NotNative as why:
        pytest.skip(str(why))


@pytest.fixture(autouse=True)
def nothing_kept_yet(monkeypatch, tmp_path):
    monkeypatch.setenv("CUDA_WITHOUT_GPU_CACHE", str(tmp_path))
    monkeypatch.setattr(settings.SETTINGS, "watch", "first")


@pytest.fixture
def natively(monkeypatch):
    """Each launch runs natively, and fails where it would not."""
    monkeypatch.setattr(launching, "WATCHED_SECONDS", 0)
    monkeypatch.setattr(launching.Launch, "take", lambda self, run, why: pytest.fail(why))


@intrinsic
def load4(typing_context, array, row, col):
    def generate(context, builder, signature, arguments):
        made = context.make_array(signature.args[0])(context, builder, arguments[0])
        index = [
            context.cast(builder, value, given, types.intp)
            for value, given in zip(arguments[1:], signature.args[1:], strict=True)
        ]
        element = cgutils.get_item_pointer(context, builder, signature.args[0], made, index, wraparound=False)
        vector = builder.load(builder.bitcast(element, VECTOR.as_pointer()))
        vector.align = 16
        numbers = [builder.extract_element(vector, ir.Constant(ir.IntType(32), n)) for n in range(4)]
        return context.make_tuple(builder, FOUR, numbers)

    return FOUR(array, row, col), generate


@cuda.jit
def product(A, B, C):
    """C = A.T @ B by one block; each thread sums 4 x 4 elements, for which it loads fours of A and of B at once."""
    As = cuda.shared.array((TILE, WIDE), float32, alignment=16)
    Bs = cuda.shared.array((TILE, WIDE), float32, alignment=16)
    tx, ty = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
    a, b, c = cuda.local.array(4, float32), cuda.local.array(4, float32), cuda.local.array((4, 4), float32)
    for i in range(4):
        for j in range(4):
            c[i, j] = 0
    for k0 in range(0, A.shape[0], TILE):
        for i in range(4):
            As[ty, tx + TILE * i] = A[k0 + ty, tx + TILE * i]
            Bs[ty, tx + TILE * i] = B[k0 + ty, tx + TILE * i]
        cuda.syncthreads()
        for k in range(TILE):
            a[0], a[1], a[2], a[3] = load4(As, k, ty * 4)
            b[0], b[1], b[2], b[3] = load4(Bs, k, tx * 4)
            for i in range(4):
                for j in range(4):
                    c[i, j] += a[i] * b[j]
        cuda.syncthreads()
    for i in range(4):
        for j in range(4):
            C[ty * 4 + i, tx * 4 + j] = c[i, j]


EXAMPLE = (np.zeros((1, 1), np.float32),) * 3
BLOCK = TILE, TILE


@pytest.fixture(scope="module")
def compiled():
    """LLVM's texts of `product`, and its name in them."""
    kernel = to_ptx.compiled_for(product, *EXAMPLE)
    return to_ptx.whole(list(kernel._codelibrary.llvm_strs)), kernel.entry_name


def test_a_product_is_right_on_buffers_of_the_device(device):
    import pyopencl as cl

    context, queue = device
    made = native.compile_native(product, *EXAMPLE, block=BLOCK)
    kernel = made.build(context).all_kernels()[0]
    A, B = np.random.default_rng(1).integers(-8, 9, (2, 48, WIDE)).astype(np.float32)
    C = np.full((WIDE, WIDE), np.nan, np.float32)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffers = [cl.Buffer(context, flags, hostbuf=X) for X in (A, B, C)]
    arrays = zip(buffers, (A, B, C), strict=True)
    made.set_args(kernel, [one for buffer, X in arrays for one in native.flat_array(buffer, X.shape, X.dtype)])
    cl.enqueue_nd_range_kernel(queue, kernel, (*BLOCK, 1), (*BLOCK, 1))
    cl.enqueue_copy(queue, C, buffers[2])
    assert np.array_equal(C, A.T @ B)


def test_each_pass_still_finds_its_text(compiled):
    """What the device needs to see is written as LLVM writes it today; a rung of the course is slow without."""
    _, _, found = to_spirv.spirv_of(*compiled, (*BLOCK, 1))
    lost = {"fours", *(one.__name__ for one in emit_spirv.PASSES[1:])} - set(found)
    assert not lost, f"LLVM writes otherwise what these look for: {lost}. Look at the examples in emit_spirv.py"


# ----------------------------------------------------------------------------------------------------- what CUDA has


def warps(x, out):
    i = cuda.threadIdx.x
    own = x[i]
    sum_of = own
    step = 16
    while step:
        sum_of += cuda.shfl_xor_sync(0xFFFFFFFF, sum_of, step)
        step //= 2
    sum_of += cuda.shfl_up_sync(0xFFFFFFFF, own, 3) + cuda.shfl_down_sync(0xFFFFFFFF, own, 2)
    sum_of += cuda.ballot_sync(0xFFFFFFFF, i % 3 == 0) % 1024 + cuda.laneid + cuda.warpsize
    sum_of += 2 * cuda.all_sync(0xFFFFFFFF, i < 32) + cuda.any_sync(0xFFFFFFFF, i == 5)
    sum_of += cuda.shfl_sync(0xFFFFFFFF, own, 31 - cuda.laneid) + 4 * cuda.eq_sync(0xFFFFFFFF, own < 99)
    cuda.syncwarp()
    if i % 2:  # which LLVM would make one, for all threads
        sum_of += cuda.activemask() & 0xFF
    else:
        sum_of -= cuda.activemask() & 0xFF
    out[cuda.grid(1)] = sum_of


def block_wide(x, out):
    i = cuda.threadIdx.x
    count = cuda.syncthreads_count(i % 3) + 100 * cuda.syncthreads_and(int32(i < 63))
    out[cuda.grid(1)] = count + 200 * cuda.syncthreads_or(int32(i == 3))
    cuda.threadfence()


def dynamic_shared(x, out):
    a, b = cuda.shared.array(0, float32), cuda.shared.array(0, int32)
    i = cuda.threadIdx.x
    a[i] = x[i]
    cuda.syncthreads()
    out[cuda.grid(1)] = a[63 - i] + a.size + b[0]


def atomics(x, out):
    i = cuda.grid(1) % 4
    cuda.atomic.add(out, i, x[i])
    cuda.atomic.max(out, 4 + i, x[cuda.threadIdx.x])
    cuda.atomic.min(out, 8 + i, -x[cuda.threadIdx.x])
    cuda.atomic.sub(out, 12 + i, 1)


def atomics_of_integers(x, out):
    i = cuda.grid(1) % 4
    cuda.atomic.inc(out, i, 100)
    cuda.atomic.dec(out, 4 + i, 7)
    cuda.atomic.xor(out, 8 + i, x[cuda.threadIdx.x])
    cuda.atomic.compare_and_swap(out[12:], 0, 3)


def one_of_two(x, out):
    a, b, rows = cuda.shared.array(64, float32), cuda.shared.array(64, float32), cuda.shared.array((2, 64), float32)
    i = cuda.threadIdx.x
    for turn in range(x.size // 32):
        which, row = (a, rows[0]) if turn % 2 else (b, rows[1])
        which[i], row[i] = x[i] + turn, x[i] * turn
        cuda.syncthreads()
        out[cuda.grid(1)] += which[63 - i] + 10 * row[63 - i] * turn


def functions(x, out):
    i = cuda.grid(1)
    a = x[i]
    mantissa, exponent = math.frexp(a)
    fraction, whole = math.modf(3 * a)
    out[i] = math.sin(a) + math.exp(a) + math.sqrt(a) + math.pow(a, a) + math.atan2(a, a) + math.erf(a) + math.tanh(a)
    out[i] += math.fmod(a, 0.3) + math.hypot(a, 1) + math.log1p(a) + math.gamma(a + 1) + math.floor(a) + a**3
    out[i] += mantissa + exponent + fraction + 10 * whole + math.ldexp(a, 2) + math.isnan(a) + math.isinf(a)
    out[i] += cuda.fma(a, a, 1) + math.degrees(a)


def bits(x, out):
    i = cuda.grid(1)
    out[i] = (
        cuda.popc(x[i]) + 100 * cuda.clz(x[i]) + 10000 * cuda.ffs(x[i]) + (cuda.brev(x[i]) & 1) + x[i] // 3 + x[i] % 7
    )


def private(x, out):
    own = cuda.local.array(5, float64)
    i = cuda.grid(1)
    for j in range(5):
        own[j] = i * j
    out[i] = own[(i + 3) % 5] + x[::-1][i] + x.reshape(8, 16)[i // 16, i % 16]


def halves(x, out):
    i = cuda.grid(1)
    y = x[127 - i]
    out[i] = cuda.fp16.hfma(x[i] * y + x[i], y, np.float16(1)) - cuda.fp16.hmax(x[i], y)
    if x[i] < y and x[i] != np.float16(i):
        out[i] = np.float16(float64(y) / 3) - np.float16(float32(out[i]) * 2)


@pytest.mark.parametrize(
    "function, kind",
    [
        (warps, np.int32),
        (block_wide, np.int32),
        (dynamic_shared, np.float32),
        (one_of_two, np.float32),
        (atomics, np.float32),
        (atomics, np.float64),
        (atomics_of_integers, np.uint32),
        (functions, np.float32),
        (functions, np.float64),
        (bits, np.int32),
        (bits, np.int64),
        (private, np.float64),
        (halves, np.float16),
    ],
)
def test_what_numba_has_is_there_natively_as_on_the_ptx_machine(function, kind, natively, monkeypatch):
    kernel = cuda.jit(function)
    x = (np.arange(1, 129) if np.dtype(kind).kind in "iu" else np.random.default_rng(1).random(128) + 0.1).astype(kind)
    out, expected = np.zeros(128, kind), np.zeros(128, kind)
    kernel[2, 64, 0, 256](x, out)
    monkeypatch.undo()
    monkeypatch.setattr(settings.SETTINGS, "watch", "all")
    kernel[2, 64, 0, 256](x, expected)
    np.testing.assert_allclose(out, expected, rtol=1e-5 if kind == np.float32 else 1e-12)


def test_each_number_is_given_in_the_kernels_type():
    given = {}
    kernel = SimpleNamespace(set_arg=given.__setitem__)
    native.NativeKernel(b"", ("ptr", "i1", "float", "i64")).set_args(kernel, [None, True, 1.5, 7])
    assert [type(value) for value in given.values()] == [type(None), np.int8, np.float32, np.int64]


def prints(x):
    print(x[0])


def shuffles(x):
    x[0] = cuda.shfl_xor_sync(0xFFFFFFFF, x[0], 1)


@pytest.mark.parametrize(
    "function, options, block, words",
    [
        (prints, {}, (32,), "not there natively: print$"),
        (shuffles, {}, (16,), "no whole number of warps"),
        (shuffles, {}, (16, 4), "no whole number of warps"),
        (shuffles, {"debug": True, "opt": False}, (32,), "debug=True"),
    ],
)
def test_what_is_not_there_is_refused_in_a_line(function, options, block, words):
    with pytest.raises(NotNative, match=f"^[^\n]*{words}"):
        native.compile_native(cuda.jit(**options)(function), np.zeros(32, np.int32), block=block)


def test_an_llvmlite_without_spirv_is_named(monkeypatch):
    monkeypatch.setattr(emit_spirv, "TRIPLE", "no_such_machine")
    with pytest.raises(NotNative, match=r"llvmlite [\d.]+ has no back end for SPIR-V"):
        to_spirv.refuse_old_llvm.__wrapped__()


# ----------------------------------------------------------------------------------------------------- barriers


def branch_by_block(x, n):
    if cuda.blockIdx.x == 0:
        x[cuda.threadIdx.x] += 1
        cuda.syncthreads()
        x[127 - cuda.threadIdx.x] += 1


def early_return_by_size(x, n):
    if cuda.grid(1) >= x.size:
        return
    cuda.syncthreads()
    x[cuda.grid(1)] += 1


def loop_that_threads_leave_apart(x, n):
    rounds = 0
    while True:
        cuda.syncthreads()
        rounds += 1
        if rounds > n[cuda.threadIdx.x]:
            return


def rounds_chosen_by_thread(x, n):
    rounds = 3
    if cuda.threadIdx.x > 5:
        rounds = n[4]
    for _ in range(rounds):
        cuda.syncthreads()
        x[cuda.grid(1)] += 1


def rounds_chosen_alike(x, n):
    if cuda.threadIdx.x > 5:
        x[cuda.grid(1)] += 1
    rounds = 3
    if n[3] > 5:
        rounds = n[4]
    for _ in range(rounds):
        cuda.syncthreads()
        x[cuda.grid(1)] += 1


@pytest.mark.parametrize(
    "function, size, missed",
    [
        (branch_by_block, 128, False),
        (early_return_by_size, 128, False),
        (early_return_by_size, 100, True),
        (loop_that_threads_leave_apart, 128, True),
        (rounds_chosen_by_thread, 128, True),
        (rounds_chosen_alike, 128, False),
    ],
)
def test_a_barrier_that_some_threads_may_miss_is_refused_and_others_run(function, size, missed):
    x, n = np.zeros(size, np.float32), np.arange(128)
    kernel = to_ptx.compiled_for(cuda.jit(function), x, n)
    flat = [None, None, size, 4, x, size, 4, None, None, 128, 8, n, 128, 8]
    launch = kernel, (64, 1, 1), 0, (2, 1, 1), flat
    if missed:
        with pytest.raises(MayMissBarrier):
            native.native_for_launch(*launch)
    else:
        assert native.native_for_launch(*launch)


# ----------------------------------------------------------------------------------------------------- when it runs so


def plain_add(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += x[i]


def test_launches_are_watched_for_two_seconds_together(monkeypatch):
    launched = []
    monkeypatch.setattr(launching, "launch_in_child", lambda *given: launched.append(given[2:4]))
    add, x, y = cuda.jit(plain_add), np.ones(64, np.float32), np.zeros(64, np.float32)
    add[1, 64](x, y)
    add[1, 64](x, y)
    assert not launched and y[0] == 2
    ((past,),) = (blocks.values() for blocks in (one._pasts for one in add.overloads.values()))
    assert past.seconds > 0
    past.seconds = launching.WATCHED_SECONDS
    add[1, 64](x, y)
    assert launched == [((1, 1, 1), (64, 1, 1))]
    add[2, 32](x, y)
    assert y[0] == 3, "another block is another kernel to the device, and is watched first"
    monkeypatch.setattr(settings.SETTINGS, "watch", "all")
    add[1, 64](x, y)
    assert y[0] == 4 and len(launched) == 1


def test_where_no_device_takes_spirv_all_stays_on_the_ptx_machine(monkeypatch):
    monkeypatch.setattr(launching, "WATCHED_SECONDS", 0)
    monkeypatch.setattr(in_child, "CHILDREN", {})
    monkeypatch.setenv("OCL_ICD_VENDORS", "no such folder")
    add, x, y = cuda.jit(plain_add), np.ones(64, np.float32), np.zeros(64, np.float32)
    add[1, 64](x, y)
    assert y[0] == 1
    ((past,),) = (blocks.values() for blocks in (one._pasts for one in add.overloads.values()))
    assert "no OpenCL" in past.refused


def test_a_first_launch_that_is_too_long_is_watched_in_some_blocks(monkeypatch):
    """The last block reads behind the array: nothing runs natively."""

    def beyond(x, y):
        y[cuda.grid(1)] = x[cuda.grid(1) + 1]

    run, out_of_time = launching.Launch.run, SimpleNamespace(findings=[SimpleNamespace(kind="out of time")])

    def too_long(self, seconds, blocks=None):
        return run(self, seconds, blocks) if blocks else out_of_time

    monkeypatch.setattr(launching.Launch, "run", too_long)
    monkeypatch.setattr(launching, "launch_in_child", lambda *given: pytest.fail("it ran"))
    x, y = np.zeros(1024, np.float32), np.zeros(1024, np.float32)
    with pytest.raises(KernelError, match="out of bounds"):
        cuda.jit(beyond)[16, 64](x, y)


def test_a_crash_is_an_error_of_the_launch_and_the_next_one_runs(natively):
    @cuda.jit
    def far(x, place):
        x[place] = 1

    x = cuda.to_device(np.zeros(64, np.float32))
    far[1, 1](x, 3)  # a first launch that does not fit is watched in some blocks
    with pytest.raises(KernelError, match=r"ended its process \(SIGSEGV\).*watch"):
        far[1, 1](x, 1 << 40)
    far[1, 1](x, 4)
    assert list(x.copy_to_host()[3:6]) == [1, 1, 0]


def test_a_hang_is_an_error_of_the_launch(natively, monkeypatch):
    @cuda.jit
    def for_ever(x):
        while x[0] < 1:
            cuda.threadfence()
            x[1] += 1

    x = cuda.to_device(np.zeros(2, np.float32))
    monkeypatch.setattr(settings.SETTINGS, "seconds", 0.5)
    with pytest.raises(OutOfTime, match=r"after 0.5 s"):
        for_ever[1, 1](x)


def test_large_arrays_of_the_device_are_not_copied_for_a_launch(natively, monkeypatch):
    add = cuda.jit(plain_add)
    size = shared_memory.SMALL
    x, y = cuda.to_device(np.ones(size, np.float32)), cuda.device_array(size, np.float32)
    y[:] = 0
    monkeypatch.setattr(in_child, "shared_bytes", lambda nbytes: pytest.fail("copied"))
    add[size // 64, 64](x, y)
    add[size // 128, 64](x[size // 2 :], y[size // 2 :])
    assert np.array_equal(y.copy_to_host(), np.repeat([1, 2], size // 2))


def test_memory_of_a_device_array_is_given_back():
    before = len(shared_memory.SHARED)
    x = cuda.device_array(shared_memory.SMALL, np.float32)
    assert len(shared_memory.SHARED) == before + 1
    del x
    assert len(shared_memory.SHARED) == before


def test_events_tell_the_time_of_native_launches(natively):
    add, x = cuda.jit(plain_add), cuda.to_device(np.ones(64, np.float32))
    add[1, 64](x, x)
    add[1, 64](np.zeros(0, np.float32), np.zeros(0, np.float32))  # what has no elements lies somewhere, too
    begin, end = cuda.event(), cuda.event()
    begin.record()
    add[1, 64](x, x)
    end.record()
    assert 0 < cuda.event_elapsed_time(begin, end) < math.inf


# ----------------------------------------------------------------------------------------------------- kept on disk


def test_what_was_compiled_is_found_on_disk_whatever_number_numba_gives_the_kernel(monkeypatch):
    x = np.ones(64, np.float32)
    first = native.compile_native(cuda.jit(plain_add), x, x, block=(64,))
    monkeypatch.setattr(to_spirv, "spirv_of", lambda *given: pytest.fail("compiled again"))
    assert native.compile_native(cuda.jit(plain_add), x, x, block=(64,)) == first
    for others in (dict(block=(32,)), dict(block=(64,), shared=8)):
        with pytest.raises(pytest.fail.Exception, match="compiled again"):
            native.compile_native(cuda.jit(plain_add), x, x, **others)
    with pytest.raises(pytest.fail.Exception, match="compiled again"):
        native.compile_native(cuda.jit(plain_add), x.astype(np.float64), x, block=(64,))


def test_of_all_that_is_kept_what_was_used_last_stays_and_so_does_what_is_somebody_elses(tmp_path):
    keys = [f"{number:064}" for number in range(2000)]
    for age, name in enumerate(["notes", *keys]):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (age, age))
    kept.keep("n" * 64, b"made")
    assert {one.name for one in tmp_path.iterdir()} == {"notes", "n" * 64, *keys[1:]}
