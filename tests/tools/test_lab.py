"""A learner's copies of the pages: which are renewed, which stay, and what JupyterLab is given of them."""

import json
import os
import re
import subprocess
import sys

import lab
import nbformat
import notebooks
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

PAGE, GLOSSARY = "02_naive.ipynb", "glossary.md"
FILES = {GLOSSARY, PAGE, f"zh_CN/{PAGE}"}


def page(said="first edition", answer="your turn", printed="not yet", **metadata):
    cell = new_code_cell(answer, id="stub", execution_count=1, outputs=[new_output("stream", text=printed)])
    return nbformat.writes(new_notebook(cells=[new_markdown_cell(said, id="title"), cell], metadata=metadata))


@pytest.fixture
def course(tmp_path):
    """A course of one page in each language, and a learner's copies of it; returns their two folders."""
    folder, own = tmp_path / "notebooks", tmp_path / "my_pages"
    (folder / "zh_CN").mkdir(parents=True)
    for place in (folder, folder / "zh_CN"):
        (place / PAGE).write_text(page())
    (folder / GLOSSARY).write_text("first edition\n")
    assert lab.renew(folder, own) == []
    return folder, own


def newer(folder):
    """The course gets a new edition of all that it has."""
    for path in (folder / PAGE, folder / "zh_CN" / PAGE):
        path.write_text(page("second edition"))
    (folder / GLOSSARY).write_text("second edition\n")


def test_each_page_gets_a_copy_and_what_was_never_changed_is_renewed(course):
    folder, own = course
    assert {path.relative_to(own).as_posix() for path in own.rglob("*.*")} == {*FILES, lab.RECORD}
    assert all((own / name).read_bytes() == (folder / name).read_bytes() for name in FILES)
    newer(folder)
    assert lab.renew(folder, own) == []
    assert all((own / name).read_bytes() == (folder / name).read_bytes() for name in FILES)


def test_an_editor_that_saves_what_was_only_read_changes_nothing(course):
    """As others save: jupyter/notebook#2123, microsoft/vscode-tools-for-ai#1855, text in one piece."""
    folder, own = course
    saved = page(language_info={"name": "python", "version": "3.14.0"})
    (own / PAGE).write_text(json.dumps(nbformat.reads(saved, as_version=4)))
    newer(folder)
    assert lab.renew(folder, own) == []
    assert "second edition" in (own / PAGE).read_text()


@pytest.mark.parametrize("mine", [page(answer="my answer"), page(printed="right"), "{ cut off"])
def test_what_the_learner_wrote_or_ran_stays(course, mine):
    folder, own = course
    (own / PAGE).write_text(mine)
    assert lab.renew(folder, own) == [], "the course has nothing new to offer"
    newer(folder)
    for _ in range(2):  # it is said each time, until the learner has chosen
        assert lab.renew(folder, own) == [PAGE]
        assert (own / PAGE).read_text() == mine
    assert "second edition" in (own / "zh_CN" / PAGE).read_text()


def test_a_copy_that_was_deleted_comes_back_as_the_course_has_it(course):
    """jupyterhub/nbgitpuller#279: there, what was deleted kept its changes."""
    folder, own = course
    (own / PAGE).write_text(page(answer="a mess"))
    newer(folder)
    lab.renew(folder, own)
    (own / PAGE).unlink()
    assert lab.renew(folder, own) == []
    assert (own / PAGE).read_text() == (folder / PAGE).read_text()
    (folder / PAGE).write_text(page("third edition"))
    assert lab.renew(folder, own) == [], "it is a copy like any other again"


@pytest.mark.parametrize("changed", [False, True])
def test_a_page_that_the_course_has_no_more_goes_unless_it_was_changed(course, changed):
    folder, own = course
    if changed:
        (own / PAGE).write_text(page(answer="my answer"))
    (folder / PAGE).rename(folder / "03_naive.ipynb")
    assert lab.renew(folder, own) == [PAGE] * changed
    assert (own / PAGE).exists() == changed and (own / "03_naive.ipynb").exists()


def test_without_its_record_a_copy_that_is_not_the_courses_stays(course):
    folder, own = course
    newer(folder)
    (folder / GLOSSARY).write_text("first edition\n")
    (own / lab.RECORD).write_text("{ cut off")
    assert lab.renew(folder, own) == [PAGE, f"zh_CN/{PAGE}"]
    assert "first edition" in (own / PAGE).read_text()


def test_links_and_pictures_of_the_course_lead_somewhere_in_the_copies(tmp_path):
    own = tmp_path / "my_pages"
    assert lab.renew(notebooks.FOLDER, own) == []
    pages = [*own.rglob("*.ipynb")]
    assert len(pages) == len([*notebooks.FOLDER.glob("zh_CN/*.ipynb"), *notebooks.notebook_paths()])
    links = set()
    for path in pages:
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            prose = "".join(cell["source"]) if cell["cell_type"] == "markdown" else ""
            links |= {(path.parent, link) for link in re.findall(r"\]\(([\w./]+\.\w+)[#) ]", prose)}
    assert len(links) > 30
    assert [link for folder, link in links if not (folder / link).exists()] == []


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """A course in which nothing is started; returns what would be opened, a list of (page, options)."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "00_start_here.ipynb").write_text(page())
    for name, folder in (("ROOT", ""), ("COURSE", "notebooks"), ("OWN", "my_pages")):
        monkeypatch.setattr(lab, name, tmp_path / folder)
    monkeypatch.chdir(tmp_path)
    found = []
    monkeypatch.setattr(lab, "open_in_jupyterlab", lambda page, options: found.append((page, options)))
    return found


def test_a_copy_is_made_before_it_is_opened_with_jupyterlabs_options(opened, tmp_path):
    lab.main(["my_pages/00_start_here.ipynb", "--port=1"])
    page = tmp_path / "my_pages" / "00_start_here.ipynb"
    assert opened == [(page, ["--port=1"])] and page.exists()
    lab.main(["--no-browser"])
    assert opened[1:] == [(page, ["--no-browser"])]


def test_one_line_says_how_to_get_the_new_edition_beside_ones_own(opened, tmp_path, capsys):
    lab.main([])
    assert capsys.readouterr().out == ""
    own, new = (tmp_path / folder / "00_start_here.ipynb" for folder in ("my_pages", "notebooks"))
    own.write_text(page(answer="mine"))
    new.write_text(page("second edition"))
    lab.main([])
    said = capsys.readouterr().out
    assert said.count("\n") == 1 and "which you changed: 00_start_here.ipynb." in said
    own.rename(own.with_name(re.search(r"such as (\S+),", said)[1]))
    lab.main([])
    assert own.read_text() == new.read_text() and "mine" in (own.parent / "my_00_start_here.ipynb").read_text()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "wrong, said",
    [("my_pages/20.ipynb", "there is no "), (os.path.dirname(__file__), "there is no "), ("", "cannot be")],
)
def test_what_cannot_be_opened_is_refused_in_one_line(opened, tmp_path, wrong, said):
    if not wrong:
        (tmp_path / "my_pages").write_text("a file")
    with pytest.raises(SystemExit, match=rf"^Not opened: .*{said}.*\.$"):
        lab.main([wrong] * bool(wrong))
    assert opened == []


def test_pages_find_the_course_beside_them_and_not_where_it_was_installed(tmp_path, monkeypatch):
    """A folder that was moved, or copied, has an install that points at nothing, or at another course."""
    (tmp_path / "helpers").mkdir()
    (tmp_path / "helpers" / "__init__.py").write_text("print('the course that was moved here')\n")
    monkeypatch.setattr(lab, "ROOT", tmp_path)
    for name in ("PYTHONPATH", "JUPYTER_CONFIG_PATH"):
        monkeypatch.setenv(name, os.environ.get(name, ""))  # so that it is put back
    monkeypatch.setattr("jupyterlab.labapp.LabApp.launch_instance", lambda options: None)
    lab.open_in_jupyterlab(tmp_path / "my_pages" / PAGE, [])
    (tmp_path / "my_pages").mkdir()
    cell = [sys.executable, "-c", "import helpers"]
    done = subprocess.run(cell, cwd=tmp_path / "my_pages", capture_output=True, text=True)
    assert done.stdout == "the course that was moved here\n", done.stderr
