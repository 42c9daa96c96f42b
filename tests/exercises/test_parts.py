"""A learner's lines take the place of a kernel's part, and Python's index of two numbers in C is named."""

import pytest

from helpers import cuda_kernel, with_part
from helpers.launch import KernelError


def test_lines_take_the_place_of_a_part_and_of_nothing_else():
    source = cuda_kernel("tiled").source
    assert with_part("CUDA", "tiled", 3, "pass\nelse_").count("\n            pass\n            else_\n") == 1
    before, *_ = source.partition("            # 3. ")
    mine = with_part("CUDA", "tiled", (3, 4), "MINE")
    assert mine.startswith(f"{before}            MINE\n") and source.endswith(mine.partition("MINE\n")[2])
    with pytest.raises(ValueError, match=r"tiled in CUDA has no part 9; its parts are 1, 2, 3, 4"):
        with_part("CUDA", "tiled", 9, "pass")


@pytest.mark.parametrize(
    "text, says",
    [
        ("acc += A[row, k];", "line 1 of your text has A[row, k]"),
        ("\nint a;\nx = B[k0 + ty, col];", "line 2 of your text has B[k0 + ty, col]"),
        ("C [row , col] = acc;", "C [row , col]"),
        ("x = As[ty][min(a, b), k];", "As[ty][min(a, b), k]"),
        ("x = A[B[(row), k]];", "B[(row), k]"),
    ],
)
def test_a_comma_in_an_index_is_named_with_its_line(text, says):
    with pytest.raises(KernelError) as error:
        with_part("OpenCL", "tiled", 3, text)
    assert says in str(error.value)


@pytest.mark.parametrize(
    "dialect, text",
    [
        ("OpenCL", "x = As[min(ty, 3)][k]; // A[row, k]"),
        ("OpenCL", "float s[2] = {0, 0}, x = mad(As[ty][k], Bs[k][tx], x);"),
        ("CUDA", "acc += A[row, k]"),
    ],
)
def test_other_commas_are_none_of_its_business(dialect, text):
    assert text in with_part(dialect, "tiled", 3, text)
