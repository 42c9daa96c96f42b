"""Make the web edition, web/, from the committed notebooks with their stored outputs. Needs no network.

    python tools/web.py          English in web/, Chinese in web/zh_CN/

What Sphinx is given is made anew in build/web/: pages without badges, with pictures as files that keep their words for
those who cannot see them, formulas as MathML, and links between pages as links between HTML files.
"""

import base64
import functools
import io
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
from glossary import CHINESE, GLOSSARY, terms
from latex2mathml.converter import convert
from notebooks import FOLDER, ROOT, as_text, notebook_paths, read, repository, without_badges
from PIL import Image

WEB, SOURCES = ROOT / "web", ROOT / "build" / "web"
LANGUAGES = {"en": (FOLDER, "README.md"), "zh_CN": (FOLDER / "zh_CN", "README.zh-CN.md")}
LINK = re.compile(r'\[([^\[\]]+)\]\((?!https?:)([\w./-]+?)(\.ipynb|\.md)?(#[\w-]+)?(?: "([^"]*)")?\)')
SELF = re.compile(r"\[([^\[\]]+)\]\(https://[\w-]+\.github\.io/[\w-]+/(?:zh_CN/)?(\w+\.html)\)")
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", re.DOTALL)
CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)


def pages(folder):
    """The course's pages that there are in that folder: all of them in English, the translated ones in Chinese."""
    return [folder / path.name for path in notebook_paths() if (folder / path.name).exists()]


def web_link(match, here):
    """A link to a file of the repository as a link to its page of the web edition, or to the repository."""
    text, place, _, anchor, title = match.groups()
    title = f' title="{escape(title)}"' if title else ""
    stem = Path(place).name
    if stem in {path.stem for path in here} | {"glossary"}:
        address = f"{stem}.html{anchor or ''}"
    elif (FOLDER / f"{stem}.ipynb").exists():  # not translated yet
        address = f"../{stem}.html"
    else:
        address = f"{repository()}/blob/main/{match[2]}{match[3] or ''}"
    return f'<a href="{address}"{title}>{text}</a>'


def web_formula(match):
    """A formula as MathML, which browsers draw by themselves."""
    return convert(match[1] or match[2], display="block" if match[1] else "inline")


def web_prose(text, here):
    """Markdown as Sphinx is given it. `here`: the pages of this language."""
    parts = CODE.split(text)
    for number in range(0, len(parts), 2):  # between the pieces of code
        parts[number] = FORMULA.sub(web_formula, LINK.sub(functools.partial(web_link, here=here), parts[number]))
    return "".join(parts)


def web_output(output, file):
    """A picture as a reference to `file`, which is written, with its words; in place. A film is HTML already."""
    data = output.get("data", {})
    if "text/html" in data:
        output.data = {"text/html": data["text/html"]}
    elif "image/png" in data:
        png = base64.b64decode(data["image/png"])
        file.write_bytes(png)
        width, height = Image.open(io.BytesIO(png)).size
        shown = output.metadata.get("image/png", {}).get("width", width)
        output.data = {
            "text/html": f'<img src="_static/{file.name}" alt="{escape("".join(data["text/plain"]))}" loading="lazy" '
            f'width="{shown}" height="{shown * height // width}">'
        }


def web_page(path, here, figures, language):
    """The notebook as Sphinx is given it."""
    notebook, cells, rung = read(path), [], gpu_page.rung_of(path)
    for number, cell in enumerate(notebook.cells):
        cells.append(cell)
        if cell.cell_type == "markdown":
            cell.source = web_prose(without_badges(cell.source) if number == 0 else cell.source, here)
        else:
            if cell.metadata.get("jupyter", {}).get("source_hidden") or cell.metadata.get("cellView") == "form":
                cell.metadata["tags"] = [*cell.metadata.get("tags", []), "hide-input"]
            for place, output in enumerate(cell.outputs):
                web_output(output, figures / f"{path.stem}-{cell.id}-{place}.png")
            if rung and gpu_page.charted(cell.source) == rung:
                cells.append(nbformat.v4.new_markdown_cell(gpu_page.beside_the_chart(language, rung), id="on-your-gpu"))
    notebook.cells = cells
    return as_text(nbformat.from_dict(notebook))


def front(readme, here):
    """The first page: the README without badges and languages, and the list of pages that Sphinx wants.

    A link to the web edition itself leads to its page beside this one.
    """
    text = re.sub(r"^\[(?:!\[|English\]|简体中文\]).*\n", "", (ROOT / readme).read_text("utf-8"), flags=re.MULTILINE)
    listed = "\n".join([path.stem for path in here] + [gpu_page.PAGE, "glossary"])
    text = SELF.sub(r'<a href="\2">\1</a>', text)
    return f"{web_prose(text, here)}\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"


def make_sources(language):
    """Write build/web/LANGUAGE, what Sphinx is given. Returns that folder."""
    folder, readme = LANGUAGES[language]
    source, here = SOURCES / language, pages(folder)
    shutil.rmtree(source, ignore_errors=True)
    (source / "figures").mkdir(parents=True)
    for path in here:
        (source / path.name).write_text(web_page(path, here, source / "figures", language), encoding="utf-8")
    (source / f"{gpu_page.PAGE}.md").write_text(web_prose(gpu_page.page(language), here), encoding="utf-8")
    gpu_page.copy_to(source / "figures" / "gpu", language)
    (source / "glossary.md").write_text(GLOSSARY.read_text("utf-8"), encoding="utf-8")
    (source / "index.md").write_text(front(readme, here), encoding="utf-8")
    (source / "terms.txt").write_text("\n".join(f"{term} 10000" for term in terms(CHINESE)), encoding="utf-8")
    both = [
        "index",
        "glossary",
        gpu_page.PAGE,
        "search",
        "genindex",
        *(path.stem for path in pages(LANGUAGES["zh_CN"][0])),
    ]
    about = dict(language=language, folder=str(folder.relative_to(ROOT)), repository=repository(), both=both)
    (source / "course.json").write_text(json.dumps(about), encoding="utf-8")
    return source


def main():
    """Make web/ anew. Returns the exit status: not 0 if Sphinx warns of anything; then web/ stays as it is."""
    made = {}
    for language in LANGUAGES:
        source, made[language] = make_sources(language), SOURCES / f"{language}_html"
        shutil.rmtree(made[language], ignore_errors=True)
        command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-E", "-c", str(ROOT / "tools" / "web")]
        command += ["-d", str(SOURCES / f"{language}_doctrees"), str(source), str(made[language])]
        done = subprocess.run(command, env=dict(os.environ, COURSE_SOURCE=str(source)))
        if done.returncode:
            return done.returncode
    shutil.rmtree(WEB, ignore_errors=True)
    shutil.move(made["en"], WEB)
    shutil.move(made["zh_CN"], WEB / "zh_CN")
    (WEB / ".nojekyll").touch()  # GitHub's pages would leave out _static
    print(f"made {WEB.name}/: open {WEB.name}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
