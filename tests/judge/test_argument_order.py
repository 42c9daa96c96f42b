"""A kernel that is right but for the order of its arguments is told that, by a run in that order."""

import itertools

import pytest
from kernels import UNDER_OCLGRIND, build, cl

from helpers import check, cuda_kernel, ladder, opencl_kernel
from helpers.judge import argument_order
from helpers.judge.argument_order import may_be_the_order
from helpers.launch import KernelError
from helpers.sandbox import Finding

TYPES = {n: f"const int {n}" for n in "MNK"} | {n: f"__global float *{n}" for n in "ABC"}


def head(order):
    return f"__kernel void mine({', '.join(TYPES[name] for name in order)})\n"


def first(k):
    """The kind and the message of the first finding of a check."""
    finding = check(k).findings[0]
    return finding.kind, finding.message


@pytest.mark.parametrize("step, order", [("naive", "CAB"), ("tiled", "BAC")])
def test_the_order_of_three_arguments_is_named(order, step):
    source = cuda_kernel(step).source.replace("(A, B, C)", f"({', '.join(order)})")
    kind, said = first(cuda_kernel(source, like=step, **ladder.STEPS[step].small))
    assert kind == "argument order" and f"right when it is given ({', '.join(order)}). This course" in said


@UNDER_OCLGRIND
def test_the_order_of_six_arguments_is_named():
    kind, said = first(build("OpenCL", "naive", cl(head=head("KNMBAC"))))
    assert kind == "argument order" and "right when it is given (K, N, M, B, A, C). This course" in said


@UNDER_OCLGRIND
def test_a_kernel_for_matrices_that_lie_column_by_column_is_named():
    total = "    float acc = 0;\n    for (int k = 0; k < K; k++) acc += A[k * M + row] * B[col * K + k];\n"
    kind, said = first(build("OpenCL", "naive", cl(total=total, store="    C[col * M + row] = acc;\n")))
    assert kind == "column-major" and "C[row * N + col]" in said


@UNDER_OCLGRIND
def test_where_no_order_is_right_none_is_named():
    wrong = cl(head=head("MNKCAB"), store="    C[row * N + col] = acc + 1;\n")
    assert first(build("OpenCL", "naive", wrong))[0] == "out of bounds"
    source = cuda_kernel("naive").source.replace("(A, B, C)", "(C, A, B)").replace("= acc", "= acc + float32(1)")
    assert first(cuda_kernel(source, like="naive"))[0] == "writes to an input"


def test_sizes_at_which_orders_are_tried_are_whole_tiles_and_no_two_alike(monkeypatch):
    for tile in itertools.product(range(1, 9), repeat=3):
        monkeypatch.setattr(argument_order, "tile_and_block", lambda k, tile=tile: (tile, (1, 1)))
        sizes = argument_order.whole_tiles(None)
        assert len(set(sizes)) == 3 and not any(n % side for n, side in zip(sizes, tile, strict=True))


def test_numbers_behind_the_matrices_are_refused_before_anything_runs():
    with pytest.raises(KernelError, match="in another order than this course gives them: three whole numbers first"):
        opencl_kernel(cl(head=head("ABCMNK")), like="naive").compile()


def test_only_what_an_order_may_cause_is_tried_in_others():
    assert not may_be_the_order([]) and not may_be_the_order([Finding("race", "")])
    assert may_be_the_order([Finding("wrong index", ""), Finding("race", "")])
