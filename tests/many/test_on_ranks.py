"""MPI's ranks and Dask's workers multiply with the ladder's kernel; without them one line says what adds them."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import devices, many, needs, notebook
from helpers.launch import draw
from kernel_judge import wrong_elements
from summa import mpi

for package in ("mpi4py", "distributed"):
    pytest.importorskip(package, reason=f"{package} is not installed: python3 tools/install.py many")


def test_the_line_that_page_15_shows_for_a_terminal_is_right(tmp_path):
    page = (notebook.PAGES / "15_many_devices.ipynb").read_text("utf-8")
    [line] = set(re.findall(r"mpiexec .* FOLDER[^\\]*", page))
    (tmp_path / "hosts").write_text("one.cluster\ntwo.cluster\n")  # both are this machine: fork in place of ssh
    (tmp_path / ".venv").symlink_to(sys.prefix)
    bins = [str(Path(program).parent) for program in (sys.executable, mpi.mpiexec())]
    paths = dict(PATH=os.pathsep.join([*bins, os.environ["PATH"]]), PYTHONPATH=devices.python_path())
    A, B = draw(40, 41, 1030)
    np.save(tmp_path / "A.npy", A)
    np.save(tmp_path / "B.npy", B)
    command = shlex.split(re.sub(r"-n \d+", "-n 4", re.sub(r"-ppn \d+", "-ppn 2", line.replace("FOLDER", "."))))
    subprocess.run(command, cwd=tmp_path, env=dict(os.environ, HYDRA_LAUNCHER="fork", **paths), timeout=120, check=True)
    assert not wrong_elements(mpi.collected(tmp_path, 4, (40, 41, 1030)).C, A, B).any()


def test_ranks_and_workers_have_the_ladders_kernel_and_build_it_once():
    step = "register_2d" if devices.opencl_device().kind == "GPU" else "packed"
    A, B = draw(70, 50, 90)
    assert not wrong_elements(many.on_ranks(A, B, ranks=2).C, A, B).any()
    with many.cluster(workers=1, blocks=[(70, 50, 90)]) as client:
        assert not wrong_elements(client.submit(many.block_product, A, B).result(), A, B).any()
        built = client.run(lambda: (str(many.local_kernel()), many.local_kernel.cache_info().misses))
        assert [*built.values()] == [(f"{step} (OpenCL)", 1)]
        with pytest.raises(TypeError, match=r"A is <array of float64, shape .70, 90.>; give a NumPy array of float32"):
            client.submit(many.block_product, A.astype(np.float64), B).result()


def test_each_rank_has_a_gpu_of_its_own(monkeypatch):
    gpus = [SimpleNamespace(kind=kind) for kind in ("GPU", "CPU", "GPU")]
    monkeypatch.setattr(devices, "opencl_device", lambda: gpus[0])
    monkeypatch.setattr(devices, "opencl_devices", lambda: gpus)
    monkeypatch.setattr(devices, "problem_of", lambda device: None)
    monkeypatch.setattr(many, "opencl_kernel", lambda step, device: device)
    for rank, gpu in enumerate((0, 2, 0)):
        monkeypatch.setenv("SUMMA_RANK", str(rank))
        assert many.local_kernel.__wrapped__() is gpus[gpu]


def test_without_mpi_or_dask_one_line_says_what_adds_them(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ModuleNotFoundError) as raised:
        many.cluster(2).__enter__()
    assert re.match(r"MPI and Dask: not installed\. .*\[many\]", needs.line_of(raised.value))
