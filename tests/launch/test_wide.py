"""Loads and stores of four: on the PTX machine here, on a GPU by the same names."""

import numpy as np
from numba import cuda

from helpers.cuda.intrinsics import load4, store4


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
