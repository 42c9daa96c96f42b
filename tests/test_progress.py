"""A progress bar is seen by those who wait, and by nobody else: not by nbval, and not in a stored page."""

import copy
import io
import sys

import nbformat
import notebooks
import pytest
from nbclient import NotebookClient
from nbval.plugin import coalesce_streams

from helpers import progress
from helpers.progress import WIDGET, ProgressBar


class Terminal(io.StringIO):
    """A stream that is a terminal, or is none."""

    def __init__(self, is_one):
        super().__init__()
        self.is_one = is_one

    def isatty(self):
        return self.is_one


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_shows_it_after_a_while_and_a_file_does_not(terminal, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal(terminal))
    with ProgressBar("a kernel", 60) as bar:
        bar.update(1)
        assert sys.stderr.getvalue() == ""
        monkeypatch.setattr(bar, "start", bar.start - progress.PATIENCE)
        bar.update(7, "and more")
        shown = sys.stderr.getvalue()
    assert ("a kernel: 7 s of at most 60 s and more" in shown) == terminal
    assert not terminal or sys.stderr.getvalue().endswith("\r")  # it is gone


CELL = """
print("before")
from helpers.progress import ProgressBar
with ProgressBar("a kernel", 60, patience=0) as bar:
    bar.update(7)
    print("meanwhile")
assert bar.bar.container.comm is None, "the widget is closed, too"
print("after")
6 * 7
"""


@pytest.fixture(scope="module")
def outputs():
    """What a notebook's cell with a progress bar leaves, as Jupyter stores it."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    return notebook.cells[0]


def test_nbval_does_not_see_it(outputs):
    """As nbval compares: streams joined by name, and each kind of data but those that it skips."""
    shown = [output for output in outputs.outputs if output.output_type == "display_data"]
    assert len(shown) == 1 and set(shown[0].data) <= {WIDGET}, "a bar was shown, by a reference that nbval skips"
    rest = [output for output in outputs.outputs if output.output_type != "display_data"]
    others = coalesce_streams(copy.deepcopy(rest))
    assert [o.get("text") or o.data["text/plain"] for o in others] == ["before\nmeanwhile\nafter\n", "42"]
    assert not any(output.get("name") == "stderr" for output in outputs.outputs)


def test_a_stored_page_does_not_hold_it(outputs):
    notebooks.normalise_outputs(outputs)
    assert [output.output_type for output in outputs.outputs] == ["stream", "execute_result"]
    assert outputs.outputs[0].text == "before\nmeanwhile\nafter\n"
