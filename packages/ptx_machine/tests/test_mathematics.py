"""Functions of NVIDIA's library: against Python's `math`, and against identities where that has none."""

import math

import numpy as np
import pytest

from ptx_machine.mathematics import mathematics


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


def of(name, *values):
    """What a function gives for one number each: the results, as Python's numbers."""
    takes, _, function = mathematics()[f"__nv_{name}"]
    dtypes = {"f": "f", "s": "i", "u": "u", "b": "u"}
    kinds = [kind for kind in takes if kind != "p64"]
    given = [
        np.array([value], f"{dtypes[kind[0]]}{int(kind[1:]) // 8}") for kind, value in zip(kinds, values, strict=True)
    ]
    found = [one[0].item() for one in function(*given)]
    return found[0] if len(found) == 1 else found


IN_MATH = (
    "acos acosh asin asinh atan atanh ceil cos cosh erf erfc exp exp2 expm1 fabs floor log log10 log1p log2 sin sinh "
)
IN_MATH += "sqrt tan tanh trunc cbrt"


@pytest.mark.parametrize("name", IN_MATH.split())
def test_as_math_has_them(name):
    for value in (0.3, 0.9, 0.01) if name != "acosh" else (1.2, 3.0):
        exact = getattr(math, name)(value)
        assert math.isclose(of(name, value), exact, rel_tol=1e-15)
        assert of(f"{name}f", value) == np.float32(getattr(math, name)(float(np.float32(value))))  # rounded once


def test_others():
    assert of("tgamma", 5.0) == 24 and math.isinf(of("tgamma", 0.0)) and math.isnan(of("tgamma", -2.0))
    assert of("lgamma", 100.0) == math.lgamma(100) and of("hypot", 3.0, 4.0) == 5 and of("powi", 2.0, -3) == 0.125
    assert of("frexp", 10.0) == [0.625, 4] and of("modf", -2.5) == [-0.5, -2.0] and of("ldexp", 0.5, 4) == 8
    assert of("sincos", 1.0) == [math.sin(1), math.cos(1)] and of("sinpi", 1.0) == 0 and of("cospi", 0.5) == 0
    assert math.isclose(of("sinpi", 1 / 6), 0.5) and math.isclose(of("cospi", 2 / 3), -0.5)
    for x, y in ((7.3, 2.0), (-7.3, 2.0), (7.3, -2.0), (5.0, 2.0), (3.0, 2.0)):
        rest, many = of("remquo", x, y)
        assert rest == math.remainder(x, y) and many == int(
            math.copysign(round((x - rest) / y) % 8 if x * y > 0 else -round((x - rest) / y) % 8, x * y)
        )
    assert [of("round", x) for x in (0.5, -0.5, 2.5, 0.49999999999999994)] == [1, -1, 3, 0]
    assert [of("ilogb", x) for x in (8.0, 0.0, math.inf)] == [3, -(2**31), 2**31 - 1] and of("logb", 0.75) == -1
    assert of("hiloint2double", 0x3FF00000, 0) == 0x3FF0000000000000 and of("ffs", 12) == 3 and of("ffsll", 0) == 0
    assert of("rhadd", 3, 4) == 4 and of("uhadd", 2**32 - 1, 2**32 - 1) == 2**32 - 1 and of("hadd", -3, 0) == -2
    assert (
        of("dadd_ru", 1.0, 1e-30) == math.nextafter(1, 2) and of("double2int_rn", 2.5) == 2 and of("mulhi", -1, 1) == -1
    )
    assert of("normcdf", 0.0) == 0.5 and of("normcdf", -math.inf) == 0
