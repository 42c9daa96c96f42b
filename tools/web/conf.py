"""Sphinx's settings for one language of the web edition. tools/web.py makes the source folder, and calls it."""

import json
import os
from pathlib import Path

from sphinx.search.zh import SearchChinese

SOURCE = Path(os.environ["COURSE_SOURCE"])
HERE = Path(__file__).resolve().parent
course = json.loads((SOURCE / "course.json").read_text("utf-8"))
chinese = course["language"] == "zh_CN"

project = html_title = "矩阵乘法的阶梯" if chinese else "Matmul ladder"
language = course["language"]
extensions = ["myst_nb", "sphinx_copybutton"]
templates_path = [str(HERE / "templates")]

nb_execution_mode = "off"  # the stored outputs are shown; nbval proves them
nb_code_prompt_show = "解答" if chinese else "A solution"  # no other cell is folded: test_web.py
nb_code_prompt_hide = "收起解答" if chinese else "Hide the solution"
myst_heading_anchors = 3
suppress_warnings = ["misc.highlighting_failure"]  # OpenCL's words in C

html_theme = "sphinx_book_theme"
html_static_path = [str(HERE / "static"), str(SOURCE / "figures")]
html_css_files = ["course.css"]
html_js_files = [("course.js", {"defer": "defer"})]
html_copy_source = html_show_sourcelink = html_show_sphinx = False
SearchChinese.language_name = "English"  # whose stemmer it takes; Sphinx 9.0 looks for one that there is not
html_search_language = "zh" if chinese else "en"
html_search_options = {"dict": str(SOURCE / "terms.txt")}  # so that jieba takes each term of the glossary for a word
html_context = {"both": course["both"], "chinese": chinese, "default_mode": "auto"}
html_favicon = str(HERE / "static" / "favicon.svg")
html_theme_options = {
    "repository_url": course["repository"],
    "use_repository_button": bool(course["repository"]),
    "use_download_button": False,
    "article_header_end": ["language.html", "article-header-buttons.html"],
    "footer_content_items": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
