"""Triton's products with the course's errors; `blocks_without_gpu` has the rest."""

import notebooks
import pytest

from helpers.instruments import predict_triton, run_triton
from helpers.launch import KernelError


def test_what_does_not_compile_is_the_courses_error():
    pytest.importorskip("triton", reason="Triton is not installed: python3 tools/install.py blocks")
    cells = notebooks.read(notebooks.notebook_paths(["18"])[0]).cells
    solution = next(cell.source for cell in cells if cell.source.startswith(notebooks.SOLUTION))
    wrong = solution.partition("\n\n\njudge_product")[0].replace("tl.zeros", "tl.zeroes")
    for call in (run_triton, lambda text, *size, **sides: predict_triton(text, "A100", *size, **sides)):
        with pytest.raises(KernelError, match="zeroes"):
            call(wrong, 32, 32, 32, BM=32, BN=32, BK=16)
