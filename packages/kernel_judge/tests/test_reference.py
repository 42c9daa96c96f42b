"""What a right product is: the bound of each type, that what is wrong does not hide in it, and what is drawn."""

from fractions import Fraction

import numpy as np
import pytest

from kernel_judge import Function, error_bound, examine, wrong_elements
from kernel_judge.reference import FORMATS, drawn, held, late, uniform, wrong_for
from ptx_machine.formats import exact, rounded

NAMES = {"tf32": "tf32", "float16": "f16", "bfloat16": "bf16"}
ODD = np.float32([0, -0.0, 1, -1 / 3, np.pi, 65504, 65519, 65520, -1e38, 3.4e38, 6e-8, 2.9e-8, 3.1e-8, 1e-40, 1e-45])
ODD = np.append(ODD, np.random.default_rng(1).normal(size=1000).astype(np.float32))[None]


@pytest.mark.parametrize("kind", FORMATS)
def test_numbers_are_rounded_as_the_hardware_rounds_them(kind):
    """To the nearest; where two are as near, TF32 goes away from zero and this goes to the even one."""
    away = rounded(ODD.astype(np.float64), NAMES[kind], "rna" if kind == "tf32" else "rn")
    theirs = away.view(np.float32) if kind == "tf32" else exact(away, NAMES[kind]).astype(np.float32)
    np.testing.assert_array_equal(held(ODD, kind), theirs)
    assert held(ODD, "float32") is ODD


def test_the_bound_of_float32_is_the_textbooks():
    A, B = np.full((1, 4), -2, np.float32), np.full((4, 1), 3, np.float32)
    u = 2.0**-24
    assert error_bound(A, B)[0, 0] == pytest.approx(4 * u / (1 - 4 * u) * 24, rel=1e-12)
    inside, outside = -24 + 24 * 3.9 * u, -24 + 24 * 4.1 * u
    for judged in (lambda C: wrong_elements(C, A, B), wrong_for(A, B)):
        assert not judged(np.array([[inside]])).any()
        assert judged(np.array([[outside]])).all() and judged(np.array([[np.nan]])).all()
    nothing = np.zeros((1, 4), np.float32)  # has no room for an error
    assert wrong_elements(np.float32([[1e-38]]), nothing, B).all()


def test_the_bound_of_rounded_inputs_is_the_one_that_was_derived():
    """1/3 x 1/3 twice, in bfloat16: rounding makes a product (1 + 2**-8)**2 times as large at most; then two sums."""
    A = np.full((1, 2), 1 / 3, np.float32)
    third = Fraction(float(A[0, 0])) + Fraction(float(A[0, 0])) / 2**8 + Fraction(1, 2**134)
    gamma = Fraction(4, 2**23) / (1 - Fraction(4, 2**23))
    expected = (1 + gamma) * 2 * third**2 - 2 * Fraction(float(A[0, 0])) ** 2
    assert error_bound(A, A.T.copy(), "bfloat16")[0, 0] == pytest.approx(float(expected), rel=1e-12)
    B = np.full((1, 2), 0.5, np.float32)  # the type holds it, so rounding changes nothing
    assert error_bound(B, B.T.copy(), "bfloat16")[0, 0] == pytest.approx(float(gamma) / 2, rel=1e-9)
    with pytest.raises(ValueError, match=r"inputs='fp8': the types here are float32, tf32, float16, bfloat16"):
        error_bound(A, A.T.copy(), "fp8")


@pytest.mark.parametrize("kind", FORMATS)
def test_what_is_right_is_within_its_bound_and_not_in_float32s(kind):
    A, B = uniform(40, 60), uniform(60, 50)
    C = (held(A, kind).astype(np.float64) @ held(B, kind)).astype(np.float32)
    assert not wrong_elements(C, A, B, kind).any() and wrong_elements(C, A, B).any()
    bound, error = error_bound(A, B, kind), np.abs(C - A.astype(np.float64) @ B)
    assert wrong_for(A, B, kind)(C + 2 * bound.astype(np.float32)).all() and error.max() > bound.max() / 100


def test_what_float16_cannot_hold_is_wrong():
    A, B = np.float32([[70000, 1]]), np.float32([[1], [1]])
    assert wrong_elements(np.float32([[np.inf]]), A, B, "float16").all()
    tiny, zero, one = np.float32([[2.9e-8]]), np.float32([[0]]), np.float32([[1]])
    assert not wrong_elements(zero, tiny, one, "float16").any()  # half of what is lost may be all of it
    assert wrong_elements(zero, np.float32([[9e-8]]), one, "float16").all()


# -------------------------------------------------------------------------------------------------------- what is drawn


def test_a_check_draws_what_the_type_holds_in_every_other_turn():
    for turn, all_held in ((0, True), (1, False), (2, True)):
        for X in drawn((9, 8, 7), "bfloat16", turn):
            assert np.array_equal(held(X, "bfloat16"), X) == all_held


@pytest.mark.parametrize("inputs", ["float32", "bfloat16"])
def test_the_numbers_that_a_kernel_may_look_for(inputs):
    A, B = drawn((40, 50, 60), inputs, 11)
    for X in (A, B.T):
        assert np.isfinite(X).all() and X.dtype == np.float32
        assert (X == 0).all(axis=1).any() and (X == 0).all(axis=0).any()
        assert {0, 1, -1, 2} <= set(X.ravel().tolist()) and np.signbit(X[X == 0]).any()
        sizes = np.abs(X).max(axis=1)
        assert sizes.max() >= 2**7 and 0 < sizes[sizes > 0].min() <= 2**-7
        assert (X[:, 1:] == X[:, :-1]).any(axis=1).sum() > 20
    for turn in (3, 8, 9, 10, 12):
        plain = drawn((40, 50, 60), inputs, turn)[0]
        assert len(np.unique(plain)) > 500 and np.count_nonzero(plain == 0) < 5


def test_products_of_a_long_sum_that_are_missing_or_taken_twice_are_more_than_its_bound():
    from_the_start = np.arange(65_839) % 2**16  # as a number of 16 bits counts

    def counting(A, B):
        return A[:, from_the_start] @ B[from_the_start]

    def stopping(A, B):
        return A[:, :65_000] @ B[:65_000]

    for turn in (0, 1):
        assert examine(Function(counting), [(4, 6, 65_839)], turn).findings
        assert examine(Function(stopping), [(2, 3, 65_839)], turn).findings
        assert not examine(Function(np.matmul), [(2, 3, 65_839)], turn).findings
    A, B = late(uniform(4, 65_839), uniform(65_839, 6))
    off = np.abs((A[:, from_the_start] - A).astype(np.float64) @ B[from_the_start] + A @ (B[from_the_start] - B))
    assert (off > 4 * error_bound(A, B)).all()
