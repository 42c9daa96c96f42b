"""A cell that needs what is not installed shows one line and what is stored of it, and the page goes on."""

import json
import sys

import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

from helpers import needs, notebook

LACKS = "before = 1\nneeds.need('blocks')\nfor x in range(3):\n    print(x)"
CELLS = {"from helpers import needs": "", LACKS: "0\n1\n2\n", "print(x + 1)": "3\n", "print(4)": ""}


def page(folder, name, cells):
    cells = [
        {"cell_type": "code", "source": source.splitlines(keepends=True), "outputs": [
            {"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)},
            {"output_type": "display_data", "data": {"text/plain": [name]}, "metadata": {}},
        ]}
        for source, text in cells.items()
    ]  # fmt: skip
    (folder / name).write_text(json.dumps({"cells": cells}), encoding="utf-8")


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """A notebook's, with a page on the disk, no Triton, and its own tracebacks in `shell.usual`."""
    page(tmp_path, "02_page.ipynb", CELLS)
    monkeypatch.setattr(notebook, "PAGES", tmp_path)
    monkeypatch.setattr(needs, "find_spec", lambda module: None)
    notebook.stored.cache_clear()
    shell = InteractiveShell(display_pub_class=CapturingDisplayPublisher)
    shell.usual = []
    shell.showtraceback = lambda *how, **more: shell.usual.append(how)
    notebook.answer_in_one_line(shell)
    yield shell
    notebook.stored.cache_clear()


def ran(shell, capsys, source):
    """Whether the cell ended well, what it printed, and its line on stderr."""
    capsys.readouterr()
    result = shell.run_cell(source, store_history=True)
    return result.success, *capsys.readouterr()


def test_a_cell_shows_what_is_stored_and_so_do_those_that_use_it(shell, capsys):
    assert ran(shell, capsys, "from helpers import needs")[0]
    well, said, line = ran(shell, capsys, LACKS)
    assert well and said.endswith("0\n1\n2\n") and line.count("\n") == 1
    assert line.startswith("Triton: not installed. ") and line.endswith(notebook.AS_STORED + "\n")
    assert shell.display_pub.outputs[-1]["data"] == {"text/plain": "02_page.ipynb"}
    assert "before" not in shell.user_ns and "needs" in shell.user_ns
    for source, wanted in (("print(x + 1)", "3\n"), (LACKS, "0\n1\n2\n")):
        well, said, line = ran(shell, capsys, source)
        assert well and said.endswith(wanted) and line == f"{needs.lack('blocks')} {notebook.AS_STORED}\n"
    assert ran(shell, capsys, "print(4)") == (True, "4\n", "") and not shell.usual


@pytest.mark.parametrize(
    "source, answered",
    [("needs.need('blocks')", True), ("import triton", True), ("import nowhere", False), ("nowhere", False)],
)
def test_a_cell_of_ones_own_has_the_line_and_ends_in_its_error(shell, capsys, monkeypatch, source, answered):
    monkeypatch.setitem(sys.modules, "triton", None)  # as if it were not installed
    ran(shell, capsys, "from helpers import needs")
    well, said, line = ran(shell, capsys, source)
    assert (well, said, not shell.usual) == (False, "", answered)
    assert line == (f"{needs.lack('blocks')}\n" if answered else "")


def test_where_the_pages_are_not_on_the_disk_there_is_the_line_alone(shell, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(notebook, "PAGES", tmp_path / "gone")
    ran(shell, capsys, "from helpers import needs")
    well, said, line = ran(shell, capsys, LACKS)
    assert not well and not said and line.endswith("Then restart Python.\n") and line.count("\n") == 1


def test_a_cell_that_is_stopped_between_two_statements_says_so_in_one_line(shell, capsys, monkeypatch):
    """IPython compiles the next one then: a busy machine was seen to be stopped there."""

    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(shell.compile), "__call__", stopped)
    well, _, line = ran(shell, capsys, "1")
    assert not well and line == "Stopped. Nothing is broken: run the cell again.\n" and not shell.usual
