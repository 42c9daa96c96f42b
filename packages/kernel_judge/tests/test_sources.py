"""What the text of a kernel tells a judge: the sizes that it leaves open, and the lines that say something."""

import pytest

from kernel_judge import Function, Kind, judge
from kernel_judge.sizes import asked_of_launch, left_to_builder

PYTHON = """
def build(TILE, DEPTH, *, LONG):
    SIDE = TILE + LONG
    def kernel(A, B, C):
        C[0, 0] = SIDE
"""
C = "#define WIDE 4\nint other = 3; // DEPTH\n/* LONG */ other = TILE + WIDE;\n"


def test_the_sizes_that_a_source_leaves_to_who_builds_it():
    assert left_to_builder(PYTHON, True) == {"TILE", "LONG"}
    assert left_to_builder(C, False) & {"TILE", "DEPTH", "LONG", "WIDE", "other"} == {"TILE", "other"}


@pytest.mark.parametrize(
    "source, is_python, asks",
    [
        ("cuda.blockDim.x", True, (True, False)),
        ("row, col = cuda.grid(2)", True, (True, True)),
        ("get_global_id(0); get_local_size(1)", False, (True, True)),
        ("get_local_size(1) // get_global_id(0)", False, (False, True)),
        ("__local float s[4]; get_global_id(0)", False, (False, False)),
        ("s = cuda.shared.array(4); cuda.grid(2)", True, (False, False)),
    ],
)
def test_a_kernel_without_tiles_may_ask_the_launch_for_its_block(source, is_python, asks):
    assert asked_of_launch(source, is_python) == asks


# ------------------------------------------------------------------------------------------------ functions of the host


@pytest.mark.parametrize(
    "error, said",
    [
        ("clEnqueueNDRangeKernel failed: INVALID_WORK_GROUP_SIZE", "counts work-items, not groups"),
        ("Kernel.set_arg failed", "integers as np.int32(M)"),
        ("Buffer failed: INVALID_HOST_PTR", "COPY_HOST_PTR takes the numbers from hostbuf="),
        ("incompatible function arguments:\n  1. _cl.Buffer", "COPY_HOST_PTR takes the numbers from hostbuf="),
        ("Buffer failed: INVALID_VALUE", "its size is in bytes, C.nbytes"),
        ("something:\n   else. Use the syntax\nmore", "ValueError: something: else"),
    ],
)
def test_an_exception_has_its_last_line_of_the_function_and_what_it_means(error, said):
    def helping():
        raise ValueError(error)

    def mine(A, B):
        C = A @ B
        helping()
        return C

    [finding] = judge(Function(mine)).findings
    assert finding.kind == Kind.ERROR and said in finding.message and "\n" not in finding.message
    assert finding.lines == (3,) and Function(mine).source.splitlines()[2].strip() == "helping()"


def test_a_function_that_changes_an_input_is_told_so():
    def mine(A, B):
        C = A @ B
        B[0, 0] += 1
        return C

    [finding] = judge(Function(mine)).findings
    assert finding.kind == Kind.INPUT_CHANGED and finding.message.startswith("it changes B, ")
