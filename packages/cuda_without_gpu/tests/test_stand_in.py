"""What is replaced inside Numba is still there, and a Numba that lacks it says so."""

import importlib.metadata
import os
import subprocess
import sys

import numpy as np
import pytest

import cuda_without_gpu
from cuda_without_gpu import before_numba, stand_in


def test_what_numba_has_no_more_is_said_with_its_version():
    """Each part of Numba that is replaced where there is no GPU goes through this."""
    held = type("held", (), {"there": 1})
    stand_in.replace(held, there=2)
    assert held.there == 2
    with pytest.raises(RuntimeError, match=r'^Numba [\d.]+ has no held\.gone, .*: pip install "numba'):
        stand_in.replace(held, gone=1)


OLDER = """
import cuda_without_gpu
cuda_without_gpu.enable()
from cuda.bindings._internal import nvjitlink
from cuda_without_gpu.before_numba import once_imported

def not_found(name):
    raise OSError(f"libnvJitLink.so.12, which has {name}: no such file")

def as_older():
    from numba.cuda import decorators
    from numba.cuda.cudadrv import runtime
    decorators._have_nvjitlink()
    del type(runtime.runtime).is_supported_version

nvjitlink._inspect_function_pointer = not_found
once_imported("numba.cuda.decorators", "__main__:as_older")
from numba import cuda
print(cuda.is_supported_version())
"""


def test_numba_is_imported_where_it_finds_no_linker_and_lacks_what_it_can_do_without():
    """As numba-cuda 0.19 was on Colab: both ended the import."""
    pytest.importorskip("cuda.bindings")
    done = subprocess.run([sys.executable, "-c", OLDER], capture_output=True, text=True, timeout=300)
    assert done.stdout == "True\n", done.stderr


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


def test_numba_cuda_finds_row_stack_where_numpy_has_dropped_it(monkeypatch):
    monkeypatch.delattr(np, "row_stack", raising=False)
    before_numba.keep_row_stack()
    assert np.row_stack is np.vstack
