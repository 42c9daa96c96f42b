"""Where threads meet nothing is lost."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

from helpers import check, cuda_kernel, devices
from helpers.launch import draw
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
