"""The checker: hard to fool, and it names what is wrong."""

from types import SimpleNamespace

import numpy as np
import pytest
from kernels import UNDER_OCLGRIND, build

from helpers import check, opencl_kernel
from helpers.checking import launched
from helpers.launch import Contestant, draw
from kernel_judge import error_bound, wrong_elements

BARRIER = "barrier(CLK_LOCAL_MEM_FENCE);"
SHAPES = [(1, 1, 1), (5, 6, 7), (9, 10, 33)]


@UNDER_OCLGRIND
def test_opencl_races_are_told_with_the_barrier_that_is_missing_and_the_same_each_time():
    before, between, after = opencl_kernel("tiled").source.split(BARRIER)
    sources = before + between + BARRIER + after, before + BARRIER + between + after
    reports = [check(build("OpenCL", "tiled", source), SHAPES) for source in (*sources, sources[1])]
    first, second = (report.findings[0] for report in reports[:2])
    assert f"no barrier between line {first.lines[0]} and line {first.lines[1]}" in first.message
    said = f"keeps line {second.lines[0]} from running again before all are done with line {second.lines[1]}"
    assert said in second.message
    assert repr(reports[1]) == repr(reports[2])


@UNDER_OCLGRIND
def test_a_work_item_that_leaves_before_a_barrier_is_named():
    source = opencl_kernel("tiled").source
    assert "float acc = 0.0f;" in source
    leaves = source.replace("float acc = 0.0f;", "if (row >= M || col >= N) return; float acc = 0.0f;")
    assert check(build("OpenCL", "tiled", leaves), SHAPES).findings[0].kind == "divergent barrier"


def test_of_a_kernel_that_does_not_compile_nothing_else_is_said():
    report = check(build("OpenCL", "naive", opencl_kernel("naive").source.replace("acc +=", "ack +=")))
    assert [finding.kind for finding in report.findings] == ["does not compile"] and not report.notes


@pytest.mark.parametrize(
    "function, kind",
    [
        (lambda A, B: A[:, :-1] @ B[:-1], "K is cut"),
        (lambda A, B: np.zeros((len(A), B.shape[1]), np.float32), "zeros"),
        (lambda A, B: None, "no answer"),
        (lambda A, B: (A @ B).T, "error"),
        (lambda A, B: A[:, -1:] @ B[-1:], "K is cut"),
        (lambda A, B: A @ B + np.float32(1e-3), "wrong numbers"),
        (lambda A, B: A.fill(0) or A @ B, "writes to an input"),
        (lambda A, B: (A @ B, A.fill(0))[0], "writes to an input"),
        (lambda A, B: A.astype(np.float16) @ B.astype(np.float16), "wrong numbers"),
    ],
)
def test_wrong_python_functions_fail(function, kind):
    report = check(function)
    assert not report and report.findings[0].kind == kind, report
    assert ("must be copied back" in report.findings[0].message) == (kind == "zeros")  # what a device computed


def test_right_python_functions_pass():
    assert check(np.matmul)
    assert check(lambda A, B: (B.T @ A.T).T)


def test_the_bound_is_the_textbooks():
    A, B = np.full((1, 4), -2, np.float32), np.full((4, 1), 3, np.float32)
    u = 2.0**-24
    assert error_bound(A, B)[0, 0] == pytest.approx(4 * u / (1 - 4 * u) * 24, rel=1e-12)
    exact = float((A @ B)[0, 0])
    inside, outside = exact + 24 * 3.9 * u, exact + 24 * 4.1 * u
    assert not wrong_elements(np.array([[inside]]), A, B).any()
    assert wrong_elements(np.array([[outside]]), A, B).all()
    assert wrong_elements(np.array([[np.nan]]), A, B).all()


def test_a_row_of_zeros_has_no_room_for_an_error():
    A, B = np.zeros((1, 4), np.float32), np.ones((4, 1), np.float32)
    assert not wrong_elements(np.float32([[0]]), A, B).any() and wrong_elements(np.float32([[1e-38]]), A, B).all()


def test_one_launch_is_judged_by_the_c_that_it_leaves():
    (A, B), asked = draw(3, 4, 5), []

    class Answering(Contestant):
        def __init__(self, C):
            self.C = C

        def upload(self, *operands):
            asked.append(operands)
            return SimpleNamespace(launch=lambda: asked.append("launch"), download=lambda: self.C)

    right = A @ B
    assert launched(Answering(right), A, B, 7.0) is right and asked == [(A, B, 7.0), "launch"]


def test_float64_rounded_to_float32_is_within_the_bound():
    rng = np.random.default_rng(0)
    for K in (1, 2, 1000):
        A, B = rng.standard_normal((20, K)).astype(np.float32), rng.standard_normal((K, 20)).astype(np.float32)
        exact = A.astype(np.float64) @ B.astype(np.float64)
        assert not wrong_elements(exact.astype(np.float32), A, B).any()


def test_a_kernel_that_was_not_built_is_named():
    from numba import cuda

    for unbuilt in (cuda.jit(lambda A, B, C: None), opencl_kernel("naive").source):
        with pytest.raises(TypeError, match="Build a kernel first"):
            check(unbuilt)
