"""Counts, in both dialects and by the formula: three ways that agree, on ragged sizes too."""

import pytest
from few import SMALL

from helpers import cuda_kernel, ladder, opencl_kernel
from helpers.instruments import Traffic, predicted_traffic, trace, traffic
from helpers.launch import KernelError
from helpers.launch import dialect as dialect_called

SHAPES = {"CUDA": [(7, 10, 9), (1, 1, 1), (8, 8, 8)], "OpenCL": [(13, 6, 17)]}


@pytest.mark.parametrize(
    "dialect, step",
    [(d, s.name) for s in ladder.STEPS.values() for d in s.dialects if not (s.capability or s.by_shape)],
)
def test_the_machines_and_the_ladder_count_the_same(dialect, step):
    """A step of both dialects is counted by the PTX machine, by notes and by its formula."""
    k = dialect_called(dialect).build(step, **SMALL[step])
    for shape in SHAPES[dialect]:
        assert traffic(k, *shape) == predicted_traffic(k, *shape)


def test_packed_has_no_formula_and_is_traced_as_it_is_counted():
    k = opencl_kernel("packed", **SMALL["packed"])
    with pytest.raises(ValueError, match="packed has no formula of what it moves; count it"):
        predicted_traffic(k, 13, 6, 17)
    t, run = traffic(k, 13, 6, 17), trace(k, 13, 6, 17)
    seen = [len(run.where(memory=memory, writes=writes)) for memory in ("global", "shared") for writes in (False, True)]
    assert seen == [t.global_loads, t.global_stores, t.shared_loads, t.shared_stores]


def test_a_wasteful_kernel_is_counted_as_it_is():
    source = cuda_kernel("naive").source
    twice = source.replace("acc += A[row, k] * B[k, col]", "acc += A[row, k] * B[k, col] + 0 * A[row, k]")
    assert traffic(cuda_kernel(twice, like="naive", BM=4, BN=4), 5, 6, 7).global_loads == 3 * 5 * 6 * 7


def test_what_falls_with_the_ideas_of_page_16():
    packed, prefetched = (
        opencl_kernel("packed", **SMALL["packed"] | dict(BN=16)),
        opencl_kernel("prefetched"),
    )
    narrow = packed.source.replace("4 * PANEL", "2 * PANEL")
    narrow = traffic(opencl_kernel(narrow, like="packed", **packed.parameters), 5, 16, 8)
    short = prefetched.source.replace("k < BK; k++", "k < min(BK, K - k0); k++")
    short = traffic(opencl_kernel(short, like="prefetched"), 5, 16, 8)
    assert narrow.global_loads < traffic(packed, 5, 16, 8).global_loads
    assert short.shared_loads < traffic(prefetched, 5, 16, 8).shared_loads


def test_intensity_is_flop_per_byte():
    t = Traffic(4, 5, 6, 100, 20, 0, 0)
    assert t.bytes == 480 and t.intensity == 240 / 480


def test_a_kernel_that_fails_is_not_counted():
    wild = cuda_kernel(cuda_kernel("naive").source.replace("k < A.shape[1]", "k < 99"), like="naive", BM=4, BN=4)
    with pytest.raises(KernelError, match="cannot be followed: out of bounds at line 25"):
        traffic(wild, 5, 6, 7)
