"""What the course takes from inside Numba is still there and does what it did. Each test says which hook broke."""

from types import SimpleNamespace

import pytest
from numba import cuda, float32

from helpers.launch import numba_internals as hooks


@cuda.jit
def kernel(X):
    X[0] = 1


@cuda.jit(device=True)
def function(x):
    return x


def test_what_is_jitted_is_known_with_the_function_inside():
    assert hooks.is_jitted(kernel) and hooks.is_jitted(function), "what @cuda.jit returns is no longer recognised"
    assert not hooks.is_jitted(len) and not hooks.is_jitted("kernel")
    assert hooks.plain_function(kernel).__name__ == "kernel", "the function inside @cuda.jit is no longer its py_func"
    assert hooks.plain_function(len) is None
    assert hooks.is_device_function(function), "device functions are no longer told from kernels"
    assert not hooks.is_device_function(kernel)


def test_the_ptx_keeps_the_bounds_of_a_launch():
    bounded = cuda.jit(launch_bounds=(64, 2))(kernel.py_func)
    text = hooks.compile_ptx(bounded, (float32[:],), (8, 0))
    assert ".maxntid 64" in text and ".minnctapersm 2" in text


def refused(inst, *inner):
    if inner:
        refused(*inner)
    raise ValueError("refused")


def test_the_statement_that_numba_had_in_hand_last_is_the_first_place():
    statements = [SimpleNamespace(loc=SimpleNamespace(filename="kernel.py", line=line)) for line in (7, 3)]
    with pytest.raises(ValueError, match="refused") as error:
        refused(*statements)
    assert hooks.places_of(error.value) == [("kernel.py", 3), ("kernel.py", 7)]
