"""A GPU that a kernel has made unusable says so in plain words. Stand-ins raise what a driver would."""

from types import SimpleNamespace

import numpy as np
import pytest

from helpers import cuda_kernel, devices
from helpers.checking.run_check import product_of
from helpers.launch import KernelError
from helpers.launch.kernel import Work
from helpers.launch.on_cuda import CudaBackend

A = np.ones((4, 4), np.float32)


def stopped():
    raise RuntimeError("[700] Call to cuEventSynchronize results in CUDA_ERROR_ILLEGAL_ADDRESS")


@pytest.mark.skipif(not devices.compiling(), reason="a GPU's own arrays take no stand-ins")
def test_what_a_driver_stops_says_what_to_do(monkeypatch):
    work = Work(CudaBackend(devices.cuda_device()), (4, 4, 4), A, A, 0, lambda work: stopped)
    monkeypatch.setattr("helpers.launch.on_cuda.cuda.event", lambda timing: SimpleNamespace(record=lambda: None))
    with pytest.raises(KernelError, match=r"the GPU stopped a kernel: .*restart Python") as lost:
        work.timed(3)
    assert product_of(cuda_kernel("naive")).failure(lost.value).kind == "crash"
