"""The libraries beside the ladder: right where they are here, `Missing` with a remedy where they are not.

NumPy stands in for PyTorch and for CuPy, so that their calls are tested on a machine that has neither. (No test here
depends on speed.)
"""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import check, devices, measure
from helpers.clock import libraries
from helpers.devices import Device
from helpers.launch import on_cuda

SHAPES = [(1, 1, 1), (5, 7, 3), (33, 65, 17)]


def torch_that(matmul):
    return SimpleNamespace(__version__="9.8", from_numpy=lambda X: X, matmul=matmul)


@pytest.fixture
def gpu(monkeypatch):
    """A stand-in for the GPU, in the host's memory, whose list of calls it gives. Skips on a real GPU."""
    if not devices.compiling():
        pytest.skip("CUDA runs on a GPU here, where cuBLAS itself is tested")
    calls = []

    class Event:
        def __init__(self, timing):
            assert timing
            self.synchronize = lambda: calls.append("synchronize")

        def record(self):
            self.at = 2.0 * calls.count("dot")  # milliseconds: two a product
            calls.append("record")

    monkeypatch.setattr(devices, "cuda_device", lambda: Device("CUDA", "a GPU", "GPU", "none", 1024, 49152, None))
    monkeypatch.setattr(on_cuda.cuda, "event", Event)
    monkeypatch.setattr(on_cuda.cuda, "event_elapsed_time", lambda start, stop: stop.at - start.at, raising=False)
    return calls


@pytest.mark.parametrize("name", libraries.LIBRARIES)
def test_what_is_here_is_right_and_its_row_says_what_it_is(name):
    k = libraries.find(name)
    if isinstance(k, libraries.Missing):
        pytest.skip(f"{name}: {k.remedy}")
    assert check(k, SHAPES)
    t = measure(k, (5, 7, 3))
    device = devices.cuda_device().name if name == "cuBLAS" else "host"
    assert (t.step, t.dialect, t.device) == (name, libraries.LIBRARIES[name][0], device)
    assert set(t.parameters) == {"version"} and t.seconds > 0 and t.build_seconds == 0


def test_the_host_comes_first_and_then_the_dialects(monkeypatch):
    monkeypatch.setattr(libraries, "find", lambda name: name)
    assert libraries.peers() == libraries.peers(["CUDA"]) == ["PyTorch", "cuBLAS"]
    assert libraries.peers([]) == libraries.peers(["OpenCL"]) == ["PyTorch"]


def test_a_stand_in_for_pytorch_is_right(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", torch_that(np.matmul))
    k = libraries.find("PyTorch")
    assert check(k, SHAPES)
    with pytest.raises(ValueError, match="the columns of A"):  # it is called like a kernel
        k(np.ones((2, 3), np.float32), np.ones((2, 3), np.float32))
    t = measure(k, (5, 7, 3))
    assert (t.dialect, t.step, t.device, t.parameters) == ("Python", "PyTorch", "host", {"version": "9.8"})


def test_a_stand_in_for_cublas_is_right_and_is_timed_between_two_events(monkeypatch, gpu):
    def dot(A, B, out):
        gpu.append("dot")
        np.dot(A, B, out=out)

    cupy = SimpleNamespace(__version__="9.8", asarray=lambda X: X._ary, dot=dot)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    k = libraries.find("cuBLAS")
    assert gpu == ["record", "dot", "record", "synchronize"]
    assert check(k, SHAPES)
    t = measure(k, (5, 7, 3))
    assert (t.dialect, t.step, t.device, t.parameters) == ("CUDA", "cuBLAS", "a GPU", {"version": "CuPy 9.8"})
    assert t.seconds == pytest.approx(0.002)


def test_what_is_not_installed_is_missing_with_its_remedy(monkeypatch, gpu):
    for name in ("torch", "cupy"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(devices, "cuda_extra", lambda: "cuda12")
    torch, cupy = libraries.peers(["CUDA"])
    line = "to add it: pip install torch --index-url https://download.pytorch.org/whl/cpu"
    assert torch == libraries.Missing("PyTorch", "Python", line)
    assert cupy == libraries.Missing("cuBLAS", "CUDA", 'to add it: pip install "cupy-cuda12x[ctk]"')


def test_without_a_gpu_there_is_no_cublas():
    if not devices.compiling():
        pytest.skip("CUDA runs on a GPU here")
    assert libraries.find("cuBLAS") == libraries.Missing("cuBLAS", "CUDA", "needs an NVIDIA GPU")


def past_the_end(A, B, out):
    np.matmul(A, B, out=out)
    out.base[out.size] = 0


def broken(A, B, out):
    raise RuntimeError("no kernel for this processor\nand much more")


@pytest.mark.parametrize(
    "matmul, words",
    [
        (lambda A, B, out: np.matmul(A[:, :-1], B[:-1], out=out), "wrong numbers"),
        (past_the_end, "wrote 1 elements past the end of C"),
        (broken, "is installed but fails: no kernel for this processor"),
    ],
)
def test_a_library_that_is_wrong_or_fails_is_missing(monkeypatch, matmul, words):
    monkeypatch.setitem(sys.modules, "torch", torch_that(matmul))
    k = libraries.find("PyTorch")
    assert isinstance(k, libraries.Missing) and words in k.remedy and "more" not in k.remedy
