"""The tests launch plain `@cuda.jit` kernels, with no GPU. In the course's own checkout `helpers` has seen to that."""

import pytest
from numba import cuda

import cuda_without_gpu

if not cuda.is_available():
    cuda_without_gpu.enable()


@pytest.fixture(autouse=True, scope="session")
def with_no_gpu():
    if "no GPU" not in repr(cuda.get_current_device()):
        pytest.skip("CUDA runs on a GPU")
