"""Triton's products beside the course's kernels, and with the course's errors; `blocks_without_gpu` has the rest."""

import notebooks
import pytest
from needed import needs_compiler

from helpers.exercises.block_compilers import judge_product
from helpers.instruments import predict_triton, run_ptx, run_triton, side_by_side
from helpers.launch import KernelError

TILE = dict(BM=32, BN=32, BK=16)


@pytest.fixture
def page_18():
    """The text of the product that page 18 counts."""
    pytest.importorskip("triton", reason="Triton is not installed: python3 tools/install.py blocks")
    cells = notebooks.read(notebooks.notebook_paths(["18"])[0]).cells
    solution = next(cell.source for cell in cells if cell.source.startswith(notebooks.SOLUTION))
    return solution.partition("\n\n\njudge_product")[0]


def test_a_verdict_is_not_buried_under_warnings(page_18, recwarn):
    assert judge_product(page_18.replace("(row < M) & (k", "(row < M) and (k")) and not recwarn.list


def test_what_does_not_compile_is_the_courses_error(page_18):
    for call in (run_triton, lambda text, *size, **sides: predict_triton(text, "A100", *size, **sides)):
        with pytest.raises(KernelError, match="zeroes"):
            call(page_18.replace("tl.zeros", "tl.zeroes"), 32, 32, 32, **TILE)


@needs_compiler
def test_a_step_and_a_program_stand_side_by_side(page_18):
    """Loads of A and B: four blocks of 8 warps, a number a thread; and one block of 4 warps, four numbers a thread."""
    runs = {"tiled": run_ptx("tiled", 32, 32, 16), "Triton": run_triton(page_18, 32, 32, 16, **TILE)}
    assert [line.split()[:3:2] for line in repr(side_by_side(runs)).splitlines()[1:]] == [
        ["tiled", "64"],
        ["Triton", "8"],
    ]
