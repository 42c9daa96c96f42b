"""Bad values at the doors: sizes, names, arrays and numbers are refused with the value and the remedy."""

import numpy as np
import pytest

import helpers
from helpers import clock, cuda_kernel, devices, instruments, launch, many, opencl_kernel, pictures
from helpers.arguments import integer, sizes, some, told
from kernel_judge import wrong_elements

CL, CU = opencl_kernel("tiled", TILE=4), cuda_kernel("tiled", TILE=4)
A, B = np.ones((3, 4), np.float32), np.ones((4, 5), np.float32)
REFUSED = [
    # sizes
    (lambda: helpers.measure(np.matmul, 1.5), r"M=1\.5 does not do; give an integer from 1"),
    (lambda: helpers.check(CL, [(1, 2)]), r"\(1, 2\) is no size"),
    (lambda: launch.draw(True, 4, 4), "M=True does not do"),
    (lambda: instruments.trace(CL, 4, 4, "4"), "K='4' does not do"),
    (lambda: instruments.run_ptx("tiled", 4, 4, 0.5), r"K=0\.5 does not do"),
    (lambda: instruments.predicted_traffic(CL, 2**31, 8, 8), "from 1 to 2147483647"),
    # names
    (lambda: opencl_kernel("tiled", "no such device"), "no such device"),
    (lambda: instruments.predict("tiled", "A1000000", 8, 8, 8), "A1000000"),
    (lambda: helpers.compiler_report("tiled", "sm_1"), "'sm_1' is none of the architectures"),
    (lambda: launch.dialect("HIP"), "unknown dialect 'HIP'. The dialects are: CUDA"),
    # arrays
    (lambda: wrong_elements(A, A, B), r"give numbers of shape \(3, 5\)"),
    (lambda: helpers.check("tiled"), "'tiled' is neither a built kernel nor a function"),
    # numbers
    (lambda: clock.scoreboard(8, "OpenCL", "tiled", rounds=0), "rounds=0 does not do"),
    (lambda: many.streamed(CL, 10)(A, B), "a budget of 10 bytes holds no tile"),
    # what would take minutes
    (lambda: instruments.trace(CL, 1000, 1000, 1000), "stay at 32 x 32 x 32 or so"),
    (lambda: instruments.run_ptx("naive", 1, 1, 10**9), "stay at M . N . K <= 268435456"),
    (lambda: pictures.picture_owners(CL, 180, 180), "such as 64 x 64"),
    (lambda: pictures.film(CL, 180, 180, 1).html(), "such as 64 x 64"),
]


@pytest.mark.parametrize("call, says", REFUSED, ids=[says for _, says in REFUSED])
def test_what_is_none_of_its_values_is_refused_with_a_remedy(call, says):
    with pytest.raises((TypeError, ValueError, MemoryError, devices.DeviceError), match=says):
        call()


def test_what_is_right_is_taken_in_each_of_its_forms():
    assert sizes(7) == sizes(np.int16(7)) == sizes([7, 7, 7]) == sizes(np.array([7, 7, 7])) == (7, 7, 7)
    assert all(type(n) is int for n in (*sizes(np.array([1, 2, 3])), integer("p", np.uint8(3))))
    assert integer("p", 2, 2, 4) == 2 and integer("p", 4, 2, 4) == 4
    assert some("steps", "tiled") == ["tiled"] and some("steps", iter("ab")) == ["a", "b"]
    assert helpers.check(CL, [np.array([3, 4, 5]), 7]).largest == (7, 7, 7)
    strided = np.ones((3, 8), np.float32)[:, ::2]
    for k in (CL, CU, launch.HostKernel(np.matmul)):
        for X in (strided, np.asfortranarray(A), A[:, ::-1]):
            work = k.upload(X, B)
            work.launch()
            assert np.array_equal(work.download(), X @ B)


@pytest.mark.parametrize("values", ["", [], {"a": 1}, None, 3])
def test_a_list_has_one_thing_at_least(values):
    with pytest.raises(ValueError, match="does not do; give at least one, in a list"):
        some("steps", values)


@pytest.mark.parametrize("value", [0, 5, 2.5, None, True, "3", 10**400])
def test_an_integer_has_a_least_and_a_most(value):
    with pytest.raises(ValueError, match=r"^p=.* does not do; give an integer from 1 to 4\.$"):
        integer("p", value, 1, 4)


def test_an_error_names_a_value_by_what_is_short():
    assert told(np.zeros((2, 3), np.float32)) == "<array of float32, shape (2, 3)>"
    assert len(told(-(10**400))) < 50 and told("a" * 99) == f"'{'a' * 12}...{'a' * 13}'"
    assert told([1] * 99) == "[1, 1, 1, 1, 1, 1, ...]"
