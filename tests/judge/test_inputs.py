"""Kernels that round their inputs: the bound of each type, and that wrong ones do not hide in it."""

from fractions import Fraction

import numpy as np
import pytest
from few import SMALL
from needed import needs_compiler

from cuda_without_gpu import to_ptx
from helpers import check, cuda_kernel
from helpers.checking import launched
from helpers.launch import KernelError, draw
from kernel_judge import error_bound, wrong_elements
from kernel_judge.reference import FORMATS, drawn, held, wrong_for
from ptx_machine.formats import exact, rounded

SOURCE = cuda_kernel("matrix_units").source
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
    np.testing.assert_array_equal(held(held(ODD, kind), kind), held(ODD, kind))


def test_the_bound_is_the_one_that_was_derived():
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
    A, B = draw(40, 50, 60)
    C = (held(A, kind).astype(np.float64) @ held(B, kind)).astype(np.float32)
    assert not wrong_elements(C, A, B, kind).any() and wrong_elements(C, A, B).any()
    bound, error = error_bound(A, B, kind), np.abs(C - A.astype(np.float64) @ B)
    assert wrong_for(A, B, kind)(C + 2 * bound.astype(np.float32)).all() and error.max() > bound.max() / 100


@pytest.mark.parametrize("deep", [1, 4, 8, 16])
def test_sums_that_matrix_units_cut_off_are_within_the_bound(deep):
    """All that one instruction adds is cut off where the largest ends, and then the sum; as no rounding would do."""
    A, B = (held(np.abs(X), "float16") for X in draw(8, 9, 400))
    C = cut_sums(A, B, deep)
    assert not wrong_elements(C, A, B, "float16").any() and wrong_elements(C[:, ::-1], A, B, "float16").any()
    # A one, and what is lost of it each time: less than its last digit, but nearly that.
    A, B = (np.full(shape, 2.0**-12, np.float32) for shape in ((1, 400), (400, 1)))
    A *= 2 - np.float32(2.0**-10)
    A[0, 0] = B[0, 0] = 1
    C = cut_sums(A, B, deep)
    assert C[0, 0] == 1 and not wrong_elements(C, A, B, "float16").any() and wrong_elements(C, A, B).any()


def cut_sums(A, B, deep):
    """C, float32, of A, B >= 0, where each instruction adds so many products."""
    total = np.zeros((len(A), B.shape[1]))
    for k in range(0, A.shape[1], deep):
        products = A.T[k : k + deep, :, None].astype(np.float64) * B[k : k + deep, None]
        terms = np.concatenate([total[None], products])
        total = cut(cut(terms, terms.max(axis=0)).sum(axis=0))
    C = total.astype(np.float32)
    np.testing.assert_array_equal(C, total)
    return C


def cut(X, largest=None):
    """X >= 0 without what lies below the last of 24 digits of `largest`, by default of each itself."""
    last = np.ldexp(1.0, np.frexp(X if largest is None else largest)[1] - 24)
    return np.floor(X / last) * last


def test_what_float16_cannot_hold_is_wrong():
    A, B = np.float32([[70000, 1]]), np.float32([[1], [1]])
    C = (held(A, "float16").astype(np.float64) @ held(B, "float16")).astype(np.float32)
    assert np.isinf(C).all() and wrong_elements(C, A, B, "float16").all()
    tiny = np.float32([[2.9e-8]])  # half of what is lost may be all of it
    zero = np.float32([[0]])
    assert not wrong_elements(zero, tiny, np.float32([[1]]), "float16").any()
    assert wrong_elements(zero, np.float32([[9e-8]]), np.float32([[1]]), "float16").all()


def test_a_check_draws_what_the_type_holds_in_every_other_turn():
    for turn, all_held in ((0, True), (1, False), (2, True)):
        for X in drawn((9, 8, 7), "bfloat16", turn):
            assert np.array_equal(held(X, "bfloat16"), X) == all_held


@needs_compiler
@pytest.mark.parametrize("kind", FORMATS)
def test_the_step_passes_its_bound_and_not_float32s(kind):
    k = cuda_kernel("matrix_units", **SMALL["matrix_units"] | dict(INPUT=kind))
    report = check(k)
    assert report and f"within the rounding bound of {kind} inputs" in repr(report)
    A, B = draw(40, 50, 60)
    C = k(A, B)
    assert not wrong_elements(launched(k, A, B), A, B, kind).any() and wrong_elements(C, A, B).any()
    assert kind == "tf32" or np.array_equal(C, k(held(A, kind), held(B, kind)))


CUT = """
        bits = numbers.view(uint32)
        for h in range(HELD):
            bits[h] = bits[h] & uint32(MASK)
        return word("""
ROUNDING = [
    ("    HELD = 1", '    MASK = 0xFFFF0000 if INPUT == "bfloat16" else 0xFFFFE000\n    HELD = 1'),
    ("        return word(", CUT),
]
# The type, [(old, new)], what the verdict says. Fragments are words, and lie alike in all types; rounding does not.
PLANTED = {
    "half of K dropped": ("tf32", [("w += 8", "w += 16")], ""),
    "two lanes of B swapped": ("float16", [("left + j * 8 + group]", "left + j * 8 + (group ^ 1)]")], "wrong column"),
    "no barrier before the product": ("bfloat16", [("cuda.syncthreads()  # 2.", "pass  # 2.")], "race"),
    **{f"cut to {kind}, not rounded": (kind, ROUNDING, "rounding: right where") for kind in FORMATS},
}


@needs_compiler
@pytest.mark.parametrize("kind, changes, says", PLANTED.values(), ids=PLANTED)
def test_wrong_fragments_barriers_and_roundings_are_refused(kind, changes, says, monkeypatch):
    """Of drawn numbers, one in eight draws has none that shows a float16 cut off at these sizes."""
    drawn = np.random.Generator(np.random.PCG64(0))
    monkeypatch.setattr(np.random, "default_rng", lambda *seed: drawn)
    source = SOURCE
    for old, new in changes:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    report = check(cuda_kernel(source, like="matrix_units", **SMALL["matrix_units"] | dict(INPUT=kind)))
    assert not report and says in repr(report)


@needs_compiler
def test_where_nothing_could_be_tried_there_is_no_verdict(monkeypatch):
    text_of = to_ptx.text_of
    monkeypatch.setattr(to_ptx, "text_of", lambda *of, **how: text_of(*of, **how).replace("mma.sync", "mma.sink"))
    k = cuda_kernel(SOURCE, like="matrix_units", **SMALL["matrix_units"])
    with pytest.raises(KernelError, match=r"cannot be tried here: .*mma\.sink"):
        check(k)
    assert not k.checked
