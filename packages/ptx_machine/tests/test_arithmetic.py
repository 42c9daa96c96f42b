"""What arithmetic has few numbers of: borders between two of a type, the ends of its range, zeros, what is no number.

Any other numbers are in `test_on_a_gpu.py`.
"""

import re
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from ptx_machine import PTXError, arithmetic, formats
from ptx_machine.reader import Instruction

ALL = np.arange(1 << 16, dtype=np.uint16)


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


def results(name, *values):
    """What an instruction makes of arrays."""
    instruction = Instruction(1, name, tuple(name.split(".")), ("%d", *("%a",) * len(values)))
    return arithmetic.operation(instruction)[0](*values)


# ------------------------------------------------------------------------------- rounded once


def nearest_float32(exact):
    """The float32 nearest to a Fraction, ties to even: tried among neighbours."""
    guess = np.float32(float(exact))
    around = [np.nextafter(guess, np.float32(-np.inf)), guess, np.nextafter(guess, np.float32(np.inf))]
    return min(around, key=lambda value: (abs(Fraction(float(value)) - exact), value.view(np.uint32) & 1))


def test_fma_is_rounded_once():
    rng = np.random.default_rng(1)
    tie = np.float32(1 + 2.0**-12)  # its square lies in the middle between two float32
    cases = [(tie, tie, sign * np.float32(2.0) ** -power) for power in (26, 50, 60, 90, 140) for sign in (1, -1)]
    cases += [(-a, b, -c) for a, b, c in cases]
    cases += [tuple(np.float32(2.0**-power) for power in (75, 74, 149))]  # below the smallest normal number
    cases += [tuple(np.float32([2.0**-75 * (1 + 2.0**-23), 2.0**-75 * (1 - 2.0**-23), 129 * 2.0**-149]))]
    few = len(cases)
    a, b = rng.integers(1, 1 << 24, (2, 1000)).astype(np.float32)
    c = (-(a.astype(np.float64) * b) * (1 + rng.integers(-2, 3, 1000) * 2.0**-24)).astype(np.float32)  # much cancels
    cases += list(zip(a, b, c, strict=True))
    got = arithmetic.fused32(*(np.array(column, np.float32) for column in zip(*cases, strict=True)))
    alone = [arithmetic.fused32(*np.float32(case).reshape(3, 1))[0] for case in cases[:few]]  # beside no easy sums
    assert np.array_equal(alone, got[:few])
    for (x, y, z), value in zip(cases, got, strict=True):
        assert value == nearest_float32(Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))), (x, y, z)


def test_fma_of_float64_is_rounded_once():
    rng = np.random.default_rng(2)
    a, b = 1 + rng.random((2, 1000))
    c = np.where(rng.random(1000) < 0.5, -(a * b), rng.standard_normal(1000) * 2.0 ** rng.integers(-70, 5, 1000))
    ends = [[1e-200, 5e-324, 1e300, 1.5e-154, 1e-160], [1e-150, 0.75, 1e-300, 1.5e-154, 3e-160],
            [5e-324, 5e-324, -1.0, -2e-308, 1e-310]]  # fmt: skip
    # In the middle between two float64, and by less than a last bit of the rest below it.
    middle = [1, 1 + 2.0**-52], [1, 1 - 2.0**-52], [2.0**53 + 2, 2.0**53 + 2]
    a, b, c = (np.concatenate(some) for some in zip((a, b, c), ends, middle, strict=True))
    exact = [float(Fraction(x) * Fraction(y) + Fraction(z)) for x, y, z in zip(a, b, c, strict=True)]
    assert results("fma.rn.f64", a, b, c).tolist() == exact
    alone = [results("fma.rn.f64", *(one[n : n + 1] for one in (a, b, c)))[0] for n in range(1000, a.size)]
    assert alone == exact[1000:]  # beside no others that take longer
    zeros = results("fma.rn.f64", np.zeros(2), np.array([-1.0, 1]), np.full(2, -0.0))
    assert np.signbit(zeros).tolist() == [True, False]


def test_a_product_of_bfloat16_in_the_middle_and_a_little_more_or_less():
    middle, little = np.array([1.5, 1 + 2.0**-7], ml_dtypes.bfloat16).view(np.uint16), 2.0**-100
    c = np.array([0, little, -little], ml_dtypes.bfloat16).view(np.uint16)
    got = formats.exact(results("fma.rn.bf16", *(np.full(3, one) for one in middle), c), "bf16")
    assert got.tolist() == [1.5 + 2.0**-6, 1.5 + 2.0**-6, 1.5 + 2.0**-7]


def test_integers_of_64_bits_are_rounded_once():
    middles = (2 * np.arange(1 << 23, (1 << 23) + 9) + 1) << np.array([[0], [20], [38]])
    whole = np.concatenate([middles.ravel() + more for more in (-1, 0, 1)])
    assert np.array_equal(results("cvt.rn.f32.s64", whole), whole.astype(np.float32))
    assert np.array_equal(results("cvt.rn.f32.u64", whole.view(np.uint64)), whole.astype(np.float32))


# ------------------------------------------------------------------------------- zeros, what is no number


@pytest.mark.parametrize("kind, dtype", [("f32", np.float32), ("f64", np.float64)])
def test_the_sign_of_a_zero(kind, dtype):
    """IEEE 754, 6.3: a sum of x and -x is +0, or -0 where sums are rounded down; of two alike it keeps their sign."""
    a, b = dtype([1.5, 0, -0.0, 0, -0.0]), dtype([-1.5, 0, -0.0, -0.0, 0])
    for way, negative in (("rm", [1, 0, 1, 1, 1]), ("rz", [0, 0, 1, 0, 0]), ("rp", [0, 0, 1, 0, 0])):
        assert np.signbit(results(f"add.{way}.{kind}", a, b)).tolist() == [bool(one) for one in negative]
    assert np.signbit(results(f"min.{kind}", a, b)).tolist() == [True, False, True, True, True]
    assert np.signbit(results(f"max.{kind}", a, b)).tolist() == [False, False, True, False, False]


def test_relu_makes_a_zero_of_minus_zero():
    got = results("fma.rn.relu.f16", *np.float16([[-0.0, -1, 2, np.nan], [1, 1, 1, 1], [-0.0, 0, 0, 0]]))
    assert got.view(np.uint16).tolist() == [0, 0, 0x4000, 0x7FFF]


def test_what_is_no_number_has_one_pattern_of_bits():
    for name in ("div.rn.f32", "sqrt.approx.f32", "fma.rn.f32", "mul.rz.f32", "max.f32", "neg.f32", "cvt.f32.f16"):
        many = {"div": 2, "mul": 2, "max": 2, "fma": 3}.get(name[:3], 1)
        got = results(name, *[np.full(3, np.nan, np.float16 if "f16" in name else np.float32)] * many)
        assert (got.view(np.uint32) == 0x7FFFFFFF).all(), name
    values = np.float32([np.nan, np.inf, 70000, 65520, 65519])
    assert results("cvt.rn.f16.f32", values).view(np.uint16).tolist() == [0x7FFF, 0x7C00, 0x7C00, 0x7C00, 0x7BFF]
    assert results("cvt.rn.bf16.f32", values[:2]).tolist() == [0x7FFF, 0x7F80]


def test_any_function_of_three_bits():
    """`lop3`: the table is what the function gives for 0xF0, 0xCC and 0xAA."""
    table = np.arange(256, dtype=np.uint32)
    given = (np.full(256, word, np.uint32) for word in (0xF0, 0xCC, 0xAA))
    assert np.array_equal(results("lop3.b32", *given, table) & 0xFF, table)


# ------------------------------------------------------------------------------- numbers of fewer bits


def every(kind):
    """All finite numbers of that type as float64, rising, 0 once; each is a neighbour of the next."""
    if kind == "f16":
        values = ALL.view(np.float16).astype(np.float64)
    else:
        bits = np.arange(1 << 19 if kind == "tf32" else 1 << 16, dtype=np.uint32)
        values = (bits << np.uint32(13 if kind == "tf32" else 16)).view(np.float32).astype(np.float64)
    return np.unique(values[np.isfinite(values)])


def by_table(values, kind, way):
    """Each of the values, within the table's range, rounded: found among all numbers of that type."""
    numbers = every(kind)
    above = np.searchsorted(numbers, values)  # the first that is not smaller
    high = numbers[above]
    low = np.where(high == values, high, numbers[above - 1])
    if way in ("rm", "rp", "rz"):
        return np.where({"rm": True, "rp": False, "rz": values > 0}[way], low, high)
    to_low, to_high = values - low, high - values
    even = low / np.where(high == low, 1, high - low) % 2 == 0  # of the two, one is an even number of such steps
    low_wins = np.abs(low) > np.abs(high) if way == "rna" else even
    return np.where((to_low < to_high) | ((to_low == to_high) & low_wins), low, high)


WAYS = [(kind, way) for kind in ("f16", "bf16") for way in ("rn", "rz", "rm", "rp")]


@pytest.mark.parametrize("kind, way", [*WAYS, *(("tf32", way) for way in ("rna", "rn", "rz"))])
def test_float32_to_fewer_bits(kind, way):
    """Numbers of that type, the middles between neighbours, and what lies close to either."""
    numbers = every(kind)[1:-1]
    numbers = numbers[np.abs(numbers) < np.finfo(np.float32).max / 4]
    at = np.random.default_rng(5).choice(numbers.size - 1, 5_000, replace=False)
    exact, middles = (some.astype(np.float32) for some in (numbers[at], (numbers[at] + numbers[at + 1]) / 2))
    near = [np.nextafter(some, np.float32(to)) for some in (middles, exact) for to in (-np.inf, np.inf)]
    values = np.concatenate([middles, exact, *near])
    got = results(f"cvt.{way}.{kind}.f32", values)
    got = formats.exact(got, kind) if kind == "bf16" else got.view(np.float16 if kind == "f16" else np.float32)
    assert np.array_equal(got.astype(np.float64), by_table(values.astype(np.float64), kind, way))


@pytest.mark.parametrize("kind, dtype", [("e4m3x2", ml_dtypes.float8_e4m3fn), ("e5m2x2", ml_dtypes.float8_e5m2)])
def test_numbers_of_8_bits_as_ml_dtypes_has_them(kind, dtype):
    halves = ALL.view(np.float16)  # all of them: each border between two, and both sides of it
    values = halves[np.isfinite(halves)].astype(np.float32)
    made = results(f"cvt.rn.satfinite.{kind}.f32", values, np.zeros_like(values)).view(np.uint8)
    most = float(ml_dtypes.finfo(dtype).max)
    expected = np.clip(values, -most, most).astype(dtype).view(np.uint8)
    assert np.array_equal(made[1::2], expected) and not made[::2].any()  # the first operand is the upper one
    back = results(f"cvt.rn.f16x2.{kind}", ALL).view(np.float16).reshape(-1, 2)[:, 0].astype(np.float32)
    codes = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32)
    assert np.array_equal(np.tile(codes, 256), back, equal_nan=True)


@pytest.mark.parametrize("name, exactly", [("tanh.approx", np.tanh), ("ex2.approx", np.exp2)])
@pytest.mark.parametrize("kind, dtype", [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_functions_of_all_numbers_of_16_bits(name, exactly, kind, dtype):
    values = ALL.view(dtype).astype(np.float64)
    got = formats.exact(results(f"{name}.{kind}", ALL.view(dtype) if kind == "f16" else ALL), kind)
    exact = exactly(values).astype(np.float32).astype(np.float64)
    near = exact.astype(dtype)
    cut = np.where(np.abs(near.astype(np.float64)) > np.abs(exact), np.nextafter(near, dtype(0)), near)
    assert np.array_equal(got, np.where((kind == "f16") & (exact >= 65536), np.inf, cut.astype(float)), equal_nan=True)


# ------------------------------------------------------------------------------- what is not known


@pytest.mark.parametrize(
    "name, operands",
    [
        ("cvt.rz.f32.tf32", 1), ("cvt.rni.f32.f64", 1), ("add.ftz.f64", 2), ("add.sat.u32", 2), ("setp.lt.f16x2", 2),
        ("mul.sat.f64", 2), ("fma.rx.f32", 3), ("add.u32", 1), ("add.u32", 3), ("selp.b32", 2), ("cvt.u32.u64", 2),
    ],
)  # fmt: skip
def test_what_is_not_known_or_has_too_few_operands_or_too_many_is_refused(name, operands):
    with pytest.raises(PTXError, match=f"line 1 .*{re.escape(name)}"):
        results(name, *[0] * operands)
