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


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match=r"is neither a built kernel nor a function of .A, B.*Build a kernel first"):
        contestant(jitted)
    with pytest.raises(TypeError, match=r"^3 is neither"):
        contestant(3)


def test_numbers_of_another_type_are_taken():
    assert (HostKernel(lambda A, B: np.ones((2, 3), np.uint64))(*draw(2, 3, 4)) == 1).all()


def test_a_function_may_write_to_its_operands():
    A, B = np.ones((2, 3), np.float32), np.ones((3, 4), np.float32)

    def spoil(A, B):
        C = A @ B
        A[:] = B[:] = 0
        return C

    assert (HostKernel(spoil)(A, B) == 3).all() and (A == 1).all() and (B == 1).all()


def test_what_is_not_c_is_named():
    with pytest.raises(NotYet, match="it returns None"):
        HostKernel(lambda A, B: None)(*draw(2, 4, 3))
    with pytest.raises(ValueError, match=r"it returns shape \(3, 4\) where C is \(2, 4\)"):
        HostKernel(lambda A, B: B)(*draw(2, 4, 3))
