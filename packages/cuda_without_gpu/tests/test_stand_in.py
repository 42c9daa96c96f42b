"""What is replaced inside Numba is still there, and a Numba that lacks it says so."""

import importlib.metadata
import os
import sys

import numpy as np
import pytest
from numba import cuda

import cuda_without_gpu
from cuda_without_gpu import before_numba, stand_in


def test_what_numba_has_no_more_is_said_with_its_version():
    """Each part of Numba that is replaced where there is no GPU goes through this."""
    held = type("held", (), {"there": 1})
    stand_in.replace(held, there=2)
    assert held.there == 2
    with pytest.raises(RuntimeError, match=r'^Numba [\d.]+ has no held\.gone, .*: pip install "numba'):
        stand_in.replace(held, gone=1)


def test_numba_looks_for_no_linker_and_is_supported():
    """As numba-cuda 0.19 was on Colab: both ended the import."""
    cuda.cudadrv.driver._have_nvjitlink = lambda: 1 / 0
    stand_in.ask_for_no_linker()
    assert cuda.cudadrv.driver._have_nvjitlink() and cuda.is_supported_version()


def test_an_old_numba_cuda_is_told_to_do_without_nvidias_bindings_beside_another_package_of_nvidias(monkeypatch):
    """numba-cuda 0.15 beside cuda-pathfinder, which makes a folder `cuda`, too: the import failed."""
    asked = "NUMBA_CUDA_USE_NVIDIA_BINDING"

    def not_installed(package):
        raise importlib.metadata.PackageNotFoundError

    monkeypatch.setenv(asked, "is put back after the test")
    monkeypatch.delenv(asked)
    monkeypatch.setattr(importlib.metadata, "version", not_installed)
    cuda_without_gpu.enable()
    assert os.environ[asked] == "0"


def test_a_simulator_that_was_loaded_is_refused_and_one_that_is_asked_for_is_not(monkeypatch):
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")
    before_numba.let_numba_load()
    monkeypatch.setitem(sys.modules, "numba.cuda.simulator_init", None)
    before_numba.let_numba_load()  # which nobody asks for now
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")
    with pytest.raises(ImportError, match="NUMBA_ENABLE_CUDASIM=1 has made Numba load its simulator"):
        before_numba.let_numba_load()


def test_numba_cuda_finds_row_stack_where_numpy_has_dropped_it(monkeypatch):
    monkeypatch.delattr(np, "row_stack", raising=False)
    before_numba.keep_row_stack()
    assert np.row_stack is np.vstack
