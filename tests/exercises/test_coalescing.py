"""The exercise whose kernel computes another product, C = A @ B.T, so that it has a judge of its own."""

import pytest

from helpers import coalescing, cuda_kernel, opencl_kernel, with_part
from helpers.exercises import judge_transposed

RIGHT = """
float acc = 0.0f;
for (int k = 0; k < K; k++)
    acc += A[row * K + k] * B[col * K + k];
C[row * N + col] = acc;
"""


def verdict(text):
    return judge_transposed(opencl_kernel(with_part("OpenCL", "coalesced", 3, text), like="coalesced"))


def test_the_right_addresses_pass_in_either_dialect():
    assert verdict(RIGHT)
    place = "col * A.shape[1] + k"
    cuda = cuda_kernel("coalesced").source.replace("B[k, col]", f"B[({place}) // B.shape[1], ({place}) % B.shape[1]]")
    assert judge_transposed(cuda_kernel(cuda, like="coalesced", BM=2, BN=4))


def test_nothing_written_is_not_yet():
    assert verdict("// your turn").findings[0].kind == "not yet"


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("B[col * K + k]", "B[k * N + col]", "at 5 x 5 x 7 (M x N x K) it reads B at the positions [0, 5, 10"),  # A @ B
        ("k < K", "k < K - 1", "reads A at the positions [0, 1, 2, 3, 4, 5];"),
        ("row * N + col", "row * N", "is stored at 0 of C; it belongs at 1"),
        ("row * N + col", "col * M + row", "is stored at 5 of C; it belongs at 1"),
    ],
)
def test_wrong_addresses_are_named(old, new, said):
    report = verdict(RIGHT.replace(old, new))
    assert not report and said in report.findings[0].message


@pytest.mark.parametrize(
    "old, new, where",
    [
        ("] * B", "] + B", "5 x 7 x 3"),
        ("+ k] * B", "+ (ushort)k] * B", "1 x 1 x 66000"),
        ("float acc = 0.0f;", "float acc = 0.0f; if (K != 3) return;", "5 x 5 x 7"),  # right where it was looked at
    ],
)
def test_right_addresses_with_wrong_numbers_are_named(old, new, where):
    report = verdict(RIGHT.replace(old, new))
    assert not report and report.findings[0].kind in ("wrong numbers", "unwritten") and where in repr(report)


def test_a_kernel_that_touches_nothing_has_an_empty_table():
    idle = opencl_kernel(with_part("OpenCL", "coalesced", 3, "// your turn"), like="coalesced")
    assert coalescing(idle, 4, 4, 4).rows == ()


def test_a_number_that_is_read_twice_misses_the_idea_and_is_not_wrong():
    report = verdict(RIGHT.replace("float acc = 0.0f;", "float acc = 0.0f * A[row * K];"))
    assert "computes the right C, but misses the idea" in repr(report) and report.findings[0].kind == "too many loads"
