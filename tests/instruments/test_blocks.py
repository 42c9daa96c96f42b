"""Products in Triton and cuTile with the course's errors; `blocks_without_gpu` has the rest."""

import importlib

import notebooks
import pytest

from helpers import needs
from helpers.instruments import cutile_code, predict_triton, run_cutile, run_triton
from helpers.launch import KernelError

TILE = dict(BM=32, BN=32, BK=16)
SIZE = (32, 32, 32)
CALLS = {
    "tl.zeros": (
        "blocks", "import triton\nimport triton.language as tl", "mine",
        [lambda mine: run_triton(mine, *SIZE, **TILE), lambda mine: predict_triton(mine, "A100", *SIZE, **TILE)],
    ),
    "ct.zeros": (
        "cutile", "import cuda.tile as ct", "tiles",
        [lambda tiles: run_cutile(tiles, *SIZE, **TILE), lambda tiles: cutile_code(tiles, "A100", *SIZE, **TILE)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("zeros", CALLS)
def test_what_does_not_compile_is_the_courses_error(zeros, tmp_path, monkeypatch):
    what, imports, name, calls = CALLS[zeros]
    if lack := needs.lack(what):
        pytest.skip(lack)
    cells = notebooks.read(notebooks.notebook_paths(["18"])[0]).cells
    solution = next(
        cell.source for cell in cells if cell.source.startswith(notebooks.SOLUTION) and zeros in cell.source
    )
    wrong = solution.partition("\n\n\njudge_")[0].replace(zeros, f"{zeros}es")
    (tmp_path / f"{what}_zeroes.py").write_text(f"{imports}\n\n\n{wrong}\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for call in calls:
        with pytest.raises(KernelError, match="zeroses"):
            call(getattr(importlib.import_module(f"{what}_zeroes"), name))
