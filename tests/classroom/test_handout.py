"""The hand-out has no solution in it, runs where only the package is, and leads nowhere else."""

import ast
import json
import re
import subprocess
import sys

import handout
import nbformat
import notebooks
import pytest
from judged import binds
from nbclient import NotebookClient
from solved import MENDED, in_pages

from helpers.classroom import EXERCISES, verdicts

SHORT = 8  # characters: a line with fewer gives nothing away


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The whole hand-out, in a folder of its own."""
    folder = tmp_path_factory.mktemp("class") / "handout"
    assert handout.main(["--folder", str(folder)]) == 0
    return folder


def pages_in(folder):
    return sorted(folder.glob("*.ipynb"))


def text_of(path):
    """All text of a notebook that a student could read, outputs included."""
    page = nbformat.read(path, as_version=4)
    outputs = [json.dumps(cell.get("outputs", [])) for cell in page.cells]
    return "\n".join([*(cell.source for cell in page.cells), *outputs])


def code_of(cell, stub=""):
    """The lines of a solution that are not in its stub: without comments and margins, none too short to tell."""
    lines = {line.partition("#")[0].strip() for line in cell.split("\n")} - {line.strip() for line in stub.split("\n")}
    return {line for line in lines if len(line) >= SHORT}


def answer_in(solution, stub):
    """Of a solution's cell the statements that give the stub's names a value, and not those that check them."""
    names = set().union(*map(binds, ast.parse(stub).body))
    own = [statement for statement in ast.parse(solution).body if binds(statement) & names]
    return "\n".join(ast.get_source_segment(solution, statement) for statement in own)


def leaks(folder):
    """The exercises whose solution can be read in the student's pages: every line of it is in one of them."""
    texts = {path.name[:2]: text_of(path) for path in pages_in(folder)}
    for label, (stub, solution) in in_pages().items():
        lines = code_of(answer_in(solution, stub), stub)
        if lines and any(all(line in text for line in lines) for page, text in texts.items() if page <= label):
            yield label
    if MENDED[1] in texts.get("04", ""):
        yield "04.1"


def test_no_solution_is_left_anywhere(made):
    assert not list(leaks(made))
    told = [
        cell.source
        for path in notebooks.notebook_paths()
        for cell in notebooks.read(path).cells
        if handout.TAG in cell.metadata.get("tags", [])
    ]
    everything = "".join(text_of(path) for path in pages_in(made)) + (made / "README.md").read_text()
    assert "solution" not in everything and "@title" not in everything
    assert len(told) > 1 and not [text for text in told if text in everything]


@pytest.mark.parametrize("label", ["00.1", "04.2", "05.1", "11.2"])
def test_a_solution_that_was_left_is_seen(made, tmp_path, label):
    [path] = made.glob(f"{label[:2]}_*.ipynb")
    page = nbformat.read(path, as_version=4)
    page.cells.append(nbformat.v4.new_markdown_cell(in_pages()[label][1]))
    nbformat.write(page, tmp_path / path.name)
    assert list(leaks(tmp_path)) == [label]


def test_hints_and_stubs_stay_and_outputs_go(made):
    for path in pages_in(made):
        master = notebooks.read(notebooks.FOLDER / path.name)
        page = nbformat.read(path, as_version=4)
        nbformat.validate(page)
        assert not any(cell.get("outputs") or cell.get("execution_count") for cell in page.cells)
        hints = sum(cell.source.count("hint</summary>") for cell in master.cells)
        assert text_of(path).count("hint</summary>") == hints
        assert set(verdicts(path)) == {label for label in EXERCISES if label[:2] == path.name[:2]}
        assert page.cells[0].source.startswith(master.cells[0].source.split("\n")[0])
        assert "badge" not in page.cells[0].source  # they open the pages with solutions


def test_the_chinese_handout_has_the_same_stubs_and_no_solution(tmp_path):
    folder = tmp_path / "h"
    assert handout.main(["--folder", str(folder), "--language", "zh_CN"]) == 0
    assert not list(leaks(folder))
    everything = "".join(text_of(path) for path in pages_in(folder)) + (folder / "README.md").read_text("utf-8")
    assert "解答" not in everything and "solution" not in everything and "../glossary" not in everything
    for path in pages_in(folder):
        master = notebooks.read(notebooks.FOLDER / "zh_CN" / path.name)
        assert nbformat.read(path, as_version=4).cells[0].source.startswith(master.cells[0].source.split("\n")[0])
        assert set(verdicts(path)) == {label for label in EXERCISES if label[:2] == path.name[:2]}
        assert "**Next:**" not in text_of(path)
    wanted = {link for path in pages_in(folder) for link in links(text_of(path))}
    assert len(wanted) > 10 and all((folder / link).exists() for link in wanted)
    following = [re.findall(r"\*\*下一页：\*\* \[.*\]\((.*)\)", text_of(path)) for path in pages_in(folder)]
    assert following == [*([path.name] for path in pages_in(folder)[1:]), []]


def test_the_day_after_has_the_pages_that_were_handed_out_in_their_language(tmp_path):
    folder = tmp_path / "h"
    handout.main(["--folder", str(folder), "--pages", "00", "02", "--language", "zh_CN"])
    handout.main(["--folder", str(folder), "--with-solutions-after"])
    assert [path.name[:2] for path in pages_in(folder)] == ["00", "02"]
    assert all("## 解答" in text_of(path) for path in pages_in(folder))
    handout.main(["--folder", str(folder), "--with-solutions-after", "--pages", "03", "--language", "en"])
    assert [path.name[:2] for path in pages_in(folder)] == ["03"] and "## Solutions" in text_of(pages_in(folder)[0])


def links(text):
    return re.findall(r"\]\(([\w./]+\.(?:ipynb|md))", text)


@pytest.mark.parametrize("pages", [[], ["00", "02", "04"]], ids=["all", "three"])
def test_every_link_leads_to_a_file_of_the_handout(tmp_path, pages):
    handout.main(["--folder", str(tmp_path / "h"), *(["--pages", *pages] if pages else [])])
    found = pages_in(tmp_path / "h")
    assert [path.name[:2] for path in found] == (pages or [path.name[:2] for path in notebooks.notebook_paths()])
    texts = [text_of(path) for path in found]
    wanted = {link for text in [*texts, (tmp_path / "h" / "README.md").read_text()] for link in links(text)}
    assert wanted and all((tmp_path / "h" / link).exists() for link in wanted), wanted
    solved = {link for path in pages_in(tmp_path / "h" / "solutions") for link in links(text_of(path))}
    assert all((tmp_path / "h" / "solutions" / link).exists() for link in solved if link.endswith(".md") or not pages)
    for text, following in zip(texts, [*found[1:], None], strict=True):
        assert re.findall(r"\*\*Next:\*\* \[.*\]\((.*)\)", text) == ([following.name] if following else [])


def bound(source):
    """The names that a cell's code binds."""
    stored = {n.id for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return stored | {n.name for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef)}


def test_no_cell_needs_what_only_a_solution_made(made):
    for path in pages_in(made):
        master = notebooks.read(notebooks.FOLDER / path.name)
        solved = set().union(*(bound(c.source) for c in master.cells if c.source.startswith(handout.TITLE)))
        cells = [c.source for c in nbformat.read(path, as_version=4).cells[2:] if c.cell_type == "code"]
        made_here, missing = set(), set()
        for source in cells:
            used = {n.id for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Name)}
            made_here |= bound(source)
            missing |= (used & solved) - made_here
        assert not missing, f"{path.name}: {missing}"


def test_a_page_runs_in_a_copy_elsewhere(made, tmp_path):
    """In a folder with nothing else in it: what it needs comes from the package."""
    [path] = made.glob("00_*.ipynb")
    page = nbformat.read(path, as_version=4)
    here = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(page, timeout=300, kernel_name="python3", resources=here, allow_errors=True).execute()
    said = json.dumps([cell.get("outputs", []) for cell in page.cells])
    assert said.count("not yet") > 3 and "ModuleNotFound" not in said and not list(tmp_path.iterdir())


def test_solutions_after_class_are_at_the_end_and_folded(tmp_path):
    folder = tmp_path / "h"
    handout.main(["--folder", str(folder), "--with-solutions-after"])
    for path in pages_in(folder):
        cells = nbformat.read(path, as_version=4).cells
        begins = next(at for at, cell in enumerate(cells) if cell.source == "## Solutions")
        assert any("## What you now know" in cell.source for cell in cells[:begins])
        solutions = [cell for cell in cells if cell.source.startswith(handout.TITLE)]
        assert all(cells.index(cell) > begins and cell.metadata.jupyter.source_hidden for cell in solutions)
    assert set(leaks(folder)) == set(EXERCISES)


def test_what_somebody_else_made_is_not_overwritten(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(SystemExit, match="holds something that this command did not make"):
        handout.main(["--folder", str(tmp_path)])
    with pytest.raises(SystemExit, match="there is no page 77"):
        handout.main(["--pages", "77", "--folder", str(tmp_path / "new")])
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    handout.main(["--pages", "00", "--folder", str(tmp_path / "new")])
    handout.main(["--pages", "01", "--folder", str(tmp_path / "new")])  # its own folder it makes anew
    assert [path.name[:2] for path in pages_in(tmp_path / "new")] == ["01"]


def test_the_handout_is_made_by_make_and_never_committed():
    ignored = (notebooks.ROOT / ".gitignore").read_text().split()
    assert "handout/" in ignored
    shown = subprocess.run(["make", "-n", "handout"], cwd=notebooks.ROOT, capture_output=True, text=True).stdout
    assert "tools/handout.py" in shown, sys.executable
