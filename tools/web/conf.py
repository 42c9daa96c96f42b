"""Sphinx's settings for one language of the web edition. tools/web.py makes the source folder, and calls it."""

import json
import os
import re
import tomllib
from html import escape
from pathlib import Path

from docutils import nodes

SOURCE = Path(os.environ["COURSE_SOURCE"])
HERE = Path(__file__).resolve().parent
course = json.loads((SOURCE / "course.json").read_text("utf-8"))
chinese = course["language"] == "zh_CN"
about = tomllib.loads((HERE.parent.parent / "pyproject.toml").read_text("utf-8"))["project"]

project = html_title = "矩阵乘法的阶梯" if chinese else "Matmul ladder"
version = release = about["version"]
language = course["language"]
extensions = ["myst_nb", "sphinx_copybutton"]
templates_path = [str(HERE / "templates")]

exclude_patterns = ["figures"]  # among them the notebooks that one may take along
nb_execution_mode = "off"  # the stored outputs are shown; nbval proves them
nb_code_prompt_show = "解答" if chinese else "A solution"  # no other cell is folded: test_web.py
nb_code_prompt_hide = "收起解答" if chinese else "Hide the solution"
myst_heading_anchors = 3
suppress_warnings = ["misc.highlighting_failure"]  # OpenCL's words in C

html_theme = "sphinx_book_theme"
html_static_path = [str(HERE / "static"), str(SOURCE / "figures")]
html_css_files = ["course.css"]
html_js_files = [("course.js", {"defer": "defer"})]
python_use_unqualified_type_names = True  # in the reference
copybutton_prompt_text, copybutton_prompt_is_regexp = r" *\d+ \| ?", True  # the numbers of `show`
copybutton_only_copy_prompt_lines = False
html_last_updated_fmt = "%Y-%m-%d"
html_search_scorer = str(HERE / "scorer.js")
html_use_index = html_domain_indices = False  # the search finds what they would list
html_copy_source = html_show_sourcelink = html_show_sphinx = False
if chinese:
    import jieba
    from sphinx.search.zh import SearchChinese

    jieba.dt.tmp_dir = str(SOURCE)  # its cache in the system's own may be another user's
    SearchChinese.language_name = "English"  # whose stemmer it takes; Sphinx 9.0 looks for one that there is not
html_search_language = "zh" if chinese else "en"
html_search_options = {"dict": str(SOURCE / "terms.txt")}  # so that jieba takes each term of the glossary for a word
html_context = {"both": course["both"], "chinese": chinese, "licence": about["license"], "default_mode": "auto"}
html_favicon = str(HERE / "static" / "favicon.svg")
html_theme_options = {
    "repository_url": course["repository"],
    "use_repository_button": bool(course["repository"]),
    "use_download_button": False,
    "search_bar_text": "搜索……" if chinese else "Search …",
    "article_header_end": ["language.html", "article-header-buttons.html"],
    "footer_content_items": ["about.html"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "github-dark-high-contrast",
}
LONGEST = 200  # letters of a page's description
NAME = r'<span class="n">({})</span>'


def leave_out(app, doctree):
    """Keep out of the search what a page folds: its set-up cell, which every page has, and solutions."""
    for cell in doctree.findall(nodes.container):
        if "tag_hide-input" in cell["classes"]:
            cell.children[0]["classes"].append("no-search")


def with_links(body, names):
    """The page with a link to the reference at each name's import and at its first use."""
    for name, place in names.items():
        link = f'<a class="n" href="reference.html#{place}">\\1</a>'
        body = re.sub(NAME.format(re.escape(name)), link, body, count=2)
    return body


def finish(app, page, template, context, doctree):
    """Say in a page's head what it is, and where it is in the other language; link its code to the reference."""
    first = (
        next((one for one in doctree.findall(nodes.paragraph) if one.parent.tagname == "section"), None)
        if doctree
        else None
    )
    head = ""
    if first:
        words = (text for text in first.findall(nodes.Text) if not isinstance(text.parent, nodes.raw))  # no link's HTML
        said = " ".join("".join(words).split())
        said = said if len(said) <= LONGEST else said[:LONGEST].rsplit(" ", 1)[0] + " …"
        head += f'<meta name="description" content="{escape(said)}">\n'
    if page in course["both"]:
        for code, place in (("en", "../"), ("zh-CN", "")) if chinese else (("en", ""), ("zh-CN", "zh_CN/")):
            head += f'<link rel="alternate" hreflang="{code}" href="{place}{page}.html">\n'
    if page == "404":  # it is shown at any address, so its links begin at the site's
        head = f'<base href="{course["home"]}">\n{head}'
        context["body"] = re.sub(r'<a class="headerlink"[^>]*>.*?</a>', "", context["body"])  # no link to a place in it
    context["metatags"] = head + context.get("metatags", "")
    if "body" in context:
        context["body"] = with_links(context["body"], course["names"].get(page, {}))


def setup(app):
    """What Sphinx calls once the settings are read."""
    app.connect("doctree-read", leave_out)
    app.connect("html-page-context", finish)
