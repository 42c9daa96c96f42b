"""The scoreboard, the libraries on it, and the files that keep it. (No test here depends on speed.)"""

import dataclasses
import getpass
import json
import platform
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from cuda_without_gpu.memory import array_of
from helpers import devices, ladder
from helpers.clock import Limits, Scoreboard, Timing, read_results, record, scoreboard, scoreboards, timing
from helpers.devices import Device
from helpers.launch import HostKernel, draw, on_cuda
from helpers.launch.on_opencl import opencl_kernel
from kernel_judge import wrong_elements


def made():
    """NumPy 4 s, a library 2 s, our kernel 1 s; in the second round ours is twice as slow."""

    def timed(dialect, step, seconds):
        return Timing(dialect, step, 8, 8, 8, seconds, 0.0, "a device", {"TILE": 4})

    timings = timed("Python", "numpy_matmul", 4.0), timed("OpenCL", "CLBlast", 2.0), timed("OpenCL", "tiled", 1.0)
    seconds = (4.0, 4.0, 4.0), (2.0, 2.0, 2.0), (1.0, 2.0, 1.0)
    return Scoreboard(8, 8, 8, timings, seconds, 2 * 8 * 64 / 0.5, "a device", "a library")


def test_numpy_has_no_share_of_a_gpus_peak_and_competes_with_itself_there():
    board = made()
    numpy, *others = board.timings
    on_gpu = dataclasses.replace(board, timings=(dataclasses.replace(numpy, device="host"), *others))
    assert on_gpu.of_peak(0) is None and on_gpu.library(0) == 0 and on_gpu.library(2) == 1


def test_the_table_word_by_word():
    assert repr(made()).splitlines() == [
        "8 x 8 x 8, 3 rounds              time  GFLOP/s  of peak  of NumPy  of the fastest library, if another",
        "NumPy                             4 s      0.0      12%     1.00x  0.50x CLBlast (0.50 to 0.50)",
        "CLBlast (OpenCL)                  2 s      0.0      25%     2.00x",
        "tiled (OpenCL)                    1 s      0.0      50%     4.00x  2.00x CLBlast (1.00 to 2.00)",
        "OpenCL: a device, NumPy: a library",
    ]  # all as narrow as a page in JupyterLab: 110 characters


@pytest.mark.parametrize("kind, peak", [("CPU", 7e9), ("GPU", 6e9)])
def test_the_median_round_counts_and_no_share_of_the_peak_is_above_one(monkeypatch, kind, peak):
    device = dataclasses.replace(devices.opencl_device(), kind=kind)
    rates = {"numpy_matmul": iter([6e9, 8e9, 7e9]), "naive (OpenCL)": iter([5e9, 1e9, 3e9])}

    def timed(k, size, *_):
        seconds = 2 * 16**3 / next(rates[str(k)])
        return Timing(k.dialect, k.step or str(k), 16, 16, 16, seconds, 0.0, device.name if k.device else "host", {})

    monkeypatch.setattr(timing, "measure", timed)
    monkeypatch.setattr(devices, "opencl_device", lambda *_: device)
    monkeypatch.setattr(scoreboards, "machine_limits", lambda: Limits(device.name, 6e9, 1e9))
    board = scoreboard(16, ["OpenCL"], ["naive"], libraries=False)
    assert [1e9 * t.gflops for t in board.timings] == pytest.approx([7e9, 3e9])
    assert [len(seconds) for seconds in board.seconds] == [3, 3]
    assert (board.peak, board.device) == (pytest.approx(peak), device.name)
    assert board.of_peak(0) == (pytest.approx(1) if kind == "CPU" else None)


def test_a_learners_kernel_stands_last_under_a_name_of_its_own(monkeypatch):
    monkeypatch.setattr(scoreboards, "machine_limits", lambda: Limits("a device", 6e9, 1e9))
    k = opencl_kernel(opencl_kernel("naive").source, like="naive")
    k.checked = True
    board = scoreboard(16, ["OpenCL"], ["naive"], libraries=False, rounds=1, mine=[k])
    assert [t.label for t in board.timings] == ["numpy_matmul", "naive (OpenCL)", "your naive (OpenCL)"]


def test_who_is_wrong_ends_the_contest(monkeypatch):
    def wrong(A, B):
        return A @ B + 1

    monkeypatch.setattr(scoreboards, "installed", lambda dialects: [HostKernel(wrong)])
    with pytest.raises(ValueError, match=r"^wrong is wrong at 16 x 16 x 16"):
        scoreboard(16, ["OpenCL"], ["naive"], rounds=1)


def test_pytorch_is_right_and_its_row_says_what_it_is(monkeypatch):
    stand_in = SimpleNamespace(from_numpy=lambda X: X, matmul=lambda A, B: SimpleNamespace(numpy=lambda: A @ B))
    monkeypatch.setitem(sys.modules, "torch", stand_in)
    [k] = scoreboards.installed({"Python", "OpenCL"})
    A, B = draw(33, 65, 17)
    assert not wrong_elements(k(A, B), A, B).any() and (k.dialect, str(k), k.device) == ("Python", "PyTorch", None)


@pytest.mark.skipif(not devices.compiling(), reason="CUDA runs on a GPU here, where cuBLAS itself is tested")
def test_cublas_is_right_and_there_where_cupy_is(monkeypatch):
    """NumPy stands in for CuPy, and the host's memory for the GPU's."""
    monkeypatch.setattr(devices, "cuda_device", lambda: Device("CUDA", "a GPU", "GPU", "none", 1024, 49152))
    monkeypatch.setattr(on_cuda.CudaBackend, "timed", lambda on, multiply, launches: multiply())
    for missing in ("torch", "cupy"):
        monkeypatch.setitem(sys.modules, missing, None)
    assert scoreboards.installed({"OpenCL", "CUDA"}) == []
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(asarray=array_of, dot=np.dot))
    assert scoreboards.installed({"OpenCL"}) == []
    [k] = scoreboards.installed({"CUDA"})
    A, B = draw(33, 65, 17)
    assert not wrong_elements(k(A, B), A, B).any()
    assert (k.dialect, str(k), k.device.name) == ("CUDA", "cuBLAS", "a GPU")


@pytest.mark.parametrize(
    "cuda, opencl, groups",
    [
        ("PTX machine", "CPU (PoCL)", [(["OpenCL"], "CPU")]),
        ("GPU", "GPU", [(["CUDA", "OpenCL"], "GPU")]),
        ("GPU", "CPU", [(["OpenCL"], "CPU"), (["CUDA"], "GPU")]),
    ],
)
def test_each_device_is_recorded_at_its_own_sizes(tmp_path, monkeypatch, capsys, cuda, opencl, groups):
    """With the devices and the contests played. What is read is what was measured; no file names the machine."""
    found = [Device("CUDA", "NVIDIA H200#1", cuda, "CUDA 13", 1024, 49152)]
    found.append(Device("OpenCL", "AMD EPYC", opencl, "a driver", 1024, 49152))
    asked = []

    def measured(size, dialects, steps):
        asked.append((size, dialects, steps))
        M, N, K = (size,) * 3 if isinstance(size, int) else size
        return dataclasses.replace(made(), M=M, N=N, K=K)

    dialects = [SimpleNamespace(device=lambda step, name, one=one: one) for one in found]
    monkeypatch.setattr(scoreboards, "dialects_called", lambda names: dialects)
    monkeypatch.setattr(scoreboards, "scoreboard", measured)
    path = record(tmp_path / "of" / "mine")  # which is made
    assert path.name == ("AMD-EPYC.json" if cuda == "PTX machine" else "NVIDIA-H200-1.json")
    for names, kind in groups:
        sizes = [size for size, of, _ in asked if of == names]
        assert sizes == scoreboards.LARGE[kind] + scoreboards.SMALL[kind]
        steps = {size: steps for size, of, steps in asked if of == names}
        assert ("packed" in steps[512]) == (kind == "CPU") and steps[512][0] == "naive"
        assert steps[sizes[0]][0] == "register_2d" and {*steps[512]} <= {*ladder.rungs()}
    [machine] = read_results(path.parent)
    assert [(b.M, b.N, b.K) for b in machine.boards] == [timing.sizes(size) for size, *_ in asked]
    board, read = made(), machine.boards[-1]
    assert list(map(tuple, read.seconds)) == list(board.seconds) and tuple(read.timings) == board.timings
    assert (read.peak, read.device, read.blas) == (board.peak, board.device, board.blas)
    assert capsys.readouterr().out.count("of the fastest library") == len(asked)
    text = path.read_text()
    about = json.loads(text)
    assert about["device"] == ("AMD EPYC" if cuda == "PTX machine" else "NVIDIA H200#1")
    assert about["drivers"]["OpenCL: AMD EPYC"] == "a driver" and about["versions"]["numpy"] == np.__version__
    assert platform.node() not in text and f"/{getpass.getuser()}" not in text and str(tmp_path) not in text


def test_a_folder_that_takes_no_record_is_named_before_anything_is_timed(monkeypatch):
    monkeypatch.setattr(scoreboards, "scoreboard", lambda *what: pytest.fail("timed"))
    with pytest.raises(OSError, match="/dev/null"):
        record("/dev/null/x")
