"""What Sphinx is given for the web edition, piece by piece. (tests/test_web.py opens what it makes of that.)"""

import base64
import functools
import io
import re
import tomllib
from pathlib import Path
from types import SimpleNamespace

import glossary
import nbformat
import notebooks
import pytest
import reference
import web
import web_pages
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
        ("[a](04_tiling.ipynb#heading)", "04_tiling.html#heading"),
        ("[a](../04_tiling.ipynb)", "04_tiling.html"),
        ("[a](../README.md#start)", "install.html#start"),
        ("[a](../teaching/README.zh-CN.md)", "zh_CN/teach.html"),
        ("[a](../docs/CHANGELOG.md)", "changelog.html"),
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
        assert "make web" not in text, name  # it is read in the web book already
        said = re.sub(r"```(?:sh|powershell|toml|text|python)\n.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
        known = {"index.md", *(path.name for path in HERE)} if name in ("404", "reference") else set()
        assert set(re.findall(r"\]\((?!https?:|#)([^)]*)\)", said)) <= known, name


@LANGUAGES
def test_the_first_page_has_four_ways_on_a_ladder_whose_rungs_are_links_and_a_film(language):
    first = beside(language)["index"]
    [ways] = re.findall('<div class="ways">(.*?)</div>', first, re.DOTALL)
    assert re.findall('href="([^"]*)"', ways) == ["00_start_here.html", "your_gpu.html", "install.html", "teach.html"]
    [chart] = re.findall('<table class="rungs">(.*)</table>', first)
    assert re.findall(r'href="([^"]*)">(\w+)<', chart)[::6] == [
        ("02_naive.html", "naive"),
        ("10_prefetching.html", "prefetched"),
    ]
    widths = [float(width) for width in re.findall(r"width: ([\d.]+)%", chart)]
    assert len(widths) == 8 and widths == sorted(widths) and (widths[0], widths[-1]) == (1.0, 100)
    assert '<th scope="row">cuBLAS</th>' in chart and first.count("<figure") == 1
    readme = (web.ROOT / web_pages.READMES[language]).read_text("utf-8")
    assert set(re.findall(r"\b\d+,\d{3}\b", first)) <= set(re.findall(r"\b\d+,\d{3}\b", readme))
    [said] = re.findall(r"^(?:共 )?(\d+) (?:pages, |页，)([\d.]+) (?:hours|小时)", first, re.MULTILINE)
    assert said == (str(len(HERE)), re.search(r"([\d.]+) (?:hours in all|小时)", readme)[1])
    assert len(re.findall(r"^\| <a ", first, re.MULTILINE)) == len(HERE)


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
    odd = f"at 0x|Annotated|<function|{re.escape(str(web.ROOT))}"
    heads = ["\n".join(entry.splitlines()[:2]) for entry in entries]  # two rooms may have a class of one name
    assert len(set(heads)) == len(heads) and not re.search(odd, "".join(entries))


def test_what_a_documented_function_returns_has_an_entry_with_all_that_one_may_ask_of_it():
    said = beside("en")["reference"]
    classes = {name: text for name, text in re.findall(r"````\{py:class\} (\w+)\n(.*?)\n````", said, re.DOTALL)}
    given = {
        name
        for way in re.findall(r"^````\{py:function\} .*-> (.*)", said, re.M)
        for name in re.findall(r"[A-Z]\w+", way)
    }
    others = {"None", "Path", "Callable", "Markdown"}
    assert len(given) > 20 and given - others - set(classes) == set()
    asked = {
        "Timing": ("attribute} spread\n:type: float | None\n\nthe middle half", "property} gflops\n\n2 M N K"),
        "Film": (
            "method} frame(number: int) -> helpers.pictures.Picture\n\nFrame",
            "by [film](#helpers.pictures.film)",
        ),
        "CompiledRun": ("attribute} findings\n",),  # of the class that it extends
    }
    assert [line for name, lines in asked.items() for line in lines if line not in classes[name]] == []


def test_a_name_without_words_is_refused(monkeypatch):
    monkeypatch.setattr(reference, "DATA", {})
    with pytest.raises(ValueError, match=r"helpers.instruments.GPUS has no docstring: .* DATA in tools/reference.py"):
        reference.words(reference.entries()["GPUS"])


def test_an_example_is_no_solution_and_short():
    told = [entry.example for entry in reference.entries().values()]
    assert sum(map(bool, told)) > 75 and max(example.count("\n") for example in told) < 4
    solutions = [cell.source for path in HERE for cell in notebooks.read(path).cells if "# @title" in cell.source]
    assert len(solutions) > 30
    pages = "\n".join(
        cell.source for path in HERE for cell in notebooks.read(path).cells if "# @title" not in cell.source
    )
    assert [example for example in told if example not in pages] == []


def test_a_command_says_what_may_be_written_behind_it():
    said = beside("en")["reference"]
    assert re.findall(r"^### (\w+)\n\n```text\nusage: python -m helpers (\w+) ", said, re.MULTILINE) == [
        (name, name) for name in ("doctor", "bench", "record", "progress")
    ]


@LANGUAGES
def test_the_glossary_has_each_term_once_under_its_page_in_one_language(language):
    text = beside(language)["glossary"]
    places = re.findall(r'<a id="([\w-]+)"></a>(.*)', text)
    assert sorted(anchor for anchor, _ in places) == sorted(anchor for anchor, *_ in glossary.rows())
    chinese = re.compile("[\u4e00-\u9fff]")
    assert {bool(chinese.search(meaning)) for _, meaning in places} == {language == "zh_CN"}
    assert language == "zh_CN" or not chinese.search(text)
    heads = re.findall(r'^## (\d\d) · .*\n\n<a href="(\d\d)_\w+\.html">(?:Page|第) ', text, re.MULTILINE)
    assert len(heads) > 10 and all(number == page for number, page in heads)
    [under] = re.findall(r"^## 03 · .*?(?=^## )", text, re.MULTILINE | re.DOTALL)
    assert 'id="coalescing"' in under and 'id="barrier"' not in under


def test_the_chinese_book_leads_to_the_english_changes_in_one_line():
    english, chinese = (beside(language)["changelog"] for language in ("en", "zh_CN"))
    assert "## 1.0 (2026-11)" in english and 'href="../changelog.html"' in chinese and len(chinese.splitlines()) == 3


def test_a_citation_names_this_version():
    said = yaml.safe_load((web.ROOT / "CITATION.cff").read_text("utf-8"))
    project = tomllib.loads((web.ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert (said["version"], said["license"]) == (project["version"], project["license"])
    assert not {"doi", "identifiers", "url"} & set(said) and said["authors"]
    assert said["abstract"] == project["description"]
    newest = re.search(r"^## ([\d.]+)", (web.ROOT / "docs" / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)[1]
    assert project["version"].startswith(newest)


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


def test_a_link_is_named_after_its_page_and_leads_to_the_english_one_where_there_is_no_other():
    assert web.web_prose("[README.md](README.md)", HERE, web.ROOT) == '<a href="install.html">Install the course</a>'
    assert web.web_prose("[a](04_tiling.ipynb)", HERE[:2]) == '<a href="../04_tiling.html">a</a>'


def test_without_jieba_the_english_book_is_made_alone_and_one_line_says_what_adds_the_other(
    monkeypatch, tmp_path, capsys
):
    made = []

    def sphinx(command, **_):
        made.append(Path(command[-1]).name)
        Path(command[-1]).mkdir()
        return SimpleNamespace(returncode=0)

    for name, value in (("HAS_JIEBA", False), ("WEB", tmp_path / "web"), ("SOURCES", tmp_path)):
        monkeypatch.setattr(web, name, value)
    monkeypatch.setattr(web, "make_sources", lambda language: tmp_path / language)
    monkeypatch.setattr(web.subprocess, "run", sphinx)
    assert web.main() == 0
    assert made == ["en_html"]
    assert "jieba. To add it: python3 tools/install.py web" in capsys.readouterr().out
