"""Loads and stores of four: on the PTX machine here, on a GPU by the same names, one instruction when compiled."""

import numpy as np
from needed import needs_compiler
from numba import cuda

from helpers import coalescing, cuda_kernel, traffic
from helpers.cuda.intrinsics import load4, store4
from helpers.instruments.prediction import ptx_of

DOUBLED = """
from numba import cuda
from helpers.cuda.intrinsics import load4, store4

@cuda.jit
def doubled(A, B, C):
    row, col = cuda.grid(2)
    if row < A.shape[0] and 4 * col < A.shape[1]:
        a, b, c, d = load4(A, row, 4 * col)
        store4(C, row, 4 * col, (2 * a, 2 * b, 2 * c, 2 * d))
"""


@cuda.jit
def turned_about(X, Y):
    i = cuda.grid(1)
    a, b, c, d = load4(X, i, 4)
    store4(Y, i, 0, (d, c, b, a))


def test_four_numbers_go_where_they_should():
    X = np.arange(24, dtype=np.float32).reshape(3, 8)
    d_Y = cuda.to_device(np.zeros((3, 4), np.float32))
    turned_about[1, 3](cuda.to_device(X), d_Y)
    np.testing.assert_array_equal(d_Y.copy_to_host(), X[:, :3:-1])


@needs_compiler
def test_a_load_of_four_is_one_instruction():
    size = dict(BM=128, BN=128, BK=16, TM=8, TN=8)
    text, other = (ptx_of(cuda_kernel(step, **size), "sm_90") for step in ("vectorized", "register_2d"))
    for wide in ("ld.global.v4.f32", "ld.shared.v4.f32", "st.shared.v4.f32"):
        assert wide in text, f"no {wide}"
    assert "ld.global.v4.f32" not in other


def test_a_watched_load_of_four_is_four_elements_and_one_instruction():
    k = cuda_kernel(DOUBLED, like="naive", BM=2, BN=2)
    counted = traffic(k, 2, 8, 8)
    assert (counted.global_loads, counted.global_stores) == (16, 16)
    for row in coalescing(k, 2, 8, 8).rows:  # four threads of one warp, 16 bytes each: 64 bytes, two sectors
        assert (row.instructions, row.pieces, row.fewest) == (1, 2, 2) and row.what in ("load A", "store C")
