"""The course's kernels with no GPU: natively, or on the PTX machine. `cuda_without_gpu/tests` has plain Numba."""

import subprocess
import sys

import numpy as np
import pytest

from helpers import check, cuda_kernel, devices, opencl_kernel
from helpers.launch import draw

pytestmark = pytest.mark.skipif(not devices.compiling(), reason="CUDA runs on a GPU")


natively = pytest.mark.skipif(not devices.spirv_device(), reason="no OpenCL device takes SPIR-V")


@natively
def test_on_one_device_both_dialects_have_the_same_sizes():
    k, twin = cuda_kernel("register_2d"), opencl_kernel("register_2d", devices.spirv_device().name)
    assert k.device.handle == twin.device.handle and k.parameters == twin.parameters
    A, B = draw(300, 200, 77)
    assert np.abs(k(A, B) - twin(A, B)).max() < 1e-4


@natively
def test_what_is_not_there_natively_stays_on_the_ptx_machine():
    source = cuda_kernel("naive").source.replace("C[row, col] =", "print(row); C[row, col] =")
    k = cuda_kernel(source, like="naive", BM=4, BN=4)
    assert not k.untimed and check(k, [(3, 5, 7)]) and k.untimed and k(*draw(3, 5, 7)).shape == (3, 5)


def test_where_pyopencl_is_broken_cuda_runs_on_the_ptx_machine(monkeypatch):
    monkeypatch.setattr(devices, "opencl_device", lambda: 1 / 0)
    assert devices.cuda_device.__wrapped__() is devices.PTX_MACHINE


WITHOUT_NUMBA_CUDA = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "NumbaCudaFinder"]
import numpy as np
from helpers import cuda_kernel
A, B = np.random.default_rng(1).random((2, 16, 16), np.float32)
k = cuda_kernel("vectorized", BM=8, BN=8, BK=8, TM=4, TN=4)
assert np.allclose(k(A, B), A @ B, rtol=1e-5)
print("numba_cuda" in sys.modules)
"""


def test_wide_loads_run_where_numba_cuda_is_missing():
    """As on macOS, for which numba-cuda has no wheels: `load4` and `alignment` are there, too."""
    said = subprocess.run([sys.executable, "-c", WITHOUT_NUMBA_CUDA], capture_output=True, text=True, timeout=600)
    assert said.stdout == "False\n", said.stderr
