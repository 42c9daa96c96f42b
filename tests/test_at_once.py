"""Where threads meet nothing is lost, and an exit in somebody's code ends nobody else."""

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

from helpers import ask, check, cuda_kernel, devices, measure
from helpers.exercises.autotuning import judge_search
from helpers.launch import KernelError, draw
from kernel_judge import wrong_elements

THREADS = 8
untimed = pytest.mark.skipif(devices.cuda_device().kind != "PTX machine", reason="it has a GPU")


@untimed
def test_launches_of_eight_threads_are_all_right():
    kernels, together = [cuda_kernel("tiled", TILE=4), cuda_kernel("naive", BM=4, BN=2)], Barrier(THREADS)

    def multiply(number):
        A, B = draw(5 + number, 9 - number, 6)
        together.wait()
        return [wrong_elements(k(A, B), A, B).any() for k in kernels]

    with ThreadPoolExecutor(THREADS) as threads:
        assert not np.any(list(threads.map(multiply, range(THREADS))))


@untimed
def test_checks_of_eight_threads_give_no_false_verdict():
    together = Barrier(THREADS)

    def judged(number):
        together.wait()
        return check(cuda_kernel("naive", BM=2, BN=2), [(3, 5, 4)])

    with ThreadPoolExecutor(THREADS) as threads:
        reports = list(threads.map(judged, range(THREADS)))
    assert all(reports), [report for report in reports if not report]


# ------------------------------------------------------------------------------------------ sys.exit


def leaves(*_):
    sys.exit(3)


SOURCE = """
import sys
from numba import cuda
sys.exit(4)
"""
INSIDE = """
import sys
from numba import cuda

@cuda.jit
def kernel(A, B, C):
    sys.exit(5)
"""


def test_an_exit_in_somebodys_function_is_a_finding():
    for report in (check(leaves), ask(leaves, {(2, 3, 4): 24}), judge_search(leaves)):
        assert not report and re.search(r"sys\.exit\(3\)|SystemExit: 3", repr(report)), report
    with pytest.raises(KernelError, match=r"sys\.exit\(3\)"):
        measure(leaves, 8)


def test_an_exit_in_the_module_of_a_kernel_is_an_error():
    with pytest.raises(KernelError, match=r"sys\.exit\(4\)"):
        cuda_kernel(SOURCE, like="naive")


@untimed
def test_an_exit_inside_a_kernel_does_not_compile():
    report = check(cuda_kernel(INSIDE, like="naive", BM=2, BN=2))
    assert not report and report.findings[0].kind == "does not compile" and "sys.exit(5)" in repr(report)
