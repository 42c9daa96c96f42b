"""A kernel that is right in the simulator and wrong once compiled is found out; a right one raises no alarm."""

import importlib
import importlib.util

import numpy as np
import pytest
from numba import cuda, float32, uint32

from helpers import check, cuda_kernel, devices, ladder, opencl_kernel
from helpers.judge import compiled
from helpers.judge.compiled import trial_compiled
from helpers.judge.trials import Trial, trial
from helpers.launch import KernelError, draw

pytestmark = pytest.mark.skipif(
    devices.nvidia_tool("ptxas") is None or importlib.util.find_spec("numba_cuda") is None,
    reason="NVIDIA's compiler is not installed: python3 tools/install.py cuda13",
)
SMALL = {name: ladder.STEPS[name].small for name in ladder.steps("CUDA")}
TYPES = "from numba import cuda, float32, uint32, int64\n"
LOOP = """        k = 0
        while k < A.shape[1]:  # Numba would make `for k in range(...)` five times as long (page 07)
            acc += A[row, k] * B[k, col]
            k += 1
"""
SUM = "            acc += A[row, k] * B[k, col]\n"
NUMBERS, REFUSED = "numbers of C are wrong, for example at", "it does not compile. Numba says: "

# What is planted: (step, [(old, new)], what the message says, what the line says or "")
PLANTED = {
    "a difference of uint32, which NumPy keeps in 32 bits": (
        "naive",
        [
            (LOOP, "        none = uint32(0) - uint32(1)\n" + LOOP),
            (SUM, "            if none == 4294967295:\n    " + SUM),
        ],
        NUMBERS,
        "",
    ),
    "the remainder of a negative number, which NumPy makes a large one": (
        "naive",
        [
            (
                LOOP,
                LOOP + "        x = uint32(cuda.threadIdx.x)\n"
                "        if x == 0 and (x - 1) % 3 != 0:\n            acc = float32(0)\n",
            )
        ],
        NUMBERS,
        "",
    ),
    "the quotient of a negative number": (
        "coalesced",
        [
            (
                LOOP,
                LOOP + "        x = uint32(cuda.threadIdx.x)\n"
                "        if (x - 1) // 2 < 0:\n            acc = float32(0)\n",
            )
        ],
        NUMBERS,
        "",
    ),
    "a product that outgrows 64 bits": (
        "naive",
        [
            (LOOP, "        seed = 1\n" + LOOP),
            (SUM, "            seed = seed * 1103515245 + 12345\n            if seed > 0:\n    " + SUM),
        ],
        NUMBERS,
        "",
    ),
    "an index that wraps and leaves its array": (
        "naive",
        [
            (LOOP, "        none = uint32(0) - uint32(1)\n" + LOOP),
            ("A[row, k]", "A[row, k + (none - 4294967295) % 1000]"),
        ],
        "outside every array of global memory",
        "acc += A[row, k + (none - 4294967295) % 1000] * B[k, col]",
    ),
    "wide accesses behind an odd array": (
        "vectorized",
        [
            ("    @cuda.jit\n    def kernel", "    ODD = THREADS + 1\n\n    @cuda.jit\n    def kernel"),
            ("        As = cuda", "        ones = cuda.shared.array(ODD, float32)\n        As = cuda"),
            ("        k0 = 0\n", "        ones[thread] = 1\n        k0 = 0\n"),
            ("C[row, col] = acc[i, j]", "C[row, col] = acc[i, j] * ones[thread]"),
            ("(BK, WIDE), float32, alignment=16)", "(BK, WIDE), float32)"),
            ("(BK, BN), float32, alignment=16)", "(BK, BN), float32)"),
        ],
        "moves 16 bytes at no multiple of 16",
        "store4(Bs, r, c, four(B, k0 + r, col0 + c))",
    ),
    "a barrier on either side of an if": (
        "tiled",
        [
            (
                "            cuda.syncthreads()\n\n            # 3.",
                "            if tx % 2 == 0:\n                cuda.syncthreads()\n            else:\n"
                "                cuda.syncthreads()\n\n            # 3.",
            )
        ],
        "only 8 of the 16 threads of block (0, 0) reach this barrier",
        "cuda.syncthreads()",
    ),
    "uint32 and int64 make float64, which is no index": (
        "naive",
        [(LOOP, LOOP.replace("k = 0", "k = uint32(0) - uint32(0)"))],
        REFUSED + "Unsupported array index type float64",
        "",
    ),
    "a list": (
        "naive",
        [(LOOP, "        acc += float32(sum([A[row, k] * B[k, col] for k in range(A.shape[1])]))\n")],
        REFUSED,
        "acc += float32(sum([A[row, k] * B[k, col] for k in range(A.shape[1])]))",
    ),
}


def edited(step, edits):
    """The step's kernel as a learner's own, with those edits."""
    source = TYPES + cuda_kernel(step).source.split("\n", 1)[1]
    for old, new in edits:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    return cuda_kernel(source, like=step, **SMALL[step])


@pytest.mark.parametrize("what", PLANTED)
def test_what_only_the_compiled_code_shows_is_found(what, monkeypatch):
    step, edits, message, line = PLANTED[what]
    k = edited(step, edits)
    report = check(k)
    assert not report and not k.checked and report.findings[0].kind == "compiled", report
    assert report.findings[0].message.startswith("right in the simulator, wrong compiled: "), report
    assert message in report.findings[0].message, report
    if line:
        assert k.source.splitlines()[report.findings[0].lines[0] - 1].strip() == line, report
    monkeypatch.setattr(devices, "nvidia_tool", lambda name: None)
    assert check(edited(step, edits)), "the simulator sees it, too"


@pytest.mark.parametrize("step", SMALL)
def test_right_kernels_raise_no_alarm_at_ten_random_shapes(step):
    shapes = np.random.default_rng().integers(1, 40, (10, 3)).tolist()
    assert trial_compiled(edited(step, []), shapes)[:2] == ([], ()), shapes


HARMLESS = {
    "threads beyond the edge do another's work again": [
        (
            "row, col = cuda.grid(2)",
            "row, col = cuda.grid(2)\n        row, col = min(row, C.shape[0] - 1), min(col, C.shape[1] - 1)",
        )
    ],
    "the sum is kept in C": [
        (LOOP, LOOP.replace("acc +=", "C[row, col] +=").replace("k = 0", "k = 0\n        C[row, col] = acc")),
        ("        C[row, col] = acc\n\n    return", "\n    return"),
    ],
    "the sum is a float64": [("acc = float32(0)", "acc = 0.0")],
    "the sum begins as a whole number": [("acc = float32(0)", "acc = 0")],
}


@pytest.mark.parametrize("what", HARMLESS)
def test_odd_but_right_kernels_raise_no_alarm(what):
    report = check(edited("naive", HARMLESS[what]))
    assert report and report.not_looked_for == ()


def test_arrays_that_are_aligned_may_come_behind_an_odd_one():
    _, edits, _, _ = PLANTED["wide accesses behind an odd array"]
    k = edited("vectorized", [edit for edit in edits if "alignment" not in edit[0]])
    assert k.source.count("alignment=16") == 2
    report = check(k)
    assert report and report.not_looked_for == ()


def test_two_threads_that_add_to_one_element_race():
    source = """from numba import cuda

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
    findings, unseen, *_ = trial_compiled(cuda_kernel(source, like="naive", BM=4, BN=4), [(4, 4, 6)])
    assert unseen == () and {"compiled"} == {finding.kind for finding in findings}
    assert any("writes C[" in finding.message for finding in findings)
    assert all(source.splitlines()[finding.lines[0] - 1].strip().startswith("C[mine") for finding in findings)


def test_the_line_of_a_function_is_counted_from_its_own_source():
    @cuda.jit
    def mine(A, B, C):
        row, col = cuda.grid(2)
        none = uint32(0) - uint32(1)
        if row < C.shape[0] and col < C.shape[1]:
            acc = float32(0)
            for k in range(A.shape[1]):
                acc += A[row, k + (none - 4294967295) % 1000] * B[k, col]
            C[row, col] = acc

    report = check(cuda_kernel(mine, like="naive", BM=4, BN=4))
    assert report.findings[0].kind == "compiled" and "outside every array" in report.findings[0].message
    assert "acc += A[row, k + (none - 4294967295) % 1000] * B[k, col]" in repr(report)


def test_an_instruction_that_is_not_known_is_no_verdict(monkeypatch):
    def with_a_strange_one(job, step, shapes, more):
        text = compiled.ptx(job, compiled.CAPABILITY, lines=True).replace("fma.rn.f32", "fma.rx.f32")
        compiled.Compiled(text, step, job.parameters).launched(*draw(*shapes[0]))

    monkeypatch.setattr(compiled, "examine_compiled", with_a_strange_one)
    report = check(edited("naive", []))
    assert report and "not looked for here: the compiled code (line " in repr(report)
    assert "an instruction that is not known here" in repr(report)


@pytest.mark.parametrize(
    "error, said",
    [
        (RuntimeError("no memory"), "the compiled code (it took"),
        (KernelError("libnvvm: no"), None),
        (ModuleNotFoundError("No module named 'cuda'"), None),  # ptxas is here, and what Numba asks it through is not
    ],
)
def test_what_is_no_fault_of_the_kernel_is_no_verdict(error, said, monkeypatch):
    def broken(job, step, shapes, more):
        raise error

    monkeypatch.setattr(compiled, "examine_compiled", broken)
    findings, unseen, tried, *_ = trial_compiled(edited("naive", []), [(3, 4, 5)], [(99, 4, 5)])
    assert findings == [] and tried == [(3, 4, 5)]
    assert unseen == () if said is None else unseen[0].startswith(said), unseen


def test_without_the_compiler_and_for_opencl_nothing_is_asked(monkeypatch):
    assert not compiled.compiles(opencl_kernel("naive"))
    k = edited("naive", [])
    with_it = check(k)
    monkeypatch.setattr(compiled, "in_child", None)
    monkeypatch.setattr(devices, "nvidia_tool", lambda name: None)
    without = check(k)
    assert with_it and without and without.shapes < with_it.shapes, "what was not tried is not counted"


def test_what_was_tried_in_the_simulator_is_what_runs_compiled(monkeypatch):
    asked = []
    checking = importlib.import_module("helpers.judge.checking")
    none = Trial([], (), [(1, 1, 1)])
    monkeypatch.setattr(checking, "trial_compiled", lambda k, shapes, more: asked.append(shapes) or none)
    k = edited("naive", [])
    assert check(k) and asked == [trial(k, [tuple(shape) for shape in asked[0]]).shapes]
