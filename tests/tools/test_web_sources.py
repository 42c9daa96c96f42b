"""What Sphinx is given for the web edition, piece by piece. (tests/test_web.py opens what it makes of that.)"""

import base64
import io
import re

import nbformat
import notebooks
import pytest
import web
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
        'width="{}" height="{}"></a>'.format(*sides)
    }


@pytest.mark.parametrize(
    "link, address",
    [
        ("[a](glossary.md#warp)", "glossary.html#warp"),
        ("[a](04_tiling.ipynb#heading)", "04_tiling.html#heading"),
        ("[a](../04_tiling.ipynb)", "04_tiling.html"),
    ],
)
def test_a_link_leads_to_the_same_place_of_the_same_page(link, address):
    assert web.web_prose(f"see {link}, `{link}`", HERE) == f'see <a href="{address}">a</a>, `{link}`'


def test_a_link_with_code_in_its_words_is_a_link(monkeypatch):
    text = "[`results/`](results) and `[a](results)`, `$1$` and [`04`](04_tiling.ipynb)"
    at = '`results/` and `[a](results)`, `$1$` and <a href="04_tiling.html">`04`</a>'
    monkeypatch.setattr(web, "repository", lambda: "")
    assert web.web_prose(text, HERE) == at
    monkeypatch.setattr(web, "repository", lambda: "https://x.y/z")
    at = at.replace("`results/`", '<a href="https://x.y/z/blob/main/results">`results/`</a>')
    assert web.web_prose(text, HERE) == at


@pytest.mark.parametrize("readme", ["README.md", "README.zh-CN.md"])
def test_no_link_of_the_readme_is_left_to_sphinx_which_knows_no_file_of_the_repository(readme):
    assert not re.findall(
        r"\]\((?!https?:|#)[^)]*\)", re.sub(r"```.*?```", "", web.front(readme, HERE), flags=re.DOTALL)
    )


@pytest.mark.parametrize("readme, start", [("README.md", "start"), ("README.zh-CN.md", "开始")])
def test_the_first_page_has_three_buttons_and_a_ladder_whose_rungs_are_links(readme, start):
    first = web.front(readme, HERE)
    [door] = re.findall('<p class="door">(.*)</p>', first)
    assert re.findall('href="([^"]*)"', door) == ["00_start_here.html", "your_gpu.html", f"#{start}"]
    [chart] = re.findall('<table class="rungs">(.*)</table>', first)
    assert re.findall(r'href="([^"]*)">(\w+)<', chart)[::6] == [
        ("02_naive.html", "naive"),
        ("10_prefetching.html", "prefetched"),
    ]
    widths = [float(width) for width in re.findall(r"width: ([\d.]+)%", chart)]
    assert len(widths) == 8 and widths == sorted(widths) and (widths[0], widths[-1]) == (1.0, 100)
    assert '<th scope="row">cuBLAS</th>' in chart
    assert "make web" not in first and "```sh\nmake lab" in first  # it is read in the web book already
    assert first.index('class="door"') < first.index('class="rungs"') < first.index("```sh")


@pytest.mark.parametrize("language, folder", [("en", ""), ("zh_CN", "zh_CN/")])
@pytest.mark.parametrize("address", ["", "https://github.com/somebody/course"])
def test_a_page_says_where_it_runs(language, folder, address, monkeypatch):
    for module in (web, notebooks):
        monkeypatch.setattr(module, "repository", lambda: address)
    title = web.web_title("# 04 · Tiles\n\nA sentence.", "04_tiling", language)
    assert title.startswith("# 04 · Tiles\n\n<p ") and title.endswith("</p>\n\nA sentence.")
    places = re.findall('href="([^"]*)"', title)
    assert places[-1] == {"en": "index.html#start", "zh_CN": "index.html#开始"}[language]
    assert [f"notebooks/{folder}04_tiling.ipynb" in place for place in places[:-1]] == [True, True] * bool(address)


@pytest.mark.parametrize(
    "address, said",
    [
        ("", "a"),
        (
            "https://github.com/somebody/course",
            '<a href="https://github.com/somebody/course/blob/main/../results/README.md">a</a>',
        ),
    ],
)
def test_a_link_to_a_file_leads_to_the_repository_and_is_no_link_without_one(address, said, monkeypatch):
    monkeypatch.setattr(web, "repository", lambda: address)
    assert web.web_prose("[a](../results/README.md)", HERE) == said


def test_a_link_to_a_page_that_is_not_translated_leads_to_the_english_one():
    assert web.web_prose("[a](04_tiling.ipynb)", HERE[:2]) == '<a href="../04_tiling.html">a</a>'
