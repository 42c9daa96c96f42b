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


def refuses(name):
    def call(*arguments, **more):
        raise RuntimeError(f"[700] Call to cuEventSynchronize results in CUDA_ERROR_{name}")

    return call


@pytest.mark.skipif(not devices.compiling(), reason="a GPU's own arrays take no stand-ins")
def test_an_error_that_costs_the_gpu_says_what_to_do_and_others_stay_as_they_are(monkeypatch):
    on = CudaBackend(devices.cuda_device())
    works = [Work(on, A, A, 0, lambda work, name=name: refuses(name)) for name in ("ILLEGAL_ADDRESS", "NOT_READY")]
    monkeypatch.setattr("helpers.launch.on_cuda.cuda.event", lambda timing: SimpleNamespace(record=lambda: None))
    with pytest.raises(KernelError, match=r"the GPU stopped a kernel: .*restart Python") as lost:
        works[0].timed(3)
    assert product_of(cuda_kernel("naive")).failure(lost.value).kind == "crash"
    with pytest.raises(RuntimeError, match="NOT_READY") as other:
        works[1].timed(3)
    assert not isinstance(other.value, KernelError)
