"""CUDA kernels of one's own with no GPU: what passes, what Numba refuses, what the PTX machine finds."""

from functools import partial

import pytest
from few import SMALL
from numba import cuda, float32

from helpers import check, cuda_kernel
from helpers.checking.cuda import CudaProduct, on_the_machine
from helpers.child import in_child
from helpers.launch.on_cuda import CudaKernel
from kernel_judge import on_ptx
from kernel_judge.moves import multiply, watch
from kernel_judge.words import CHINESE, spelled

HEAD = "from numba import cuda, float32, int32\nimport math\nimport numpy as np\n\n"
START = "@cuda.jit{options}\ndef product(A, B, C):\n    row, col = cuda.grid(2)\n"
GUARD = "    if row < C.shape[0] and col < C.shape[1]:\n"
SUM = "        acc = float32(0)\n        for k in range(A.shape[1]):\n            acc += {term}\n"
TERM, STORE = "A[row, k] * B[k, col]", "        C[row, col] = acc\n"
SHAPES = [(1, 1, 1), (5, 6, 7), (9, 10, 33)]
TIMES = "def times(a, b):\n    return a * b\n\n"
DEVICE = "@cuda.jit(device=True)\n"


def naive(term=TERM, store=STORE, guard=GUARD, total=None, before="", options="", above=""):
    """Source of a kernel that computes an element a thread, in one way or another."""
    total = SUM.format(term=term) if total is None else total
    return HEAD + above + START.format(options=options) + before + guard + total + store


def sliced(row, column, term):
    return naive(total=f"        a, b = {row}, {column}\n" + SUM.format(term=term))


def inside(text):
    """Lines of the body of the guard."""
    return "".join(f"        {line}\n" for line in text.splitlines())


def edited(step, *edits):
    """The step's source with those edits."""
    source = cuda_kernel(step).source
    for old, new in edits:
        assert old in source, old
        source = source.replace(old, new, 1)
    return source


def judged(source, like="naive", shapes=SHAPES):
    """(right, the first finding's kind, its message, text of its lines); what building raised is a kind."""
    try:
        report = check(cuda_kernel(source, like=like, **SMALL[like]), shapes)
    except Exception as error:
        return False, type(error).__name__, str(error), []
    if report:
        return True, "", "", []
    first, lines = report.findings[0], source.splitlines()
    assert spelled(CHINESE, first.key, first.values) != first.message, "this is said in English only"
    return False, first.kind, first.message, [lines[line - 1].strip() for line in first.lines]


AT = "cuda.local.array(1, int32)"
COUNTED = inside(
    "acc = float32(0)\n{set}while at[0] < A.shape[1]:\n    acc += A[row, at[0]] * B[at[0], col]\n    at[0] += 1"
)
RIGHT = {
    "slices": sliced("A[row, :]", "B[:, col]", "a[k] * b[k]"),
    "B.T": naive("A[row, k] * B.T[col, k]"),
    "enumerate": naive(total=inside("acc = float32(0)\nfor k, a in enumerate(A[row]):\n    acc += a * B[k, col]")),
    "a function beside it": naive("times(A[row, k], B[k, col])", above=DEVICE + TIMES),
    "a plain function beside it": naive(above=TIMES),
    "lineinfo": naive(options="(lineinfo=True)"),
    "debug": naive(options="(debug=True, opt=False)"),
    "a signature": naive(options='("void(float32[:, :], float32[:, :], float32[:, :])")'),
    "a counter of its own, set": naive(total=COUNTED.format(set="at[0] = 0\n        "), before=f"    at = {AT}\n"),
    "threads beyond the edge do another's work again": naive(
        before="    row, col = min(row, C.shape[0] - 1), min(col, C.shape[1] - 1)\n"
    ),
    "the sum is kept in C": naive(
        total="        C[row, col] = 0\n" + SUM.format(term=TERM).replace("acc +=", "C[row, col] +="), store=""
    ),
    "the sum is a float64": naive(total=SUM.format(term=TERM).replace("float32(0)", "0.0")),
}


@pytest.mark.parametrize("source", RIGHT.values(), ids=RIGHT)
def test_a_right_kernel_passes_in_each_style(source):
    assert judged(source)[0], judged(source)


# What Numba refuses: the source, words of the message, the line. tests/launch/test_refusals.py has what is said.
REFUSED = {
    "a line that Numba names": (naive(store=STORE + "        return acc\n"), "a kernel returns nothing", "return acc"),
    "a line that Numba has in hand": (
        naive("A[row * A.shape[1] + k] * B[k, col]"),
        "write A[row, column]",
        "acc += A[row * A.shape[1] + k] * B[k, col]",
    ),
}


@pytest.mark.parametrize("source, words, line", REFUSED.values(), ids=REFUSED)
def test_what_numba_refuses_is_told_with_its_line(source, words, line):
    right, kind, message, lines = judged(source)
    assert not right and kind == "does not compile" and words in message, (kind, message)
    assert len(lines) == 1 and lines[0].startswith(line)


SYNC = "cuda.syncthreads()"
ODD = (
    ("    @cuda.jit\n    def kernel", "    ODD = THREADS + 1\n\n    @cuda.jit\n    def kernel"),
    ("        As = cuda", "        ones = cuda.shared.array(ODD, float32)\n        As = cuda"),
    ("        k0 = 0\n", "        ones[thread] = 1\n        k0 = 0\n"),
    ("C[row, col] = acc[i, j]", "C[row, col] = acc[i, j] * ones[thread]"),
)
NOT_ALIGNED = tuple((f"{side}, float32, alignment=16)", f"{side}, float32)") for side in ("(BK, WIDE)", "(BK, BN)"))
ADDS_TO_ONE = """from numba import cuda

@cuda.jit
def kernel(A, B, C):
    row, col = cuda.grid(2)
    if row < C.shape[0] and col < C.shape[1]:
        C[row, col] = 0
    cuda.syncthreads()
    other = row + 1 - 2 * (cuda.threadIdx.x % 2)
    for k in range(A.shape[1]):
        mine = row if k % 2 == 0 or other >= C.shape[0] else other
        if mine < C.shape[0] and col < C.shape[1]:
            C[mine, col] += A[mine, k] * B[k, col]
"""
# What runs show: the step, the source, the kind, the first line or None.
FOUND = {
    "an int counter never set": (
        "naive",
        naive(total=COUNTED.format(set=""), before=f"    at = {AT}\n"),
        "uninitialised",
        f"at = {AT}",
    ),
    "set in one branch": (
        "naive",
        naive(total=SUM.format(term=TERM).replace("acc = float32(0)", "if row: acc = float32(0)")),
        "uninitialised",
        "if row: acc = float32(0)",
    ),
    "no guard": ("naive", naive(guard="    if True:\n"), "out of bounds", "acc += A[row, k] * B[k, col]"),
    "a NaN of its own": ("naive", naive("float32(math.nan)"), "not a number", None),
    "a flat store": (
        "naive",
        naive(store=STORE.replace("C[row, col]", "C[row * C.shape[1] + col]")),
        "wrong index",
        "C[row * C.shape[1] + col] = acc",
    ),
    "a row stored": ("naive", naive(store=STORE.replace("C[row, col]", "C[row]")), "wrong index", "C[row] = acc"),
    "writes to A": ("naive", naive(store=STORE + "        A[row, 0] = acc\n"), "writes to an input", "A[row, 0] = acc"),
    "an endless loop": (
        "naive",
        naive(total=inside("acc, k = float32(0), 0\nwhile k < A.shape[1]:\n    acc += A[row, 0]")),
        "hang",
        "while k < A.shape[1]:",
    ),
    "a tile never staged": (
        "tiled",
        edited("tiled", ("As[ty, tx] =", "unused =")),
        "uninitialised",
        "acc += As[ty, k]",
    ),
    "early return": (
        "tiled",
        edited("tiled", ("        k0 = 0\n", "        k0 = 0\n        if row >= M or col >= N: return\n")),
        "divergent barrier",
        SYNC,
    ),
    "a barrier on either side of an if": (
        "tiled",
        edited("tiled", (SYNC, f"if tx % 2:\n                {SYNC}\n            else:\n                {SYNC}")),
        "divergent barrier",
        SYNC,
    ),
    "wide accesses behind an odd array": (
        "vectorized",
        edited("vectorized", *ODD, *NOT_ALIGNED),
        "misaligned",
        "store4(Bs, r, c, (b_new[i, 0], b_new[i, 1], b_new[i, 2], b_new[i, 3]))",
    ),
    "two threads that add to one element": ("naive", ADDS_TO_ONE, "race", "C[mine, col] += A[mine, k] * B[k, col]"),
}


@pytest.mark.parametrize("step, source, wanted, line", FOUND.values(), ids=FOUND)
def test_what_the_machine_sees_has_the_name_and_the_line_of_the_source(step, source, wanted, line):
    right, kind, message, lines = judged(source, step)
    assert not right and kind == wanted, message
    assert line is None or lines[0].startswith(line)
    assert "smem" not in message and "PTX" not in message


LONG = (1, 1, 999)


@pytest.mark.parametrize("sizes, kinds, done", [([LONG], ["too slow"], [LONG]), ([(1, 1, 1), LONG], [], [(1, 1, 1)])])
def test_a_kernel_that_is_slow_on_the_ptx_machine_is_right_at_the_sizes_that_it_did(monkeypatch, sizes, kinds, done):
    monkeypatch.setattr(CudaKernel, "runs_natively", False)
    monkeypatch.setattr(on_ptx, "WORK", 1)
    product = CudaProduct(cuda_kernel(naive(), like="naive", BM=4, BN=4))
    seen = product.natively(partial(multiply, stages=[sizes, sizes]))
    assert [finding.kind for finding in seen.findings] == kinds and seen.shapes == done


def test_arrays_that_are_aligned_may_come_behind_an_odd_one():
    assert judged(edited("vectorized", *ODD), "vectorized", [(9, 13, 5), (16, 16, 16)])[0]


def test_races_are_told_in_program_order():
    before, between, after = edited("tiled").split(SYNC)
    _, _, first, lines = judged(f"{before}pass{between}{SYNC}{after}", "tiled")
    assert "still writing" in first and lines[0].startswith("As[ty, tx] =") and lines[1].startswith("acc +=")
    _, _, second, lines = judged(f"{before}{SYNC}{between}pass{after}", "tiled")
    assert "still reading" in second and lines[0].startswith("acc +=") and lines[1].startswith("As[ty, tx] =")


@pytest.mark.parametrize(
    "source", [FOUND["no guard"][1], REFUSED["a line that Numba has in hand"][0]], ids=["found", "refused"]
)
def test_a_child_says_the_same_as_it_does_for_a_process_with_a_gpu(source):
    k = cuda_kernel(source, like="naive", BM=4, BN=4)
    move = partial(watch, shapes=[(5, 6, 7)])
    there = in_child(k, partial(on_the_machine, k, move))
    assert there.value == CudaProduct(k).watched(move) and there.value.findings


class OnGPU(CudaKernel):
    """Stands for a kernel of a process with a GPU: a child tries it on the PTX machine before it runs here."""

    untimed = False


ZERO = float32(0)


def right(A, B, C):
    row, col = cuda.grid(2)
    if row < C.shape[0] and col < C.shape[1]:
        acc = ZERO
        for k in range(A.shape[1]):
            acc += A[row, k] * B[k, col]
        C[row, col] = acc


@pytest.mark.parametrize(
    "jit, message",
    [
        (cuda.jit(fastmath=True, max_registers=64), "is right"),
        (cuda.jit("void(float32[:, ::1], float32[:, ::1], float32[:, ::1])"), "is right"),
        (cuda.jit("void(float64[:, ::1], float64[:, ::1], float64[:, ::1])"), "the kernel's signature says"),
    ],
    ids=["options", "a signature", "one that does not fit"],
)
def test_where_there_is_a_gpu_a_check_hears_of_what_jit_was_told(jit, message):
    k = cuda_kernel(jit(right), like="naive", BM=4, BN=4)
    k.__class__ = OnGPU
    assert message in str(check(k, [(5, 6, 7), (9, 9, 9)]))


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
