"""A GPU that a kernel has made unusable says so in plain words. Stand-ins raise what a driver would."""

from types import SimpleNamespace

import numpy as np
import pytest

from helpers import cuda_kernel, devices
from helpers.checking.run_check import product_of
from helpers.launch import KernelError
from helpers.launch.cuda import STOPPED, CudaBackend, told_plainly
from helpers.launch.kernel import Work

A = np.ones((4, 4), np.float32)


def refuses(name):
    def call(*arguments, **more):
        raise RuntimeError(f"[700] Call to cuEventSynchronize results in CUDA_ERROR_{name}")

    return call


@pytest.mark.parametrize("name", STOPPED)
def test_an_error_that_costs_the_gpu_says_what_happened_and_what_to_do(name):
    with pytest.raises(KernelError, match=f"(?s)the GPU stopped a kernel.*{name}.*restart Python"), told_plainly():
        refuses(name)()


def test_other_errors_stay_as_they_are():
    with pytest.raises(RuntimeError, match="NOT_READY") as caught, told_plainly():
        refuses("NOT_READY")()
    assert not isinstance(caught.value, KernelError)


@pytest.mark.skipif(not devices.compiling(), reason="a GPU's own arrays take no stand-ins")
def test_launching_and_downloading_tell_it_plainly(monkeypatch):
    on = CudaBackend(devices.cuda_device())
    work = Work(on, A, A, 0, lambda work: refuses("ILLEGAL_ADDRESS"))
    monkeypatch.setattr("helpers.launch.cuda.cuda.event", lambda timing: SimpleNamespace(record=lambda stream: None))
    with pytest.raises(KernelError, match="restart Python"):
        work.timed(3)
    monkeypatch.setattr(type(work.C), "copy_to_host", refuses("ILLEGAL_ADDRESS"))
    with pytest.raises(KernelError, match="restart Python"):
        work.download()
    monkeypatch.setattr("helpers.launch.cuda.cuda.device_array", refuses("ILLEGAL_ADDRESS"))
    with pytest.raises(KernelError, match="restart Python"):
        Work(on, A, A, 0, lambda work: None)


def test_a_check_names_it_a_crash():
    with pytest.raises(KernelError) as caught, told_plainly():
        refuses("ILLEGAL_ADDRESS")()
    assert product_of(cuda_kernel("naive")).failure(caught.value).kind == "crash"
