"""A function of (A, B) is a contestant: what it returns is looked at, and what is no such function is refused."""

import numpy as np
import pytest
from numba import cuda

from helpers.launch import HostKernel, NotYet, draw
from helpers.launch.kernel import contestant


def test_a_function_is_called_by_its_name_and_a_contestant_is_one_already():
    k = contestant(np.matmul)
    assert (str(k), k.dialect, k.step, k.device) == ("matmul", "Python", None, None)
    assert contestant(k) is k
    assert HostKernel(type("Nameless", (), {"__call__": lambda self, A, B: A @ B})()).name == "your function"


@cuda.jit
def jitted(A, B, C):
    pass


@pytest.mark.parametrize(
    "given, says",
    [
        (jitted, "is neither a built kernel nor a function of .A, B.*Build a kernel first"),
        (3, "3 is neither a built kernel nor a function"),
    ],
)
def test_what_is_no_function_is_refused(given, says):
    with pytest.raises(TypeError, match=says):
        contestant(given)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float16, np.float64, complex])
def test_numbers_of_every_kind_are_taken(dtype):
    A, B = draw(2, 3, 4)
    assert (HostKernel(lambda A, B: np.ones((2, 3), dtype))(A, B) == 1).all()


def test_a_function_may_write_to_its_operands():
    A, B = np.ones((2, 3), np.float32), np.ones((3, 4), np.float32)

    def spoil(A, B):
        C = A @ B
        A[:] = B[:] = 0
        return C

    assert (HostKernel(spoil)(A, B) == 3).all() and (A == 1).all() and (B == 1).all()


@pytest.mark.parametrize(
    "function, error, says",
    [
        (lambda A, B: None, NotYet, "it returns None"),
        (lambda A, B: B, ValueError, r"it returns shape \(3, 4\) where C is \(2, 4\)"),
    ],
)
def test_what_is_not_c_is_named(function, error, says):
    with pytest.raises(error, match=says):
        HostKernel(function)(*draw(2, 4, 3))
