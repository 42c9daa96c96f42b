"""The web edition, built and opened in headless Chromium: on a phone and on a screen, in light and in dark."""

import functools
import http.server
import re
import threading
import tomllib
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlparse

import pytest
import web
from axe_playwright_python.sync_playwright import Axe
from test_browser import browser, tabs  # noqa: F401

pytestmark = pytest.mark.bulk
BESIDE = ("index", "your_gpu", "reference", "glossary", "install", "teach", "changelog")
PAGES = [
    *(*BESIDE, *(path.stem for path in web.pages(web.FOLDER))),
    *(f"zh_CN/{name}" for name in (*BESIDE, *(path.stem for path in web.pages(web.FOLDER / "zh_CN")))),
]


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of files that says nothing."""

    def log_message(self, *_):
        pass


@contextmanager
def served(folder):
    """Serve the folder's files; yields the address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """(folder, address) of the web edition, built anew without a warning, and served."""
    home = tmp_path_factory.mktemp("web")
    patch = pytest.MonkeyPatch()
    patch.setattr(web, "WEB", home / "web")
    patch.setattr(web, "SOURCES", home / "sources")
    assert web.main() == 0
    with served(home / "web") as address:
        yield home / "web", address
    patch.undo()


@pytest.fixture
def look(site, browser):  # noqa: F811
    """A function that opens a page of the site: `tabs`."""
    with tabs(browser) as open_page:
        yield lambda name, *how: open_page(urljoin(site[1], name), *how)


WIDTH = "document.documentElement.scrollWidth"
WIDE = """[...document.querySelectorAll('article *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1)
    .map(e => e.tagName + ' ' + e.textContent.trim().slice(0, 40)).slice(0, 3)"""
IMAGES = """[...document.querySelectorAll('article img')].map(image => {image.loading = 'eager'; return image})
    .map(image => [image.alt.trim().length > 0, image.complete && image.naturalWidth > 0])"""


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_a_phone_and_a_screen_and_its_pictures_have_words(look, name):
    page = look(f"{name}.html", 375)
    page.evaluate(IMAGES)
    page.wait_for_function(f"{IMAGES}.every(([alt, drawn]) => drawn)")
    for width in (375, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(WIDTH) <= width, page.evaluate(WIDE)
    assert all(alt for alt, _ in page.evaluate(IMAGES)), "a picture without words"


# One page of each kind; axe takes seconds for a page.
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["index", "glossary", "reference", "04_tiling", "zh_CN/your_gpu"])
def test_everybody_can_read_a_page(look, name, scheme):
    page = look(f"{name}.html", 375, scheme)
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    assert faults(page, ["color-contrast"] if scheme == "dark" else None) == []


# A colour that is still on its way to another has less contrast than either.
SETTLED = """Promise.all(document.getAnimations().filter(one => one instanceof CSSTransition)
    .map(one => one.finished.catch(() => {}))).then(() => {})"""


def faults(page, rules):
    """The serious and critical faults that axe finds by those rules, by default all: (rule, where, what to do) each."""
    page.evaluate(SETTLED)
    options = {"resultTypes": ["violations"], "preload": False} | ({"runOnly": rules} if rules else {})
    found = Axe().run(page, options=options).response["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    return [(one["id"], one["nodes"][0]["html"][:200], one["nodes"][0]["failureSummary"][:300]) for one in serious]


class Links(HTMLParser):
    """Where the links of a page lead, and the places in it that one can lead to."""

    def __init__(self, text):
        super().__init__()
        self.to, self.places = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.to += [attrs[name] for name in ("href", "src") if attrs.get(name)]
        self.places |= {attrs[name] for name in ("id", "name") if attrs.get(name)}


def test_no_link_within_the_site_is_broken(site):
    folder, _ = site
    files = [file for file in folder.rglob("*.html") if "_static" not in file.parts]  # the theme keeps a template there
    read = {file: Links(file.read_text("utf-8")) for file in files}
    broken, count = [], 0
    for file, links in read.items():
        for link in links.to:
            if urlparse(link).scheme or link.startswith("//"):
                continue
            path, place = urldefrag(link)
            target = Path(folder, file.parent, unquote(path.partition("?")[0])).resolve() if path else file
            count += 1
            if not target.exists() or (place and target in read and unquote(place) not in read[target].places):
                broken.append((file.name, link))
    assert count > 500 and broken == []


def test_the_film_moves_by_the_arrow_keys(look):
    page = look("04_tiling.html", 375)
    film = page.locator("article figure").first
    slider = film.locator("input[type=range]")
    slider.focus()
    shown = film.locator("img:visible")
    assert shown.count() == 1 and shown.get_attribute("alt").startswith("step 1 of 8")
    height = film.bounding_box()["height"]
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        assert film.bounding_box()["height"] == height, "the picture jumps"
    assert shown.count() == 1 and shown.get_attribute("alt").startswith("step 4 of 8")
    assert film.locator("label").inner_text().startswith("step 4 of 8")


def test_no_cell_is_folded_but_solutions_and_the_set_up(site):
    folder, _ = site
    folded = re.compile(r'<details class="[^"]*above-input">.*?<pre>(.*?)</pre>', re.DOTALL)
    for name in PAGES:
        found = [re.sub("<[^>]*>", "", code) for code in folded.findall((folder / f"{name}.html").read_text("utf-8"))]
        if found:
            assert "from helpers" in found[0], name
            assert len(found) > 1 and all(code.startswith("# @title A solution\n") for code in found[1:]), name


def test_the_copy_button_copies_code_without_the_numbers_of_lines(look):
    page = look("04_tiling.html", 1400)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    shown = page.locator("article .text_html div.highlight").first
    assert shown.locator("pre").inner_text().lstrip().startswith("1 | from numba import cuda")
    shown.hover()
    shown.locator("button.copybtn").click()
    page.wait_for_selector("article .copybtn.success")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith('from numba import cuda, float32, uint32\n\n\ndef tiled(TILE=16):\n    """')
    assert not re.search(r"^ *\d+ \|", copied, re.MULTILINE) and "            cuda.syncthreads()\n" in copied


@pytest.mark.parametrize(
    "folder, asked, first, anchor",
    [("", "Bank conflict", "Glossary", "term-bank-conflict"), ("zh_CN/", "线程束", "术语表", "term-")],
)
def test_the_search_puts_first_what_is_asked_for(look, folder, asked, first, anchor):
    page = look(f"{folder}search.html?q={asked}", 1400)
    found = page.locator("#search-results ul.search > li > a").first
    assert found.inner_text() == first and f"#{anchor}" in found.get_attribute("href")


def test_each_page_says_what_it_is_where_it_is_in_the_other_language_and_what_it_is_made_of(site):
    folder, _ = site
    version = tomllib.loads((web.ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    for name in PAGES:
        text = (folder / f"{name}.html").read_text("utf-8")
        [said] = re.findall(r'<meta name="description" content="([^"]+)">', text)
        assert 10 < len(said) <= 202 and "&lt;" not in said, name
        other = dict(re.findall(r'<link rel="alternate" hreflang="([^"]+)" href="([^"]+)">', text))
        stem = name.removeprefix("zh_CN/")
        here = {"en": f"../{stem}.html", "zh-CN": f"{stem}.html"} if stem != name else None
        assert other == (here or {"en": f"{stem}.html", "zh-CN": f"zh_CN/{stem}.html"}), name
        [about] = re.findall(r'<p class="about">(.*?)</p>', text, re.DOTALL)
        assert f" {version} ·" in about and re.search(r"\d{4}-\d\d-\d\d", about) and "MIT" in about, name
        if stem[:2].isdigit():
            [file] = re.findall(r'href="(_static/\w+\.ipynb)" download', text)
            taken = web.FOLDER / ("zh_CN" if "zh_CN" in name else "") / f"{stem}.ipynb"
            assert (folder / name).parent.joinpath(file).read_bytes() == taken.read_bytes()


def test_the_switch_of_languages_leads_to_the_same_place_and_back(look):
    page = look("00_start_here.html", 1400)
    page.locator("article h2").nth(1).evaluate("heading => heading.scrollIntoView()")
    click_where_it_is(page, "a.language")
    page.wait_for_url(re.compile("zh_CN/00_start_here.html#heading-3"))
    top = page.locator("article h2").nth(1).evaluate("heading => heading.getBoundingClientRect().top")
    assert -5 < top < 300 and page.evaluate("document.documentElement.lang") == "zh-CN"
    click_where_it_is(page, "a.language")
    page.wait_for_url(re.compile(r"\d/00_start_here.html#heading-3"))  # not the Chinese one, where it is still


def click_where_it_is(page, selector):
    """Click as a person does: Playwright's own click would scroll the page first."""
    box = page.locator(selector).bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
