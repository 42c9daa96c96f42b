"""What Sphinx is given for the web edition, piece by piece. (tests/test_web.py opens what it makes of that.)"""

import base64
import functools
import io
import re
import tomllib

import glossary
import nbformat
import notebooks
import pytest
import reference
import web
import yaml
from PIL import Image

HERE = web.pages(web.FOLDER)


@pytest.mark.parametrize("metadata, sides", [({}, (60, 20)), ({"width": 30}, (30, 10))])
def test_a_picture_keeps_its_sides_and_its_words(tmp_path, metadata, sides):
    png = io.BytesIO()
    Image.new("RGB", (60, 20)).save(png, "PNG")
    data = {"image/png": base64.b64encode(png.getvalue()).decode(), "text/plain": "1 < 2"}
    output = nbformat.v4.new_output("display_data", data, metadata={"image/png": metadata})
    web.web_output(output, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes() == png.getvalue()
    assert output.data == {
        "text/html": '<a class="picture" href="_static/a.png"><img src="_static/a.png" alt="1 &lt; 2" loading="lazy" '
        'width="{0}" height="{1}" style="--wide: {0}px"></a>'.format(*sides)
    }


@pytest.mark.parametrize(
    "link, address",
    [
        ("[a](glossary.md#warp)", "glossary.html#warp"),
        ("[a](../04_tiling.ipynb)", "04_tiling.html"),
        ("[a](../README.md#start)", "install.html#start"),
        ("[a](../teaching/README.zh-CN.md)", "zh_CN/teach.html"),
    ],
)
def test_a_link_leads_to_the_same_place_of_the_same_page(link, address):
    assert web.web_prose(f"see {link}, `{link}`", HERE) == f'see <a href="{address}">a</a>, `{link}`'


def test_a_link_with_code_in_its_words_is_a_link(monkeypatch):
    text = "[`results/`](results) and `[a](results)`, `$1$` and [`04`](04_tiling.ipynb)"
    at = '`results/` and `[a](results)`, `$1$` and <a href="04_tiling.html">`04`</a>'
    monkeypatch.setattr(web, "repository", lambda: "")
    assert web.web_prose(text, HERE, web.ROOT) == at
    monkeypatch.setattr(web, "repository", lambda: "https://x.y/z")
    at = at.replace("`results/`", '<a href="https://x.y/z/blob/main/results">`results/`</a>')
    assert web.web_prose(text, HERE, web.ROOT) == at


LANGUAGES = pytest.mark.parametrize("language", ["en", "zh_CN"])


@functools.cache
def beside(language):
    """{name: text} of the pages that are no notebooks, as Sphinx is given them."""
    folder = web.LANGUAGES[language]
    return web.pages_beside(language, folder, web.pages(folder))


@LANGUAGES
def test_no_link_is_left_to_sphinx_which_knows_no_file_of_the_repository(language):
    for name, text in beside(language).items():
        said = re.sub(r"```(?:sh|powershell|toml|text|python)\n.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
        known = {"index.md", *(path.name for path in HERE)} if name in ("404", "reference") else set()
        assert set(re.findall(r"\]\((?!https?:|#)([^)]*)\)", said)) <= known, name


IMPORTS = re.compile(r"^ *from (helpers[\w.]*) import \(?([^()]*?)(?:\)| *#.*|)$", re.MULTILINE)


def imported(path):
    """What the page imports from `helpers`, read line by line."""
    code = "\n".join(cell.source for cell in notebooks.read(path).cells if cell.cell_type == "code")
    return {name.split(" as ")[0].strip() for _, names in IMPORTS.findall(code) for name in names.split(",")} - {""}


@LANGUAGES
def test_each_name_that_a_page_imports_has_an_entry_with_words_and_a_page(language):
    entries = re.split(r"\n(?=````\{py:)", beside(language)["reference"])[1:]
    named = {re.match(r"````\{py:\w+\} (?:[\w.]*\.)?(\w+)", entry)[1]: entry for entry in entries}
    asked = set().union(*map(imported, HERE))
    assert len(asked) > 60 and asked - set(named) == set()
    first = {"en": "First used on [", "zh_CN": "第一次用到的页： ["}[language]
    assert [name for name, entry in named.items() if first not in entry or len(entry) < 100] == []
    heads = ["\n".join(entry.splitlines()[:2]) for entry in entries]  # two rooms may have a class of one name
    assert len(set(heads)) == len(heads)
    assert not re.search(f"at 0x|Annotated|<function|{re.escape(str(web.ROOT))}", "".join(entries))


def test_a_name_without_words_is_refused(monkeypatch):
    monkeypatch.setattr(reference, "DATA", {})
    with pytest.raises(ValueError, match=r"helpers.instruments.GPUS has no docstring: .* DATA in tools/reference.py"):
        reference.words(reference.entries()["GPUS"])


def test_an_example_is_no_solution():
    told = [entry.example for entry in reference.entries().values()]
    pages = "\n".join(
        cell.source for path in HERE for cell in notebooks.read(path).cells if "# @title" not in cell.source
    )
    assert sum(map(bool, told)) > 75 and [example for example in told if example not in pages] == []


@LANGUAGES
def test_the_glossary_has_each_term_once_under_its_page_in_one_language(language):
    text = beside(language)["glossary"]
    places = re.findall(r'<a id="([\w-]+)"></a>(.*)', text)
    assert sorted(anchor for anchor, _ in places) == sorted(anchor for anchor, *_ in glossary.rows())
    chinese = re.compile("[\u4e00-\u9fff]")
    assert {bool(chinese.search(meaning)) for _, meaning in places} == {language == "zh_CN"}
    heads = re.findall(r'^## (\d\d) · .*\n\n<a href="(\d\d)_\w+\.html">(?:Page|第) ', text, re.MULTILINE)
    assert len(heads) > 10 and all(number == page for number, page in heads)


def test_a_citation_names_this_version():
    said = yaml.safe_load((web.ROOT / "CITATION.cff").read_text("utf-8"))
    project = tomllib.loads((web.ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert said["version"] == project["version"]


@pytest.mark.parametrize("language, folder", [("en", ""), ("zh_CN", "zh_CN/")])
@pytest.mark.parametrize("address", ["", "https://github.com/somebody/course"])
def test_a_page_says_where_it_runs(language, folder, address, monkeypatch):
    for module in (web, notebooks):
        monkeypatch.setattr(module, "repository", lambda: address)
    title = web.web_title("# 04 · Tiles\n\nA sentence.", "04_tiling", language)
    head = "# 04 · Tiles\n\n```{container} where no-search\n"
    assert title.startswith(head) and title.endswith("\n```\n\nA sentence.")
    *places, machine, file = re.findall('href="([^"]*)"', title)
    assert (machine, file) == ("install.html", "_static/04_tiling.ipynb")
    assert [f"notebooks/{folder}04_tiling.ipynb" in place for place in places] == [True, True] * bool(address)
