"""Python's index of two numbers in C is named, whatever part of whatever kernel it stands in."""

import pytest

from helpers import with_part
from helpers.exercises.parts import CommaIndex


@pytest.mark.parametrize(
    "text, index, meant",
    [
        ("acc += A[row, k];", "A[row, k]", "A[row * L + k], where L is the length of a row"),
        ("\n\nx = B[k0 + ty, col];", "B[k0 + ty, col]", "B[(k0 + ty) * L + col]"),
        ("As[ty, tx] = 0;", "As[ty, tx]", "As[ty][tx]"),
        ("C [row , col] = acc;", "C [row , col]", "C[row * L + col]"),
        ("x = As[ty][min(a, b), k];", "As[ty][min(a, b), k]", "As[ty][min(a, b)][k]"),
        ("x = As[ty, tx][0];", "As[ty, tx]", "As[ty][tx]"),
        ("x = A[(row), k];", "A[(row), k]", "A[(row) * L + k]"),
        ("x = A[B[row, k]];", "B[row, k]", "B[row * L + k]"),
    ],
)
def test_a_comma_in_an_index_is_named_with_what_is_meant(text, index, meant):
    with pytest.raises(CommaIndex) as error:
        with_part("OpenCL", "tiled", 3, text)
    assert index in str(error.value) and meant in str(error.value)


def test_the_line_is_that_of_the_text():
    with pytest.raises(CommaIndex, match="line 2 of your text"):
        with_part("OpenCL", "tiled", 3, "\nint a;\nx = A[row, k];")


@pytest.mark.parametrize(
    "dialect, text",
    [
        ("OpenCL", "x = As[min(ty, 3)][k]; // A[row, k]"),
        ("OpenCL", "float s[2] = {0, 0}; /* A[row, k] */"),
        ("OpenCL", "x = mad(As[ty][k], Bs[k][tx], x);"),
        ("CUDA", "acc += A[row, k]"),
    ],
)
def test_other_commas_are_none_of_its_business(dialect, text):
    assert text.split(";")[0] in with_part(dialect, "tiled", 3, text)
