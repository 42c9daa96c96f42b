"""What a CUDA kernel shows on the PTX machine: what Numba refuses, what is found, with its line, and what is right."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from kernels import build
from numba import cuda, float32

from cuda_without_gpu import to_ptx
from helpers import check, cuda_kernel
from helpers.checking.cuda import CudaProduct, on_the_machine
from helpers.child import in_child
from helpers.launch import KernelError
from helpers.launch.on_cuda import CudaKernel
from kernel_judge.moves import watch
from kernel_judge.on_ptx import OnPtx, alike
from kernel_judge.words import CHINESE, spelled

HEAD = "from numba import cuda, float32, int32\nimport math\nimport numpy as np\n\n"
START = "@cuda.jit{options}\ndef product(A, B, C):\n    row, col = cuda.grid(2)\n"
GUARD = "    if row < C.shape[0] and col < C.shape[1]:\n"
SUM = "        acc = float32(0)\n        for k in range(A.shape[1]):\n            acc += {term}\n"
TERM, STORE = "A[row, k] * B[k, col]", "        C[row, col] = acc\n"
SHAPES = [(5, 6, 7), (1, 1, 1), (9, 10, 33)]


def naive(term=TERM, store=STORE, guard=GUARD, total=None, before="", options=""):
    """Source of a kernel that computes an element a thread, in one way or another."""
    total = SUM.format(term=term) if total is None else total
    return HEAD + START.format(options=options) + before + guard + total + store


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
    """(kind, message, text of the lines) of the first finding; ("", "", []) where nothing is found."""
    seen = CudaProduct(build("CUDA", like, source)).watched(partial(watch, shapes=shapes))
    if not seen.findings:
        return "", "", []
    first, lines = seen.findings[0], source.splitlines()
    assert spelled(CHINESE, first.key, first.values) != first.message, "this is said in English only"
    return first.kind, first.message, [lines[line - 1].strip() for line in first.lines]


AT = "cuda.local.array(1, int32)"
COUNTED = inside(
    "acc = float32(0)\n{set}while at[0] < A.shape[1]:\n    acc += A[row, at[0]] * B[at[0], col]\n    at[0] += 1"
)
ODD = (
    ("    @cuda.jit\n    def kernel", "    ODD = THREADS + 1\n\n    @cuda.jit\n    def kernel"),
    ("        As = cuda", "        ones = cuda.shared.array(ODD, float32)\n        As = cuda"),
    ("        k0 = 0\n", "        ones[thread] = 1\n        k0 = 0\n"),
    ("C[row, col] = acc[i, j]", "C[row, col] = acc[i, j] * ones[thread]"),
)
NOT_ALIGNED = tuple((f"{side}, float32, alignment=16)", f"{side}, float32)") for side in ("(BK, WIDE)", "(BK, BN)"))


def test_nothing_is_found_in_a_right_kernel():
    own = naive(total=COUNTED.format(set="at[0] = 0\n        "), before=f"    at = {AT}\n")
    assert judged(own) == ("", "", [])
    in_C = "        C[row, col] = 0\n" + SUM.format(term=TERM).replace("acc +=", "C[row, col] +=")
    assert judged(naive(total=in_C, store="", options="(debug=True, opt=False)")) == ("", "", [])


NEVER_SET = naive(total=COUNTED.format(set=""), before=f"    at = {AT}\n")
IN_ONE_BRANCH = naive(total=SUM.format(term=TERM).replace("acc = float32(0)", "if row: acc = float32(0)"))
NO_GUARD = naive(guard="    if True:\n")
ENDLESS = naive(total=inside("acc, k = float32(0), 0\nwhile k < A.shape[1]:\n    acc += A[row, 0]"))
LEFT = edited("tiled", ("        k0 = 0\n", "        k0 = 0\n        if row >= M or col >= N: return\n"))
# The source, what is said of it, how the first of its lines begins; the step that it is launched like.
FOUND = [
    (naive(store=STORE + "        return acc\n"), "does not compile: No conversion from float32 to none", "return acc"),
    (NEVER_SET, "uninitialised: an element of a local array is used before it is set", f"at = {AT}"),
    (IN_ONE_BRANCH, "uninitialised: acc is used before it is set", "if row: acc = float32(0)"),
    (NO_GUARD, "out of bounds: thread (", "acc += A[row, k] * B[k, col]"),
    (naive("float32(math.nan)"), "not a number: C holds NaN, and A and B hold none", None),
    (naive(store="        C[row] = acc\n"), "wrong index: C[row] is a whole row of C", "C[row] = acc"),
    (naive(store=STORE + "        A[row, 0] = acc\n"), "writes to an input: ", "A[row, 0] = acc"),
    (ENDLESS, "hang: ", "while k < A.shape[1]:"),
    (edited("tiled", ("As[ty, tx] =", "unused =")), "uninitialised: thread (", "acc += As[ty, k]", "tiled"),
    (LEFT, "divergent barrier: only 8 of the 16 threads of block (1, 0) ", "cuda.syncthreads()", "tiled"),
    (edited("vectorized", *ODD, *NOT_ALIGNED), "misaligned: ", "store4(Bs, r, c, (b_new[i, 0],", "vectorized"),
    (edited("vectorized", ("As, k, ty * 4", "As, k, ty")), "misaligned: ", "x = load4(As, k, ty + i", "vectorized"),
]


@pytest.mark.parametrize("source, said, begins, like", [(*one, "naive")[:4] for one in FOUND])
def test_what_the_machine_sees_has_the_name_and_the_line_of_the_source(source, said, begins, like):
    kind, message, lines = judged(source, like)
    assert f"{kind}: {message}".startswith(said), (kind, message)
    assert lines[0].startswith(begins) if begins else lines == []
    assert "smem" not in message and "PTX" not in message


def test_runs_that_find_something_at_other_lines_are_not_alike_though_c_is():
    def run(line):
        return SimpleNamespace(arrays=[np.ones(3)] * 3, findings=[SimpleNamespace(kind="out of bounds", source=line)])

    assert alike(run(3), run(3)) and not alike(run(3), run(4))


def test_a_child_says_the_same_as_it_does_for_a_process_with_a_gpu():
    k, move = build("CUDA", "naive", NO_GUARD), partial(watch, shapes=[(5, 6, 7)])
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


def test_where_there_is_a_gpu_a_check_hears_of_what_jit_was_told():
    signature = cuda.jit("void(float64[:, ::1], float64[:, ::1], float64[:, ::1])")(right)
    k = cuda_kernel(signature, like="naive", BM=4, BN=4)
    k.__class__ = OnGPU
    assert "the kernel's signature says" in str(check(k, [(5, 6, 7)]))


ALONE = OnPtx(cuda.jit(right), (4, 4, 4), (4, 4), lambda M, N: (-(-M // 4), -(-N // 4)))


def test_a_kernel_of_numbas_is_run_by_the_package_alone_and_no_requests_are_counted():
    """A run that counts requests takes three times as long."""
    done = ALONE.run(np.ones((5, 7), np.float32), np.ones((7, 6), np.float32))
    assert done and (done.arrays[2] == 7).all() and done.requests == () and done.trace == ()


def test_what_a_launch_may_take_and_what_it_costs_follow_from_its_tiles():
    a_tile = 20 * (4 + 4) * 4 + 100 * 4 * 4 * 4 // 16
    assert ALONE.limit(np.ones((7, 6), np.float32)) == 20_000 + 2 * a_tile
    assert ALONE.cost((5, 6, 7)) == 50_000 + 8**3 + 8**3 * 3000 // (2 * 2 * 16)
    assert ALONE.affordable([(5, 6, 7)] * 2 + [(4, 4, 999)]) == [(5, 6, 7)] * 2
    assert ALONE.possible([(4096, 4096, 64), (4000, 4096, 64)]) == [(4000, 4096, 64)]


def test_where_an_instruction_is_not_known_there_is_no_verdict(monkeypatch):
    text_of = to_ptx.text_of
    monkeypatch.setattr(to_ptx, "text_of", lambda *of, **how: text_of(*of, **how).replace("fma.rn", "fma.sink"))
    k = build("CUDA", "naive", naive())
    with pytest.raises(KernelError, match=r"cannot be tried here: .*fma\.sink"):
        check(k)
    assert not k.checked
