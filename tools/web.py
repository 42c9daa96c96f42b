"""Make the web edition, web/, from the committed notebooks with their stored outputs.

    python tools/web.py          English in web/, Chinese in web/zh_CN/ where jieba is installed

What Sphinx is given is made anew in build/web/: pages without badges, with pictures as files that keep their words for
those who cannot see them, formulas as MathML, and links between pages as links between HTML files.
"""

import base64
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from html import escape
from pathlib import Path

import gpu_page
import nbformat
import reference
import web_pages
from glossary import CHINESE, terms
from latex2mathml.converter import convert
from notebooks import FOLDER, ROOT, as_text, launchers, notebook_paths, read, repository, without_badges

from kernel_judge.report import VERDICT

WEB, SOURCES = ROOT / "web", ROOT / "build" / "web"
LANGUAGES = {"en": FOLDER, "zh_CN": FOLDER / "zh_CN"}
HAS_JIEBA = importlib.util.find_spec("jieba") is not None  # it cuts Chinese into words, for the search
LINK = r'\[([^\[\]]+)\]\((?!https?:)([\w./-]+?)(\.ipynb|\.md)?(#[\w-]+)?(?: "([^"]*)")?\)'
WORDS = {
    "en": dict(
        here="Read it here, with the outputs that are stored; no cell runs here. "
        "Run them and write your own: {places}. {file}.",
        machine="on your machine",
        file="Download the page as a notebook",
        between=", ",
        setup="The set-up cell",
        hide="Hide the set-up cell",
    ),
    "zh_CN": dict(
        here="可以就在这里读，输出都已存好；单元在这里不会运行。要运行单元、自己动手写：{places}。{file}。",
        machine="在你的机器上",
        file="下载这一页的 notebook",
        between="、",
        setup="准备单元",
        hide="收起准备单元",
    ),
}
FORMULA = r"\$\$((?:.|\n)+?)\$\$|\$([^$\n]+)\$"
CODE = r"|(?P<code>```(?:.|\n)*?```|`[^`\n]*`)"
LINK_OR_CODE, FORMULA_OR_CODE = re.compile(LINK + CODE), re.compile(FORMULA + CODE)


def pages(folder):
    """The course's pages that there are in that folder: all of them in English, the translated ones in Chinese."""
    return [folder / path.name for path in notebook_paths() if (folder / path.name).exists()]


def web_link(match, here, base):
    """A link to a file of the repository as a link to its page of the web edition, or to the repository.

    `here`: the pages of this language. `base`: the folder in which the text with the link lies.
    """
    text, place, ending, anchor, title, _ = match.groups()
    title = f' title="{escape(title)}"' if title else ""
    stem, anchor = Path(place).name, anchor or ""
    file = Path(os.path.relpath(base / f"{place}{ending or ''}", ROOT)).as_posix()
    homes = {name: (page, language) for page, files in web_pages.FILES.items() for language, name in files.items()}
    if stem in {path.stem for path in here} | {"glossary"}:
        address = f"{stem}.html{anchor}"
    elif (FOLDER / f"{stem}.ipynb").exists():  # not translated yet
        address = f"../{stem}.html"
    elif file in homes:
        page, language = homes[file]
        own = "zh_CN" if here and here[0].parent.name == "zh_CN" else "en"
        there = "" if language == own else {"en": "../", "zh_CN": "zh_CN/"}[language]
        address = f"{there}{page}.html{anchor}"
        text = web_pages.WORDS[own]["install"] if text == "README.md" else text  # the web has no such file
    elif repository():
        address = f"{repository()}/blob/main/{file}{anchor}"
    else:
        return text  # a file beside the pages, which the web has not
    return f'<a href="{address}"{title}>{text}</a>'


def web_formula(match):
    """A formula as MathML, which browsers draw by themselves."""
    return convert(match[1] or match[2], display="block" if match[1] else "inline")


def web_prose(text, here, base=FOLDER):
    """Markdown as Sphinx is given it. `here`: the pages of this language. `base`: the folder in which it lies."""
    # What begins first is taken whole: a link may have code in its words, and code may have what looks like a link.
    text = LINK_OR_CODE.sub(lambda match: match[0] if match["code"] else web_link(match, here, base), text)
    return FORMULA_OR_CODE.sub(lambda match: match[0] if match["code"] else web_formula(match), text)


def web_output(output, file):
    """A picture as a reference to `file`, which is written, with its words; in place. A film is HTML already."""
    data = output.get("data", {})
    data.pop(VERDICT, None)  # Sphinx would warn of it
    if "text/html" in data:
        output.data = {"text/html": data["text/html"]}
    elif "image/png" in data:
        file.write_bytes(base64.b64decode(data["image/png"]))
        output.data = {"text/html": web_pages.picture(output, file.name)}


def where_it_runs(stem, language):
    """The line below a page's title: it is read here, and runs there."""
    words, places = WORDS[language], []
    if repository():
        binder, colab = launchers(f"zh_CN/{stem}" if language == "zh_CN" else stem)
        places = [f'<a href="{binder}">Binder</a>', f'<a href="{colab}">Colab</a>']
    places.append(f'<a href="install.html">{words["machine"]}</a>')
    file = f'<a href="_static/{stem}.ipynb" download>{words["file"]}</a>'
    line = words["here"].format(places=words["between"].join(places), file=file)
    return f"```{{container}} where no-search\n{line}\n```"


def web_title(source, stem, language):
    """The title cell, with the line that says where the page runs."""
    heading, *rest = without_badges(source).split("\n\n", 1)
    return "\n\n".join([heading, where_it_runs(stem, language), *rest])


def web_page(path, here, figures, language):
    """The notebook as Sphinx is given it. Its first code cell, and its solutions, are folded."""
    notebook, cells, rung, words = read(path), [], gpu_page.rung_of(path), WORDS[language]
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    first.metadata.update(
        tags=["hide-input"], mystnb=dict(code_prompt_show=words["setup"], code_prompt_hide=words["hide"])
    )
    for number, cell in enumerate(notebook.cells):
        cells.append(cell)
        if cell.cell_type == "markdown":
            text = cell.source if number else web_title(cell.source, path.stem, language)
            cell.source = web_prose(text, here, path.parent)
        else:
            if cell.metadata.get("jupyter", {}).get("source_hidden") or cell.metadata.get("cellView") == "form":
                cell.metadata["tags"] = [*cell.metadata.get("tags", []), "hide-input"]
            for place, output in enumerate(cell.outputs):
                web_output(output, figures / f"{path.stem}-{cell.id}-{place}.png")
            if rung and gpu_page.charted(cell.source) == rung:
                cells.append(nbformat.v4.new_markdown_cell(gpu_page.beside_the_chart(language, rung), id="on-your-gpu"))
    if rung:
        cells.append(nbformat.v4.new_markdown_cell(gpu_page.exercise(language, rung), id="write-it"))
    notebook.cells = cells
    return as_text(nbformat.from_dict(notebook))


def pages_beside(language, folder, here):
    """{name: text} of the pages that are no notebooks, as Sphinx is given them."""
    titles = {path.stem: web_pages.title(read(path)) for path in [*pages(FOLDER), *here]}
    texts = {  # each with the folder in which its links begin
        "index": (web_pages.front(language, folder), ROOT),
        gpu_page.PAGE: (gpu_page.page(language), folder),
        "glossary": (web_pages.glossary(language, folder), folder),
        "install": (web_pages.install(language), ROOT),
        "teach": (web_pages.teach(language), ROOT / "teaching"),
        "changelog": (web_pages.changelog(language), ROOT / "docs"),
    }
    if language == "en":  # a server has one such page, for both
        texts["404"] = (web_pages.lost(), ROOT)
    texts = {name: web_prose(text, here, base) for name, (text, base) in texts.items()}
    return texts | {"reference": reference.page(language, titles)}  # its links are Sphinx's own


def make_sources(language):
    """Write build/web/LANGUAGE, what Sphinx is given. Returns that folder."""
    folder = LANGUAGES[language]
    source, here = SOURCES / language, pages(folder)
    shutil.rmtree(source, ignore_errors=True)
    (source / "figures").mkdir(parents=True)
    for path in here:
        (source / path.name).write_text(web_page(path, here, source / "figures", language), encoding="utf-8")
        shutil.copy(path, source / "figures")
    gpu_page.copy_to(source / "figures" / "gpu", language)
    texts = pages_beside(language, folder, here)
    for name, text in texts.items():
        (source / f"{name}.md").write_text(text, encoding="utf-8")
    (source / "terms.txt").write_text("\n".join(f"{term} 10000" for term in terms(CHINESE)), encoding="utf-8")
    both = [*(set(texts) - {"404"}), "search", *(path.stem for path in pages(LANGUAGES["zh_CN"]))]
    about = dict(
        language=language,
        repository=repository(),
        both=both if HAS_JIEBA else [],
        home=web_pages.site(),
        names={path.stem: reference.links(path) for path in here},
    )
    (source / "course.json").write_text(json.dumps(about), encoding="utf-8")
    return source


def main():
    """Make web/ anew. Returns the exit status: not 0 if Sphinx warns of anything; then web/ stays as it is."""
    made = {}
    if not HAS_JIEBA:
        print("English only: the Chinese book needs jieba. To add it: python3 tools/install.py web", flush=True)
    for language in LANGUAGES if HAS_JIEBA else ["en"]:
        source, made[language] = make_sources(language), SOURCES / f"{language}_html"
        shutil.rmtree(made[language], ignore_errors=True)
        command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-E", "-c", str(ROOT / "tools" / "web")]
        command += ["-d", str(SOURCES / f"{language}_doctrees"), str(source), str(made[language])]
        done = subprocess.run(command, env=dict(os.environ, COURSE_SOURCE=str(source)))
        if done.returncode:
            return done.returncode
    shutil.rmtree(WEB, ignore_errors=True)
    shutil.move(made["en"], WEB)
    if HAS_JIEBA:
        shutil.move(made["zh_CN"], WEB / "zh_CN")
    (WEB / ".nojekyll").touch()  # GitHub's pages would leave out _static
    print(f"made {WEB.name}/: open {WEB.name}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
