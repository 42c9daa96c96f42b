"""How an author's notebook comes into its normal form: run again, run with its old times, or not run at all."""

import json
import shutil

import nbformat
import notebooks
import pytest

STEM = "04_tiling"
TAGGED = {"tags": [notebooks.MACHINES]}


@pytest.fixture(scope="module", autouse=True)
def published():
    """A course that is published. Its READMEs are not this one's: a test must not write them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(notebooks, "repository", lambda: "https://github.com/somebody/course")
        patch.setattr(notebooks, "READMES", {})
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with one small notebook, as it is stored after a run."""
    v4 = nbformat.v4
    cells = [
        v4.new_markdown_cell(f"# 04 · Stage a tile\n\n{notebooks.badges(STEM)}\n\nA sentence."),
        v4.new_code_cell("\n".join(notebooks.setup_lines())),
        v4.new_code_cell("import time\n\nprint(time.perf_counter())", metadata=TAGGED),
        v4.new_code_cell("6 * 7"),
    ]
    for number, cell in enumerate(cells):
        cell.id = f"04-c{number:02}"
    folder = tmp_path_factory.mktemp("made")
    path = folder / f"{STEM}.ipynb"
    path.write_text(notebooks.as_text(v4.new_notebook(cells=cells)), encoding="utf-8")
    (folder / "glossary.md").write_text('| <a id="tile"></a>**tile** |\n', encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(notebooks, "FOLDER", folder)
        assert notebooks.main(["04"]) == notebooks.main(["--format", "04"]) == 0
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """A copy of it, which a test may change."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(notebooks, "FOLDER", tmp_path)
    return tmp_path


def stored(folder):
    return nbformat.read(folder / f"{STEM}.ipynb", as_version=4)


def change(folder, edit):
    """As if an author saved it from JupyterLab."""
    notebook = stored(folder)
    edit(notebook)
    (folder / f"{STEM}.ipynb").write_text(json.dumps(notebook, indent=2), encoding="utf-8")


def printed(notebook):
    return notebook.cells[2].outputs[0].text


def from_jupyterlab(notebook):
    """What JupyterLab leaves in a file whose author changed a sentence, and ran two cells again, in another order."""
    notebook.cells[0].source = notebook.cells[0].source.replace("A sentence.", "Another sentence.")
    notebook.metadata.kernelspec = {"name": "my-env", "display_name": "mine"}
    for cell, count in ((notebook.cells[3], 8), (notebook.cells[2], 9)):
        cell.execution_count = count
        cell.metadata.execution = {"iopub.execute_input": "2026-01-01"}
    notebook.cells[3].outputs[0].execution_count = 8
    notebook.cells[3].source = "6*7"


def test_prose_is_changed_without_a_run_and_without_new_times(folder, monkeypatch, capsys):
    before = stored(folder)
    monkeypatch.setattr(notebooks, "execute", lambda notebook: pytest.fail("it ran"))
    change(folder, from_jupyterlab)
    assert notebooks.main(["--check", "04"]) == 1
    assert "run: python tools/notebooks.py --format 04" in capsys.readouterr().out
    assert notebooks.main(["--format", "04"]) == 0 and notebooks.main(["--check", "04"]) == 0
    after = stored(folder)
    assert "Another sentence." in after.cells[0].source
    after.cells[0].source = before.cells[0].source
    assert after == before


def test_a_run_that_keeps_times_renews_all_else(folder):
    before = stored(folder)
    change(folder, lambda notebook: notebook.cells[3].update(source="6 * 8"))
    assert notebooks.main(["--keep-times", "04"]) == 0
    after = stored(folder)
    assert after.cells[3].outputs[0].data["text/plain"] == "48" and printed(after) == printed(before)
    change(folder, lambda notebook: notebook.cells[2].update(outputs=[]))  # as for a cell that is new
    assert notebooks.main(["--keep-times", "04"]) == 0
    assert printed(stored(folder)) != printed(after)
    before = printed(stored(folder))
    assert notebooks.main(["04"]) == 0
    assert printed(stored(folder)) != before


def test_a_cell_that_never_ran_is_not_counted(folder):
    change(folder, lambda notebook: notebook.cells[3].update(execution_count=None, outputs=[]))
    assert notebooks.main(["--format", "04"]) == 0
    assert [cell.execution_count for cell in stored(folder).cells[1:]] == [1, 2, None]


def test_a_failed_run_changes_nothing(folder, capsys):
    change(folder, lambda notebook: notebook.cells[3].update(source="1 / 0"))
    before = (folder / f"{STEM}.ipynb").read_text(encoding="utf-8")
    assert notebooks.main(["04"]) == 1 and "ZeroDivisionError" in capsys.readouterr().out
    assert (folder / f"{STEM}.ipynb").read_text(encoding="utf-8") == before
