"""What pages need beside `make lab`: one table, one remedy for each lack."""

import json
import re
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers import devices, needs

ROOT = Path(__file__).parents[1]
# What on a page cannot be had without it.
CALLS = {
    "compiler": r"compiler_report\(|run_ptx\(|run_triton\(",
    "blocks": r"run_triton\(|predict_triton\(|import triton",
    "cutile": r"run_cutile\(|cutile_code\(|import cuda.tile",
    "successor": r"import numba_cuda_mlir|from numba_cuda_mlir",
}


def code_of(page):
    cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


@pytest.mark.parametrize("what", CALLS)
def test_the_pages_that_need_it_stand_in_the_table(what):
    code = {page.name[:2]: code_of(page) for page in (ROOT / "notebooks").glob("[0-9]*.ipynb")}
    calling = {number for number, cells in code.items() if any(re.search(CALLS[what], cell) for cell in cells)}
    assert calling == set(needs.NEEDS[what].pages)


def test_the_readme_has_the_same_pages_and_sizes():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for need in needs.NEEDS.values():
        [row] = re.findall(rf"^\| .*tools/install.py {need.extra}`.*$", text, re.MULTILINE)
        assert set(need.pages) <= set(re.findall(r"\b\d\d\b", row)) and f"| {need.megabytes} |" in row


@pytest.mark.parametrize("what", needs.NEEDS)
def test_nothing_is_said_where_it_is_there_and_one_line_where_it_is_not(what, monkeypatch):
    need = needs.NEEDS[what]
    for there in (False, True):
        monkeypatch.setattr(devices, "has_compiler", lambda there=there: there)
        monkeypatch.setattr(needs, "find_spec", lambda module, there=there: there)
        [row] = [row for row in needs.of_some_pages() if row.what == need.name]
        assert (row.used, row.found) == (there, "found" if there else "none")
        assert (needs.remedy(need.extra) in row.why) is not there
        if not there:
            with pytest.raises(needs.Missing, match=rf"^{need.name}: not installed") as raised:
                needs.need(what)
            line = str(raised.value)
            assert "\n" not in line and f"(some {need.megabytes} MB" in line and "restart Python" in line
            assert needs.line_of(raised.value) == line and needs.line_of(ImportError(line)) is None
            for module in need.modules:
                assert needs.line_of(ModuleNotFoundError(name=module)) == line
    needs.need(what)


def test_the_command_is_that_of_the_python_that_runs_this(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", "/opt/a b/bin/python")
    pins, *_ = ROOT.glob("tools/locks/constraints-cuda12.txt")
    python = ["/opt/a b/bin/python", "-m", "pip", "install"]
    assert shlex.split(needs.remedy("cuda12")) == [*python, "-c", str(pins), "matmul-ladder[cuda12]"]
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: "a notebook"))
    assert needs.remedy("many").startswith(f'%pip install -c "{ROOT}')
    monkeypatch.setattr(needs, "PINS", tmp_path)  # on Colab there is the package alone
    assert needs.remedy("many") == '%pip install "matmul-ladder[many]"'


@pytest.mark.parametrize("driver, extra", [(None, "cuda13"), ((13, 0), "cuda13"), ((12, 9), "cuda12")])
def test_the_compiler_is_the_one_that_the_driver_wants(driver, extra, monkeypatch):
    monkeypatch.setattr(devices, "nvidia_driver", lambda: driver)
    assert needs.remedy("cuda13").endswith(f'[{extra}]"') and needs.remedy("many").endswith('[many]"')
