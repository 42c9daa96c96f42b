"""Triton's products with the course's errors; `blocks_without_gpu` has the rest."""

import importlib

import notebooks
import pytest

from helpers.instruments import predict_triton, run_triton
from helpers.launch import KernelError


def test_what_does_not_compile_is_the_courses_error(tmp_path, monkeypatch):
    pytest.importorskip("triton", reason="Triton is not installed: python3 tools/install.py blocks")
    cells = notebooks.read(notebooks.notebook_paths(["18"])[0]).cells
    solution = next(cell.source for cell in cells if cell.source.startswith(notebooks.SOLUTION))
    wrong = solution.partition("\n\n\njudge_product")[0].replace("tl.zeros", "tl.zeroes")
    (tmp_path / "zeroes.py").write_text(f"import triton\nimport triton.language as tl\n\n\n{wrong}\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    wrong = importlib.import_module("zeroes").mine
    for call in (run_triton, lambda kernel, *size, **sides: predict_triton(kernel, "A100", *size, **sides)):
        with pytest.raises(KernelError, match="zeroes"):
            call(wrong, 32, 32, 32, BM=32, BN=32, BK=16)
