"""The hand-out has no solution in it, runs where only the package is, and leads nowhere else."""

import ast
import json
import re

import handout
import nbformat
import notebooks
import pytest
from judged import binds
from nbclient import NotebookClient
from solved import MENDED, in_pages

from helpers.classroom import EXERCISES, verdicts

SHORT = 8  # characters: a line with fewer gives nothing away
NEXT = {"en": r"\*\*Next:\*\* \[.*\]\((.*)\)", "zh_CN": r"\*\*下一页：\*\* \[.*\]\((.*)\)"}


def made_in(folder, *options):
    """The pages of a hand-out that is made there, in order."""
    assert handout.main(["--folder", str(folder), *options]) == 0
    return sorted(folder.glob("*.ipynb"))


@pytest.fixture(scope="module", params=["en", "zh_CN"])
def made(tmp_path_factory, request):
    """(the language, the pages) of the whole hand-out, in a folder of its own."""
    return request.param, made_in(tmp_path_factory.mktemp("class") / "handout", "--language", request.param)


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


def leaks(paths):
    """The exercises whose solution can be read in the student's pages: every line of it is in one of them."""
    texts = {path.name[:2]: text_of(path) for path in paths}
    for label, (stub, solution) in in_pages().items():
        lines = code_of(answer_in(solution, stub), stub)
        if lines and any(all(line in text for line in lines) for page, text in texts.items() if page <= label):
            yield label
    if MENDED[1] in texts.get("04", ""):
        yield "04.1"


def links(text):
    return set(re.findall(r"\]\(([\w./]+\.(?:ipynb|md))", text))


def test_a_page_has_its_stubs_and_hints_and_no_solution_and_leads_to_the_next(made):
    language, paths = made
    assert not list(leaks(paths))
    texts = [text_of(path) for path in paths]
    everything = "".join(texts) + (paths[0].parent / "README.md").read_text("utf-8")
    assert not [word for word in ("解答", "solution", "@title", "badge", "../glossary") if word in everything]
    masters = [notebooks.read(handout.LANGUAGES[language].pages / path.name) for path in paths]
    told = [cell.source for page in masters for cell in page.cells if handout.TAG in cell.metadata.get("tags", [])]
    assert len(told) > 1 and not [text for text in told if text in everything]
    for path, text, master in zip(paths, texts, masters, strict=True):
        page = nbformat.read(path, as_version=4)
        nbformat.validate(page)
        assert not any(cell.get("outputs") or cell.get("execution_count") for cell in page.cells)
        assert set(verdicts(path)) == {label for label in EXERCISES if label[:2] == path.name[:2]}
        for kept in ("hint</summary>", "提示</summary>"):
            assert text.count(kept) == sum(cell.source.count(kept) for cell in master.cells)
        assert page.cells[0].source.startswith(master.cells[0].source.split("\n")[0])
    wanted = links(everything)
    assert len(wanted) > 10 and [link for link in wanted if not (paths[0].parent / link).exists()] == []
    assert [re.findall(NEXT[language], text) for text in texts] == [*([path.name] for path in paths[1:]), []]


def test_of_some_pages_no_link_leads_to_one_that_was_not_handed_out(tmp_path):
    folder = tmp_path / "h"
    found = made_in(folder, "--pages", "00", "02", "04")
    texts = [text_of(path) for path in found]
    wanted = links("\n".join([*texts, (folder / "README.md").read_text()]))
    assert wanted and [link for link in wanted if not (folder / link).exists()] == []
    assert [re.findall(NEXT["en"], text) for text in texts] == [[found[1].name], [found[2].name], []]
    assert len(list((folder / "solutions").glob("*.ipynb"))) == 3 and (folder / "solutions" / "glossary.md").exists()


def bound(source):
    """The names that a cell's code binds."""
    stored = {n.id for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return stored | {n.name for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef)}


def test_no_cell_needs_what_only_a_solution_made(made):
    for path in made[1]:
        master = notebooks.read(notebooks.FOLDER / path.name)
        solved = set().union(*(bound(c.source) for c in master.cells if c.source.startswith(handout.TITLE)))
        cells = [c.source for c in nbformat.read(path, as_version=4).cells[2:] if c.cell_type == "code"]
        made_here, missing = set(), set()
        for source in cells:
            used = {n.id for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Name)}
            made_here |= bound(source)
            missing |= (used & solved) - made_here
        assert not missing, f"{path.name}: {missing}"


@pytest.mark.bulk
def test_a_page_runs_in_a_copy_elsewhere(tmp_path):
    """In a folder with nothing else in it: what it needs comes from the package."""
    page = nbformat.read(made_in(tmp_path / "h", "--pages", "00")[0], as_version=4)
    here = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(page, timeout=600, kernel_name="python3", resources=here, allow_errors=True).execute()
    said = json.dumps([cell.get("outputs", []) for cell in page.cells])
    assert said.count("not yet") > 3 and "ModuleNotFound" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["h"]


def test_the_day_after_the_same_pages_have_their_solutions_at_the_end_and_folded(tmp_path):
    folder = tmp_path / "h"
    made_in(folder, "--pages", "00", "02", "--language", "zh_CN")
    paths = made_in(folder, "--with-solutions-after")
    assert [path.name[:2] for path in paths] == ["00", "02"]
    for path in paths:
        cells = nbformat.read(path, as_version=4).cells
        begins = next(at for at, cell in enumerate(cells) if cell.source == "## 解答")
        solutions = [cell for cell in cells if cell.source.startswith(handout.TITLE)]
        assert all(cells.index(cell) > begins and cell.metadata.jupyter.source_hidden for cell in solutions)
    assert set(leaks(paths)) == {label for label in EXERCISES if label[:2] in ("00", "02")}
    paths = made_in(folder, "--with-solutions-after", "--pages", "03", "--language", "en")
    assert [path.name[:2] for path in paths] == ["03"] and "## Solutions" in text_of(paths[0])


def test_what_somebody_else_made_is_not_overwritten(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(SystemExit, match="holds something that this command did not make"):
        handout.main(["--folder", str(tmp_path)])
    with pytest.raises(SystemExit, match="there is no page 77"):
        handout.main(["--pages", "77", "--folder", str(tmp_path / "new")])
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    made_in(tmp_path / "new", "--pages", "00")
    assert [path.name[:2] for path in made_in(tmp_path / "new", "--pages", "01")] == ["01"]  # its own it makes anew
