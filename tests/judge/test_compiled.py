"""What a kernel of Python's would do otherwise than a compiled one: whole numbers that wrap, alignment, barriers."""

import pytest

from helpers import check, cuda_kernel, ladder

TYPES = "from numba import cuda, float32, uint32, int64\n"
LOOP = """        k = 0
        while k < A.shape[1]:  # Numba would make `for k in range(...)` over four times as long (page 07)
            acc += A[row, k] * B[k, col]
            k += 1
"""
SUM = "            acc += A[row, k] * B[k, col]\n"

# What is planted: (step, [(old, new)], the kind of the finding, what the line says or "")
PLANTED = {
    "a difference of uint32, which NumPy keeps in 32 bits": (
        "naive",
        [
            (LOOP, "        none = uint32(0) - uint32(1)\n" + LOOP),
            (SUM, "            if none == 4294967295:\n    " + SUM),
        ],
        None,
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
        None,
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
        None,
        "",
    ),
    "a product that outgrows 64 bits": (
        "naive",
        [
            (LOOP, "        seed = 1\n" + LOOP),
            (SUM, "            seed = seed * 1103515245 + 12345\n            if seed > 0:\n    " + SUM),
        ],
        None,
        "",
    ),
    "an index that wraps and leaves its array": (
        "naive",
        [
            (LOOP, "        none = uint32(0) - uint32(1)\n" + LOOP),
            ("A[row, k]", "A[row, k + (none - 4294967295) % 1000]"),
        ],
        "out of bounds",
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
        "misaligned",
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
        "divergent barrier",
        "cuda.syncthreads()",
    ),
    "uint32 and int64 make float64, which is no index": (
        "naive",
        [(LOOP, LOOP.replace("k = 0", "k = uint32(0) - uint32(0)"))],
        "does not compile",
        "",
    ),
    "a list": (
        "naive",
        [(LOOP, "        acc += float32(sum([A[row, k] * B[k, col] for k in range(A.shape[1])]))\n")],
        "does not compile",
        "acc += float32(sum([A[row, k] * B[k, col] for k in range(A.shape[1])]))",
    ),
}


def edited(step, edits):
    """The step's kernel as a learner's own, with those edits."""
    source = TYPES + cuda_kernel(step).source.split("\n", 1)[1]
    for old, new in edits:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    return cuda_kernel(source, like=step, **ladder.STEPS[step].small)


@pytest.mark.parametrize("what", PLANTED)
def test_what_a_gpu_does_otherwise_is_found(what):
    step, edits, kind, line = PLANTED[what]
    k = edited(step, edits)
    report = check(k)
    assert not report and kind in (None, report.findings[0].kind), report
    if line:
        assert k.source.splitlines()[report.findings[0].lines[0] - 1].strip() == line, report


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
    assert check(edited("naive", HARMLESS[what]), [(5, 6, 7), (9, 10, 33)])


def test_arrays_that_are_aligned_may_come_behind_an_odd_one():
    _, edits, _, _ = PLANTED["wide accesses behind an odd array"]
    k = edited("vectorized", [edit for edit in edits if "alignment" not in edit[0]])
    assert k.source.count("alignment=16") == 2 and check(k, [(9, 13, 5), (16, 16, 16)])


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
    findings = check(cuda_kernel(source, like="naive", BM=4, BN=4), [(4, 4, 6)]).findings
    assert {finding.kind for finding in findings} == {"race"}
    assert all(source.splitlines()[finding.lines[0] - 1].strip().startswith("C[mine") for finding in findings)
