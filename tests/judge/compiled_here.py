"""Kernels for `test_on_ptx.py`, by group, and what a check says of them."""

import functools

from helpers import check, cuda_kernel, ladder

HEAD = "from numba import cuda, float32, int32\nimport numpy as np\n\n"
START = "@cuda.jit{options}\ndef product(A, B, C):\n    row, col = cuda.grid(2)\n"
GUARD = "    if row < C.shape[0] and col < C.shape[1]:\n"
SUM = "        acc = float32(0)\n        for k in range(A.shape[1]):\n            acc += {term}\n"
TERM, STORE = "A[row, k] * B[k, col]", "        C[row, col] = acc\n"


def naive(term=TERM, store=STORE, guard=GUARD, total=None, before="", options="", above=""):
    """Source of a kernel that computes an element a thread, in one way or another."""
    total = SUM.format(term=term) if total is None else total
    return HEAD + above + START.format(options=options) + before + guard + total + store


def sliced(row, column, term):
    return naive(total=f"        a, b = {row}, {column}\n" + SUM.format(term=term))


def inside(text):
    """Lines of the body of the guard."""
    return "".join(f"        {line}\n" for line in text.splitlines())


TILED = cuda_kernel("tiled").source
AT = "cuda.local.array(1, int32)"
COUNTED = inside(
    "acc = float32(0)\n{set}while at[0] < A.shape[1]:\n    acc += A[row, at[0]] * B[at[0], col]\n    at[0] += 1"
)


def tiled(old, new, count=1):
    assert TILED.count(old) >= 1, old
    return TILED.replace(old, new, count)


NAIVE = {
    "right": {
        "slices": sliced("A[row, :]", "B[:, col]", "a[k] * b[k]"),
        "B.T": naive("A[row, k] * B.T[col, k]"),
        "enumerate": naive(total=inside("acc = float32(0)\nfor k, a in enumerate(A[row]):\n    acc += a * B[k, col]")),
        "a function beside it": naive(
            "times(A[row, k], B[k, col])", above="@cuda.jit(device=True)\ndef times(a, b):\n    return a * b\n\n"
        ),
        "a plain function beside it": naive(above="def unused(a, b):\n    return a * b\n\n"),
        "lineinfo": naive(options="(lineinfo=True)"),
        "max_registers": naive(options="(max_registers=32)"),
        "fastmath": naive(options="(fastmath=True)"),
        "debug": naive(options="(debug=True, opt=False)"),
        "a signature": naive(options='("void(float32[:, :], float32[:, :], float32[:, :])")'),
        "a counter of its own, set": naive(total=COUNTED.format(set="at[0] = 0\n        "), before=f"    at = {AT}\n"),
    },
    "refused": {
        "return acc": naive(store=STORE + "        return acc\n"),
        "try": naive(store=inside("try:\n    C[row, col] = acc\nexcept Exception:\n    pass")),
        "try, by name": naive(store=inside("try:\n    C[row, col] = acc\nexcept IndexError:\n    pass")),
        "float64": naive(options='("void(float64[:, :], float64[:, :], float64[:, :])")'),
        "Fortran": naive(options='("void(float32[::1, :], float32[::1, :], float32[::1, :])")'),
        "a shape known at run time": naive(
            before="    n = cuda.blockDim.x\n    s = cuda.shared.array((n, n), float32)\n"
        ),
        "a shape that is a product": naive(
            before="    s = cuda.shared.array(SIDE * SIDE, float32)\n", above="SIDE = 4\n\n"
        ),
        "a function that calls itself": naive(
            "A[row, k] * B[k, col] + f(k)",
            above="@cuda.jit(device=True)\ndef f(n):\n    return f(n - 1) if n > 0 else 0\n\n",
        ),
        "a name set in a condition": naive(before="    if (rows := C.shape[0] - row) < 1:\n        row += 0 * rows\n"),
        "Python's int": naive(before="    s = cuda.shared.array((4, 4), int)\n"),
        "a flat index": naive("A[row * A.shape[1] + k] * B[k, col]"),
        "np.zeros": naive(before="    s = np.zeros(4)\n"),
        "three indices": naive("A[row, k, 0] * B[k, col]"),
        "an index with a fraction": naive("A[row, k / 1] * B[k, col]"),
        "one number for two": naive().replace("grid(2)", "grid(1)"),
        "njit": naive().replace("from numba import", "from numba import njit,").replace("@cuda.jit", "@njit"),
        "a plain function that is called": naive(
            "times(A[row, k], B[k, col])", above="def times(a, b):\n    return a * b\n\n"
        ),
        "math.fsum": naive("math.fsum([A[row, k]])", above="import math\n\n"),
        "ravel": sliced("A.ravel()", "B", "a[row * A.shape[1] + k] * b[k, col]"),
        "an f-string": naive(store=STORE + "        print(f'{row}')\n"),
        "np.dot": naive("np.dot(A[row], B[:, col])"),
        "a row by a column": naive(store=inside("C[row, col] = A[row, :] @ B[:, col]")),
        "an endless loop in a loop": naive(
            total=inside("acc = float32(0)\nfor k in range(3):\n    i = 0\n    while i < 4:\n        acc += A[row, i]")
        ),
        "two arguments": naive().replace("(A, B, C)", "(A, C)").replace("* B[k, col]", "* A[k, col]"),
    },
    "found": {
        "an int counter never set": naive(total=COUNTED.format(set=""), before=f"    at = {AT}\n"),
        "set in one branch": naive(total=SUM.format(term=TERM).replace("acc = float32(0)", "if row: acc = float32(0)")),
        "no guard": naive(guard="    if True:\n"),
        "a NaN of its own": naive("float32(math.nan)", above="import math\n\n"),
        "a flat store": naive(store=STORE.replace("C[row, col]", "C[row * C.shape[1] + col]")),
        "a row stored": naive(store=STORE.replace("C[row, col]", "C[row]")),
        "writes to A": naive(store=STORE + "        A[row, 0] = acc\n"),
        "every thread stores all": naive(
            guard="    for row in range(C.shape[0]):\n      for col in range(C.shape[1]):\n"
        ),
        "an endless loop": naive(total=inside("acc, k = float32(0), 0\nwhile k < A.shape[1]:\n    acc += A[row, 0]")),
        "blocks one too close": naive(before="    row = cuda.blockIdx.x * 3 + cuda.threadIdx.x\n"),
    },
}
TILES = {
    "found": {
        "first barrier": tiled("cuda.syncthreads()", "pass"),
        "second barrier": "pass".join(TILED.rsplit("cuda.syncthreads()", 1)),
        "a tile never staged": tiled("As[ty, tx] =", "unused ="),
        "early return": tiled("        k0 = 0\n", "        k0 = 0\n        if row >= M or col >= N: return\n"),
    }
}  # fmt: skip


SHAPES = [(1, 1, 1), (5, 6, 7), (9, 10, 33)]


def judged(source, like, shapes=None, **sizes):
    """[right, the first finding's kind, its message, text of its lines] of a check; what building raised is a kind."""
    try:
        report = check(cuda_kernel(source, like=like, **sizes), shapes)
    except Exception as error:
        return [False, type(error).__name__, str(error), []]
    if report:
        return [True, "", "", []]
    first, lines = report.findings[0], source.splitlines()
    return [False, first.kind, first.message, [lines[line - 1].strip() for line in first.lines]]


def rungs():
    """The seven rungs as a learner's own, at a GPU's sizes."""
    for step in ladder.steps("CUDA"):
        if not ladder.STEPS[step].capability:
            yield step, judged(cuda_kernel(step).source, step, **ladder.STEPS[step].defaults["GPU"])


@functools.cache
def said(group):
    """{label: what `judged` returns} of the kernels of that group."""
    if group == "rungs":
        return dict(rungs())
    shapes = SHAPES if group == "right" else None  # test_any_size.py tries right kernels at every size
    naives = {label: judged(source, "naive", shapes, BM=4, BN=4) for label, source in NAIVE[group].items()}
    return naives | {label: judged(source, "tiled", TILE=4) for label, source in TILES.get(group, {}).items()}
