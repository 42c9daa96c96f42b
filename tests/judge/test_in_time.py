"""A check ends, however slow the kernel is: it says at which sizes the kernel was right, and where it stood."""

import numpy as np
import pytest
from numba import cuda

from helpers import check, cuda_kernel
from helpers.judge import in_time

HEAD = "from numba import cuda, float32\n\n@cuda.jit\ndef product(A, B, C):\n"
ALONE = (
    HEAD
    + """    x, y = cuda.grid(2)
    if x == 0 and y == 0:
        for row in range(C.shape[0]):
            for col in range(C.shape[1]):
                acc = float32(0)
                for k in range(A.shape[1]):
                    acc += A[row, k] * B[k, col]
                C[row, col] = acc
"""
)
PRINTS = (
    HEAD
    + """    row, col = cuda.grid(2)
    if row < C.shape[0] and col < C.shape[1]:
        acc = float32(0)
        for k in range(A.shape[1]):
            print(row, col, k)
            acc += A[row, k] * B[k, col]
        C[row, col] = acc
"""
)


def like_naive(source):
    return cuda_kernel(source, like="naive", BM=4, BN=4)


@cuda.jit
def alone(A, B, C):
    for row in range(C.shape[0]):
        for col in range(C.shape[1]):
            acc = np.float32(0)
            for k in range(A.shape[1]):
                acc += A[row, k] * B[k, col]
            C[row, col] = acc


def launches_one_thread(A, B):
    C = np.zeros((A.shape[0], B.shape[1]), np.float32)
    alone[1, 1](A, B, C)
    return C


def test_one_thread_that_computes_all_of_C_is_no_hang():
    assert check(like_naive(ALONE), [(9, 10, 11)])


@pytest.mark.parametrize("source, line", [(ALONE, "acc += A[row, k]"), (PRINTS, "print(row, col, k)")])
def test_what_has_no_time_left_says_where_it_stood(source, line, monkeypatch):
    monkeypatch.setattr(in_time, "WORK", 500)
    report = check(like_naive(source), [(1, 1, 1), (40, 40, 100)])
    assert [one.kind for one in report.findings] == ["too slow"]
    assert "at 40 x 40 x 100 (M x N x K) it still ran" in repr(report) and report.shapes == 1
    assert ("lines" in report.findings[0].message) == (source == PRINTS)
    assert line in repr(report)


def test_a_function_that_launches_one_thread_is_right_as_far_as_there_was_time(monkeypatch):
    monkeypatch.setattr(in_time, "WORK", 20_000)
    report = check(launches_one_thread, [(2, 3, 4), (40, 40, 100)])
    assert [one.kind for one in report.findings] == ["too slow"] and report.shapes == 1
    assert "still ran when the check's time was over, at `acc += A[row, k] * B[k, col]`" in repr(report)
    monkeypatch.setattr(in_time, "WORK", 100_000)
    report = check(launches_one_thread)
    assert report and "(not looked for here: what other sizes show: at " in repr(report)


def test_what_is_wrong_is_told_though_time_is_over(monkeypatch):
    monkeypatch.setattr(in_time, "WORK", 20_000)
    report = check(like_naive(ALONE.replace("= acc", "= acc + 1")), [(2, 3, 4), (40, 40, 100)])
    assert [one.kind for one in report.findings] == ["wrong start"]
