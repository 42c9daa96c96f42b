"""The old vocabulary: kernels of Numba's ROC page run, its words mean what they meant, and what is gone is said."""

import numpy as np
import pytest
from numba import float32

from old_roc import hsa, roc


def multiplies(kernel, groups, size, M, N, K):
    """Whether C, full of NaN before, is A @ B after kernel[groups, size](A, B, C)."""
    numbers = np.random.default_rng(1)
    A, B = numbers.random((M, K), np.float32), numbers.random((K, N), np.float32)
    C = np.full((M, N), np.nan, np.float32)
    with roc.register(A, B, C):
        kernel[groups, size](A, B, C)
    return np.allclose(C, A @ B, 1e-5, 0)


def test_the_blocked_kernel_is_right_where_the_page_says_and_the_naive_one_at_ragged_sizes():
    assert multiplies(hsa.blocked(4, 3), (3, 3), (4, 4), 12, 12, 12)
    assert multiplies(hsa.naive(), (2, 2), (4, 4), 5, 7, 3)


def test_every_form_of_the_decorator_makes_a_kernel():
    for decorator in (roc.jit, roc.jit(), roc.jit((float32[:, :],) * 3), roc.jit("void(f4[:,:], f4[:,:], f4[:,:])")):
        assert hasattr(decorator(lambda A, B, C: None), "py_func")


def test_ids_and_sizes_are_those_of_the_launch():
    @roc.jit(device=True)
    def place(dim):
        return roc.get_group_id(dim) * roc.get_local_size(dim) + roc.get_local_id(dim)

    @roc.jit
    def ask(out):
        i, j = roc.get_global_id(0), roc.get_global_id(1)
        out[i, j, 0] = place(0) == i and place(1) == j
        out[i, j, 1] = roc.get_global_size(0) * 10 + roc.get_num_groups(1)

    out = np.zeros((6, 4, 2), np.int32)
    ask[(3, 2), (2, 2)](out)
    assert (out[..., 0] == 1).all() and (out[..., 1] == 62).all()


def test_what_cannot_be_had_names_the_way_to_port():
    def old(A):
        i = roc.get_global_id(0)
        roc.activelanepermute_wavewidth(i, i, 0, False)

    for word in roc.ELSEWHERE:
        with pytest.raises(AttributeError, match=f"roc.{word} is not here. Port it: "):
            getattr(roc, word)
    with pytest.raises(AttributeError, match=r"Port it: cuda.shfl_sync"):  # as Numba meets it
        roc.jit(old)[1, 4](np.zeros(4, np.float32))


def test_a_launch_is_filled_up_and_a_result_of_one_element_is_no_size():
    @roc.jit
    def count(x, out):
        i = roc.get_global_id(0)
        if i < x.size:
            x[i] *= 2
        if i == 11:
            out[0] = roc.get_num_groups(0) * roc.get_num_groups(1)

    d_x, out = roc.to_device(np.arange(10, dtype=np.float32)), np.zeros(1, np.int32)
    count[(4, 1), 3](d_x, out)
    assert d_x.copy_to_host().tolist() == [0, 2, 4, 6, 8, 10, 12, 14, 16, 18] and out[0] == 4


def test_what_python_cannot_call_says_so():
    with pytest.raises(TypeError, match=r"^roc\.get_global_id works inside a kernel only"):
        roc.get_global_id(0)
    with pytest.raises(TypeError, match=r"roc\.register takes NumPy arrays, not list"), roc.register([1.0]):
        pass
