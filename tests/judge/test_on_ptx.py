"""CUDA kernels of one's own with no GPU: what passes, what Numba refuses, what the PTX machine finds."""

import pytest
from compiled_here import NAIVE, TILES, said
from numba import cuda, float32

from helpers import check, cuda_kernel, ladder
from helpers.judge.on_ptx import try_on_ptx, try_there
from helpers.launch import CudaKernel
from helpers.sandbox import in_child


def test_right_kernels_pass_in_each_style():
    wrong = {label: what for label, what in said("right").items() if not what[0]}
    assert not wrong and len(said("right")) == len(NAIVE["right"])


@pytest.mark.bulk
def test_the_rungs_pass_at_the_sizes_of_a_gpu():
    assert all(what[0] for what in said("rungs").values()), said("rungs")
    assert len(said("rungs")) == sum(not ladder.STEPS[step].capability for step in ladder.steps("CUDA"))


REFUSED = {
    "return acc": ("a kernel returns nothing", "return acc"),
    "try": ("catches no exceptions", "try:"),
    "try, by name": ("catches no exceptions", "try:"),
    "float64": ("float32 with two dimensions", '@cuda.jit("void(float64'),
    "Fortran": ("C-contiguous", '@cuda.jit("void(float32[::1'),
    "a shape known at run time": (
        "must be known when the kernel is compiled",
        "s = cuda.shared.array((n, n), float32)",
    ),
    "Python's int": ("a type of Numba's", "s = cuda.shared.array((4, 4), int)"),
    "a flat index": ("A has two dimensions: write A[row, column]", "acc += A[row * A.shape[1] + k] * B[k, col]"),
    "np.zeros": ("cannot make lists or arrays", "s = np.zeros(4)"),
    "three indices": ("an array of 2 dimensions takes 2 indices, not 3", "acc += A[row, k, 0]"),
    "an index with a fraction": ("here it is float64: divide with //", "acc += A[row, k / 1]"),
    "one number for two": ("write cuda.grid(2) for two", "row, col = cuda.grid(1)"),
    "njit": ("Write @cuda.jit above the kernel", "@njit"),
    "a plain function that is called": ("times is a plain function of Python", "acc += times("),
    "math.fsum": ("there is no fsum in a kernel", "acc += math.fsum"),
    "ravel": ("A.reshape(A.size) is a view", "a, b = A.ravel(), B"),
    "a shape that is a product": (
        "A sum or a product needs such a name",
        "s = cuda.shared.array(SIDE * SIDE, float32)",
    ),
    "a function that calls itself": ("calls itself does not compile: write a loop", "@cuda.jit(device=True)"),
    "a name set in a condition": ("not by := inside a condition", "if (rows := "),
    "an f-string": ("a kernel makes no text", "print(f'{row}')"),
    "np.dot": ("has no products of whole rows", "acc += np.dot"),
    "a row by a column": ("has no products of whole rows", "C[row, col] = A[row, :] @"),
    "an endless loop in a loop": ("as where nothing in it changes i", "while i < 4:"),
    "two arguments": ("three arguments, A, B and C", "def product(A, C):"),
}


@pytest.mark.parametrize("label", REFUSED)
def test_what_numba_refuses_is_told_with_its_line_and_a_remedy(label):
    right, kind, message, lines = said("refused")[label]
    words, line = REFUSED[label]
    assert not right and kind == "does not compile"
    assert words in message
    assert len(lines) == 1 and lines[0].startswith(line)


def test_more_local_memory_than_a_gpu_has_is_refused_before_it_is_taken():
    source = NAIVE["right"]["fastmath"].replace(
        "    row, col", "    big = cuda.local.array(536870912, float32)\n    row, col"
    )
    source = source.replace("acc += A[row, k]", "big[k] = A[row, k]\n            acc += big[k]")
    report = check(cuda_kernel(source, like="naive", BM=4, BN=4))
    assert [finding.kind for finding in report.findings] == ["too much memory"] and "2,147,483,648" in repr(report)


FOUND = {
    "an int counter never set": ("uninitialised", "at = cuda.local.array(1, int32)"),
    "set in one branch": ("uninitialised", "if row: acc = float32(0)"),
    "no guard": ("out of bounds", "acc += A[row, k] * B[k, col]"),
    "a NaN of its own": ("not a number", None),
    "a flat store": ("wrong index", "C[row * C.shape[1] + col] = acc"),
    "a row stored": ("wrong index", "C[row] = acc"),
    "writes to A": ("writes to an input", "A[row, 0] = acc"),
    "every thread stores all": ("blocks overlap", None),
    "an endless loop": ("hang", "while k < A.shape[1]:"),
    "blocks one too close": ("blocks overlap", None),
    "first barrier": ("race", "acc += As[ty, k] * Bs[k, tx]"),
    "second barrier": ("race", "acc += As[ty, k] * Bs[k, tx]"),
    "a tile never staged": ("uninitialised", "acc += As[ty, k] * Bs[k, tx]"),
    "early return": ("divergent barrier", "cuda.syncthreads()"),
}


@pytest.mark.parametrize("label", FOUND)
def test_what_the_machine_sees_has_the_name_and_the_line_of_the_source(label):
    right, kind, message, lines = said("found")[label]
    assert not right and kind == FOUND[label][0], message
    assert FOUND[label][1] in (lines or [None])
    assert "smem" not in message and "PTX" not in message


def test_each_kernel_has_its_expectation():
    assert set(REFUSED) == set(NAIVE["refused"])
    assert set(FOUND) == {*NAIVE["found"], *TILES["found"]}


@pytest.mark.parametrize("group, label", [("found", "no guard"), ("refused", "np.zeros")])
def test_a_child_says_the_same_as_it_does_for_a_process_with_a_gpu(group, label):
    k = cuda_kernel(NAIVE[group][label], like="naive", BM=4, BN=4)
    there = in_child(k, try_there, own=True, source=k.source, given=[(5, 6, 7)])
    assert there.value == try_on_ptx(k, [(5, 6, 7)]) and there.value.findings


class OnGPU(CudaKernel):
    """Stands for a kernel of a process with a GPU: a child tries it on the PTX machine before it runs here."""

    untimed = False


@cuda.jit
def right(A, B, C):
    row, col = cuda.grid(2)
    if row < C.shape[0] and col < C.shape[1]:
        acc = float32(0)
        for k in range(A.shape[1]):
            acc += A[row, k] * B[k, col]
        C[row, col] = acc


@pytest.mark.parametrize(
    "jit, message",
    [
        (cuda.jit, None),
        (cuda.jit(fastmath=True, max_registers=64), None),
        (cuda.jit("void(float32[:, ::1], float32[:, ::1], float32[:, ::1])"), None),
        (cuda.jit("void(float64[:, ::1], float64[:, ::1], float64[:, ::1])"), "the kernel's signature does not fit"),
    ],
    ids=["plain", "options", "a signature", "one that does not fit"],
)
def test_where_there_is_a_gpu_a_check_hears_of_what_jit_was_told(jit, message):
    k = cuda_kernel(jit(right.py_func), like="naive", BM=4, BN=4)
    k.__class__ = OnGPU
    report = check(k, [(5, 6, 7), (9, 9, 9)])
    assert bool(report) == (message is None) and (message or "is right") in str(report)


def test_a_counter_of_8_bits_shows_in_a_kernel_whose_tile_is_typed():
    source = """from numba import cuda, float32, uint8

@cuda.jit
def mine(A, B, C):
    As = cuda.shared.array((8, 8), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, col = cuda.blockIdx.y * 8 + ty, cuda.blockIdx.x * 8 + tx
    acc, t = float32(0), uint8(0)
    for rounds in range((A.shape[1] + 7) // 8):
        As[ty, tx] = A[row, t * 8 + tx] if row < C.shape[0] and t * 8 + tx < A.shape[1] else float32(0)
        cuda.syncthreads()
        for k in range(8):
            if t * 8 + k < A.shape[1] and col < C.shape[1]:
                acc += As[ty, k] * B[t * 8 + k, col]
        cuda.syncthreads()
        t = uint8(t + 1)
    if row < C.shape[0] and col < C.shape[1]:
        C[row, col] = acc
"""
    assert not check(cuda_kernel(source, like="tiled", TILE=8))
    assert check(cuda_kernel(source.replace("uint8", "int32"), like="tiled", TILE=8))
