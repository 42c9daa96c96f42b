"""A learner's copies of the pages: which are renewed, which stay, and what JupyterLab is given of them."""

import asyncio
import json
import os
import re
import runpy
import subprocess
import sys

import lab
import nbformat
import notebooks
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

PAGE, GLOSSARY = "02_naive.ipynb", "glossary.md"


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


def test_each_page_gets_a_copy(course):
    folder, own = course
    files = {GLOSSARY, PAGE, f"zh_CN/{PAGE}"}
    assert {path.relative_to(own).as_posix() for path in own.rglob("*.*")} == {*files, lab.RECORD}
    assert all((own / name).read_bytes() == (folder / name).read_bytes() for name in files)


def test_what_was_never_changed_is_renewed(course):
    folder, own = course
    newer(folder)
    assert lab.renew(folder, own) == []
    for name in (GLOSSARY, PAGE, f"zh_CN/{PAGE}"):
        assert (own / name).read_bytes() == (folder / name).read_bytes()


# The second and third as other editors save: jupyter/notebook#2123, microsoft/vscode-tools-for-ai#1855.
@pytest.mark.parametrize(
    "saved",
    [
        page(language_info={"name": "python", "version": "3.14.0"}),
        json.dumps(nbformat.reads(page(), as_version=4)),  # text in one piece, in place of a list of lines
    ],
)
def test_an_editor_that_saves_what_was_only_read_changes_nothing(course, saved):
    folder, own = course
    assert saved != (folder / PAGE).read_text()
    (own / PAGE).write_text(saved)
    newer(folder)
    assert lab.renew(folder, own) == []
    assert "second edition" in (own / PAGE).read_text()


@pytest.mark.parametrize(
    "mine", [page(answer="my answer"), page(printed="right"), page("my own notes"), "{ cut off", ""]
)
def test_what_the_learner_wrote_or_ran_stays(course, mine):
    folder, own = course
    (own / PAGE).write_text(mine)
    assert lab.renew(folder, own) == [], "the course has nothing new to offer"
    newer(folder)
    for _ in range(2):  # it is said each time, until the learner has chosen
        assert lab.renew(folder, own) == [PAGE]
        assert (own / PAGE).read_text() == mine
    assert "second edition" in (own / "zh_CN" / PAGE).read_text()


@pytest.mark.parametrize("is_new", [False, True])
def test_a_copy_that_was_deleted_comes_back_as_the_course_has_it(course, is_new):
    """jupyterhub/nbgitpuller#279: there, what was deleted kept its changes."""
    folder, own = course
    (own / PAGE).write_text(page(answer="a mess"))
    if is_new:
        newer(folder)
    lab.renew(folder, own)
    (own / PAGE).unlink()
    assert lab.renew(folder, own) == []
    assert (own / PAGE).read_text() == (folder / PAGE).read_text()
    newer(folder)
    assert lab.renew(folder, own) == [], "it is a copy like any other again"


def test_what_the_learner_made_is_left_alone(course):
    folder, own = course
    for name in ("notes.txt", "02_naive-my.ipynb", "19_mine.ipynb"):
        (own / name).write_text("mine")
    newer(folder)
    (folder / "19_mine.ipynb").write_text(page())
    assert lab.renew(folder, own) == ["19_mine.ipynb"]
    assert all((own / name).read_text() == "mine" for name in ("notes.txt", "02_naive-my.ipynb", "19_mine.ipynb"))


@pytest.mark.parametrize("changed", [False, True])
def test_a_page_that_the_course_has_no_more_goes_unless_it_was_changed(course, changed):
    folder, own = course
    if changed:
        (own / PAGE).write_text(page(answer="my answer"))
    (folder / PAGE).rename(folder / "03_naive.ipynb")
    assert lab.renew(folder, own) == [PAGE] * changed
    assert (own / PAGE).exists() == changed and (own / "03_naive.ipynb").exists()


@pytest.mark.parametrize("record", [None, "{ cut off"])
def test_without_its_record_a_copy_that_is_not_the_courses_stays(course, record):
    folder, own = course
    newer(folder)
    (folder / GLOSSARY).write_text("first edition\n")
    (own / lab.RECORD).unlink() if record is None else (own / lab.RECORD).write_text(record)
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


@pytest.mark.parametrize(
    "arguments, name, options",
    [
        ([], "my_pages/00_start_here.ipynb", []),
        (["--no-browser", "--port", "8890"], "my_pages/00_start_here.ipynb", ["--no-browser", "--port", "8890"]),
        (["my_pages/00_start_here.ipynb", "--port=1"], "my_pages/00_start_here.ipynb", ["--port=1"]),
    ],
)
def test_copies_are_made_before_one_is_opened(opened, tmp_path, arguments, name, options):
    lab.main(arguments)
    assert opened == [(tmp_path / name, options)] and (tmp_path / "my_pages" / "00_start_here.ipynb").exists()


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


@pytest.mark.parametrize("wrong", ["my_pages/20.ipynb", "nothing", os.path.dirname(__file__)])
def test_a_page_that_is_not_there_is_refused_in_one_line(opened, wrong):
    with pytest.raises(SystemExit, match=r"^Not opened: there is no .*\.$"):
        lab.main([wrong])
    assert opened == []


def test_a_folder_that_cannot_be_written_is_refused_in_one_line(opened, tmp_path):
    (tmp_path / "my_pages").write_text("a file")
    with pytest.raises(SystemExit, match=r"^Not opened: .*my_pages cannot be written .*\.$"):
        lab.main([])
    assert opened == []


@pytest.mark.parametrize(
    "kernel, filled", [("python3", True), ("my-own", False), (None, False)], ids=["ours", "another", "none"]
)
def test_a_notebook_is_given_with_the_metadata_that_jupyterlab_would_write(tmp_path, kernel, filled):
    """jupyter/notebook#2123: after an upgrade of Python, reading a notebook changed it."""
    from traitlets.config import Config

    config = Config()
    runpy.run_path(str(notebooks.ROOT / "tools/jupyter/jupyter_server_config.py"), {"get_config": lambda: config})
    manager = config.ServerApp.contents_manager_class(root_dir=str(tmp_path))
    given = {"language_info": {"name": "python", "version": "3.5.0"}}
    if kernel:
        given["kernelspec"] = {"name": kernel, "display_name": "Python 3", "language": "python"}
    (tmp_path / PAGE).write_text(page(**given))
    found = asyncio.run(manager.get(PAGE))["content"]["metadata"]
    if filled:
        assert found["language_info"]["version"] == sys.version.split()[0]
        assert found["kernelspec"] == {**given["kernelspec"], "display_name": "Python 3 (ipykernel)"}
    else:
        assert found == given
    assert asyncio.run(manager.get(PAGE, content=False))["content"] is None
    assert asyncio.run(manager.get(""))["type"] == "directory"


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
