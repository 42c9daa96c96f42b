"""What pages need beside `make lab`: one table, one remedy for each lack."""

import json
import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from helpers import devices, needs

ROOT = Path(__file__).parents[1]
# What on a page cannot be had without it.
CALLS = {
    "compiler": r"compiler_report\(|run_ptx\(|run_triton\(",
    "blocks": r"run_triton\(|predict_triton\(|import triton",
}
LACKS = {
    "compiler": ("has_compiler", lambda: False),
    "engines": ("engines", lambda: {"MPI": "mpi4py", "Dask": "dask"}),
    "blocks": ("block_languages", lambda: {"Triton": None, "Warp": "1.19"}),
}


def code_of(page):
    cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


@pytest.mark.parametrize("what", CALLS)
def test_a_page_that_needs_it_says_so_in_its_first_cell_and_stands_in_the_table(what):
    code = {page.name[:2]: code_of(page) for page in (ROOT / "notebooks").glob("[0-9]*.ipynb")}
    calling = {number for number, cells in code.items() if any(re.search(CALLS[what], cell) for cell in cells)}
    asking = {number for number, cells in code.items() if re.search(rf'^need\(.*"{what}"', cells[0], re.MULTILINE)}
    assert calling == asking == set(needs.NEEDS[what].pages)


def test_the_readme_has_the_same_pages_and_sizes():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for need in needs.NEEDS.values():
        [row] = re.findall(rf"^\| .*tools/install.py {need.extra}`.*$", text, re.MULTILINE)
        assert set(need.pages) <= set(re.findall(r"\b\d\d\b", row)) and f"| {need.megabytes} |" in row


@pytest.mark.parametrize("what", needs.NEEDS)
def test_nothing_is_said_where_it_is_there_and_one_line_where_it_is_not(what, monkeypatch):
    name, answer = LACKS[what]
    monkeypatch.setattr(devices, name, answer)
    with pytest.raises(needs.Missing) as raised:
        needs.need(what)
    line = str(raised.value)
    assert "\n" not in line and f" MB; for {needs.NEEDS[what].where}" in line and "restart" in line
    there = {"has_compiler": lambda: True, "engines": lambda: {"MPI": None}, "block_languages": lambda: {"Triton": "3"}}
    monkeypatch.setattr(devices, name, there[name])
    needs.need(what)


def test_a_page_that_lacks_two_things_stops_once(monkeypatch):
    for name, answer in LACKS.values():
        monkeypatch.setattr(devices, name, answer)
    monkeypatch.setattr(devices, "cuda_extra", lambda: "cuda12")
    monkeypatch.setattr(sys, "prefix", "/opt/conda")
    line = needs.lack("compiler", "blocks")
    assert line.startswith("NVIDIA's compiler and Triton are not installed. ") and "(some 655 MB; for Linux x86" in line
    assert '-c constraints-cuda12.txt -e ".[cuda12,blocks]"' in line


def test_an_unknown_need_is_refused():
    with pytest.raises(ValueError, match=r"need\('cuda'\): there is no such need; there are 'compiler', 'engines'"):
        needs.need("cuda")


def test_the_command_is_that_of_the_python_that_runs_this(monkeypatch):
    monkeypatch.setattr(sys, "prefix", str(ROOT / ".venv"))
    assert needs.remedy("many") == (r"py tools\install.py many" if os.name == "nt" else "python3 tools/install.py many")
    monkeypatch.setattr(sys, "prefix", "/opt/conda")
    monkeypatch.setattr(sys, "executable", "/opt/a b/bin/python")
    *python, extra = shlex.split(needs.remedy("cuda12"))
    assert python == ["/opt/a b/bin/python", "-m", "pip", "install", "-c", "constraints-cuda12.txt", "-e"]
    assert extra == ".[cuda12]"
