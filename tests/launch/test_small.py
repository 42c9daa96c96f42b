"""Small rules of the room that other rooms lean on: complaints, words of an error."""

import numpy as np
import pytest

from helpers import cuda_kernel, devices, ladder, opencl_kernel
from helpers.launch import KernelError, operands
from helpers.launch.numba_internals import is_complaint
from helpers.launch.opencl import device_for


def test_numbas_errors_are_complaints_and_others_are_none():
    from numba.core.errors import TypingError

    assert is_complaint(TypingError("no")) and not is_complaint(ValueError("no")) and not is_complaint(None)


def test_a_device_that_is_named_or_given_is_taken_whatever_the_step_has():
    first, tiled = devices.opencl_device(), ladder.STEPS["tiled"]
    assert device_for(tiled, first) is first and device_for(tiled, first.name) == first
    with pytest.raises(devices.DeviceError, match="no such device"):
        device_for(tiled, "no such device")


@pytest.mark.parametrize("number, name", list(enumerate("MNKABC")))
def test_a_kernel_with_another_argument_is_refused_by_its_number_and_name(number, name):
    takes = [f"const int {one}" for one in "MNK"] + [f"__global const float *{one}" for one in "AB"]
    takes.append("__global float *C")
    takes[number] = ("const double " if number < 3 else "const int ") + name
    source = f"__kernel void naive({', '.join(takes)}) {{ }}"
    with pytest.raises(KernelError, match=rf"argument {number + 1}, {name}; it must"):
        opencl_kernel(source, like="naive")


@pytest.mark.parametrize("build, block", [(cuda_kernel, "block"), (opencl_kernel, "work-group")])
def test_a_kernel_of_ones_own_needs_the_step_whose_block_it_has(build, block):
    with pytest.raises(ValueError, match=f"whose {block} and grid"):
        build("a kernel\nof two lines")


def test_a_matrix_on_another_device_is_refused_with_both_names():
    k = opencl_kernel("naive")
    placed = k.place(np.ones((2, 2), np.float32))
    with pytest.raises(ValueError, match=rf"A lies on .*{k.device.name[:5]}.*; place it on the host first"):
        operands.as_placed("A", placed, None)
