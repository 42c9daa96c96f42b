"""A progress bar is seen by those who wait, and is in no stored page."""

import io
import sys

import nbformat
import notebooks
import pytest
from nbclient import NotebookClient

from helpers.terminal import ProgressBar


class Terminal(io.StringIO):
    """A stream that is a terminal, or is none."""

    def __init__(self, is_one):
        super().__init__()
        self.is_one = is_one

    def isatty(self):
        return self.is_one


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_shows_it_and_a_file_does_not(terminal, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal(terminal))
    with ProgressBar("a kernel", 60, patience=0) as bar:
        bar.start -= 7
        bar.update("and more")
        shown = sys.stderr.getvalue()
    assert ("a kernel: 7 s of at most 60 s | and more" in shown) == terminal
    assert not terminal or sys.stderr.getvalue().endswith("\r")  # it is gone


CELL = """
print("before")
from helpers.terminal import ProgressBar
with ProgressBar("a kernel", 60, patience=0) as bar:
    bar.update("this")
    print("meanwhile")
assert bar.bar.container.comm is None, "the widget is closed, too"
print("after")
6 * 7
"""


def test_a_stored_page_does_not_hold_it():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    (cell,) = notebook.cells
    assert any(output.output_type == "display_data" for output in cell.outputs)
    notebooks.normalise_outputs(cell)
    assert [output.output_type for output in cell.outputs] == ["stream", "execute_result"]
    assert cell.outputs[0].text == "before\nmeanwhile\nafter\n"
