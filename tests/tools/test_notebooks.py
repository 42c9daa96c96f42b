"""The stored pages, and how an author's page comes into its normal form: run again, with its old times, or not run."""

import json
import re

import nbformat
import notebooks
import pytest

STEM = "04_tiling"
TAGGED = {"tags": [notebooks.MACHINES]}


def wrong_with(notebook):
    """What a reader, or nbval, would suffer from in a stored page, a line each."""
    yield from notebooks.output_problems(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if [cell.execution_count for cell in code] != list(range(1, len(code) + 1)):
        yield "not all of its cells have run"
    for cell in notebook.cells:
        if found := notebooks.machine_words().search(cell.source):
            yield f"names a machine's own path or name: {cell.source[found.start() :][:60]!r}"
    for cell in code:
        if notebooks.MACHINES in cell.metadata.get("tags", []) and re.search(r"\bcheck(_\w+)?\(|\bshow\(", cell.source):
            yield f"its tag hides a verdict from nbval: split the cell {cell.id}"
        for output in cell.outputs:
            words = output.get("data", {}).get("text/plain", "")
            if "image/png" in output.get("data", {}) and (not words or words.startswith("<")):
                yield f"an image whose text is {words!r}, not what it shows: {cell.id}"


@pytest.mark.parametrize("path", notebooks.notebook_paths(), ids=lambda path: path.stem)
def test_a_stored_page_is_whole_and_says_nothing_of_a_machine(path):
    assert list(wrong_with(notebooks.read(path))) == []


def test_notebooks_are_in_normal_form(capsys):
    failed = notebooks.main(["--check"])
    assert not failed, capsys.readouterr().out  # it names the command that mends it


# ------------------------------------------------------------------------------------------------------- the tool


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A course that is published, with one small notebook as it is stored after a run. Its READMEs are not this one's.

    A run is not one: each gives other times.
    """
    times = iter(range(100))

    def execute(notebook):
        for number, cell in enumerate(cell for cell in notebook.cells if cell.cell_type == "code"):
            said = next(times) if notebooks.MACHINES in cell.metadata.get("tags", []) else cell.source
            cell.execution_count = number + 1
            cell.outputs = [nbformat.v4.new_output("stream", text=f"{said}\n")]

    monkeypatch.setattr(notebooks, "repository", lambda: "https://github.com/somebody/course")
    monkeypatch.setattr(notebooks, "READMES", {})
    monkeypatch.setattr(notebooks, "FOLDER", tmp_path)
    monkeypatch.setattr(notebooks, "execute", execute)
    v4 = nbformat.v4
    cells = [
        v4.new_markdown_cell(f"# 04 · Stage a tile\n\n{notebooks.badges(STEM)}\n\nA sentence."),
        v4.new_code_cell("\n".join(notebooks.setup_lines())),
        v4.new_code_cell("measure()", metadata=TAGGED),
        v4.new_code_cell("6 * 7"),
    ]
    for number, cell in enumerate(cells):
        cell.id = f"04-c{number:02}"
    (tmp_path / f"{STEM}.ipynb").write_text(notebooks.as_text(v4.new_notebook(cells=cells)), encoding="utf-8")
    (tmp_path / "glossary.md").write_text('| <a id="tile"></a>**tile** |\n', encoding="utf-8")
    assert notebooks.main(["04"]) == notebooks.main(["--format", "04"]) == 0
    return tmp_path


def stored(folder):
    return nbformat.read(folder / f"{STEM}.ipynb", as_version=4)


def change(folder, edit):
    """As if an author saved it from JupyterLab."""
    notebook = stored(folder)
    edit(notebook)
    (folder / f"{STEM}.ipynb").write_text(json.dumps(notebook, indent=2), encoding="utf-8")


def from_jupyterlab(notebook):
    """What JupyterLab leaves in a file whose author changed a sentence, and ran two cells again, in another order."""
    notebook.cells[0].source = notebook.cells[0].source.replace("A sentence.", "Another sentence.")
    notebook.metadata.kernelspec = {"name": "my-env", "display_name": "mine"}
    for cell, count in ((notebook.cells[3], 8), (notebook.cells[2], 9)):
        cell.execution_count = count
        cell.metadata.execution = {"iopub.execute_input": "2026-01-01"}
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
    assert after.cells[3].outputs[0].text == "6 * 8\n" and after.cells[2] == before.cells[2]
    assert notebooks.main(["04"]) == 0
    assert stored(folder).cells[2].outputs != before.cells[2].outputs


def test_a_failed_run_changes_nothing(folder, capsys, monkeypatch):
    def fails(notebook):
        notebook.cells.clear()
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(notebooks, "execute", fails)
    before = (folder / f"{STEM}.ipynb").read_bytes()
    assert notebooks.main(["04"]) == 1 and "division by zero" in capsys.readouterr().out
    assert (folder / f"{STEM}.ipynb").read_bytes() == before


def test_without_an_address_no_badge_leads_nowhere_and_no_page_installs_from_anywhere(folder, monkeypatch):
    page = stored(folder)
    page.cells[1].source += "\nfrom helpers import check"
    monkeypatch.setattr(notebooks, "repository", lambda: "")
    notebooks.normalise(page, STEM)
    assert page.cells[0].source == "# 04 · Stage a tile\n\nA sentence."
    assert page.cells[1].source == f"{notebooks.WHICH_PYTHON}from helpers import check"


def test_a_solution_is_folded(folder):
    page = stored(folder)
    page.cells[3].source = f"{notebooks.SOLUTION}\n6 * 7"
    notebooks.normalise(page, STEM)
    assert page.cells[3].metadata == {"cellView": "form", "jupyter": {"source_hidden": True}}


def test_new_cells_get_stable_ids_that_no_other_has(folder):
    notebook = stored(folder)
    del notebook.cells[1]["id"], notebook.cells[2]["id"]
    notebook.cells[3].id = "04-c01"
    (folder / f"{STEM}.ipynb").write_text(json.dumps(notebook))
    cells = notebooks.read(folder / f"{STEM}.ipynb").cells
    assert [cell.id for cell in cells] == ["04-c00", "04-c02", "04-c03", "04-c01"]
