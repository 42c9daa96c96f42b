"""What Sphinx is given for the web edition, piece by piece. (tests/test_web.py opens what it makes of that.)"""

import base64
import io

import nbformat
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
        "text/html": '<img src="_static/a.png" alt="1 &lt; 2" loading="lazy" width="{}" height="{}">'.format(*sides)
    }


@pytest.mark.parametrize(
    "link, address",
    [
        ("[a](glossary.md#warp)", "glossary.html#warp"),
        ("[a](04_tiling.ipynb#heading)", "04_tiling.html#heading"),
        ("[a](../04_tiling.ipynb)", "04_tiling.html"),
        ("[a](../results/README.md)", f"{web.repository()}/blob/main/../results/README.md"),
    ],
)
def test_a_link_leads_to_the_same_place_of_the_same_page(link, address):
    assert web.web_prose(f"see {link}, `{link}`", HERE) == f'see <a href="{address}">a</a>, `{link}`'


@pytest.mark.parametrize("readme", ["README.md", "README.zh-CN.md"])
def test_the_first_page_leads_to_the_page_that_runs_on_the_readers_gpu(readme):
    first = web.front(readme, HERE).split("\n\n")[1]
    assert '<a href="your_gpu.html">' in first and "https://" not in first


def test_a_link_to_a_page_that_is_not_translated_leads_to_the_english_one():
    assert web.web_prose("[a](04_tiling.ipynb)", HERE[:2]) == '<a href="../04_tiling.html">a</a>'
