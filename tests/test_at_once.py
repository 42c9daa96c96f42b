"""Where threads meet nothing is lost."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from helpers import check, cuda_kernel, devices

THREADS = 8


@pytest.mark.skipif(devices.cuda_device().kind != "PTX machine", reason="it has a GPU")
def test_checks_of_eight_threads_give_no_false_verdict():
    together = Barrier(THREADS)

    def judged(number):
        together.wait()
        return check(cuda_kernel("naive", BM=2, BN=2), [(3, 5, 4)])

    with ThreadPoolExecutor(THREADS) as threads:
        reports = list(threads.map(judged, range(THREADS)))
    assert all(reports), [report for report in reports if not report]
