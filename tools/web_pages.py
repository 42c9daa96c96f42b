"""The pages of the web book that are no notebooks: the first one, the glossary, and parts of the READMEs."""

import base64
import functools
import io
import re
from html import escape

import gpu_page
from glossary import CHINESE, ENGLISH, GLOSSARY, anchors, rows
from notebooks import ROOT, notebook_paths, read, repository, web_edition
from PIL import Image

from helpers.clock import read_results
from kernel_judge.report import VERDICT

HERE = ROOT / "tools" / "web"
READMES = {"en": "README.md", "zh_CN": "README.zh-CN.md"}
FILES = {  # {page: {language: the file that it shows}}; a link to the file leads to the page
    "install": READMES,
    "teach": {language: f"teaching/{name}" for language, name in READMES.items()},
    "changelog": {"en": "docs/CHANGELOG.md"},
}
FILTER = '<label class="filter" hidden>{words} <input type="search"></label>'
GPU, SIZE = "NVIDIA H200", 4096
HOURS = re.compile(r"([\d.]+) (?:hours|小时)")
TABLE = re.compile(r"^\| (?:page|页) \|.*\n(?:\|.*\n)+", re.M)
PARTS = ("00", "06"), ("07", "13"), ("14", "18")  # the first and the last page of each part of the course
WORDS = {
    "en": dict(
        parts=("The ladder", "Seeing and tuning", "Beyond"),
        beside="Beside it",
        glossary="Glossary",
        meet="A term stands under the page where you meet it first. Pages link their first use of a term to here.",
        filter="Show the terms with",
        met="Page {number}",
        verdict="{0} (verdict)",
        later="On no page",
        install="Install the course",
        address="The repository is [{0}]({0}).",
        unpublished="The course is not published yet: the address of its repository will stand here.",
        ends=("Start", "Run it on your GPU"),
        changelog="# Changes\n\nWhat is new in each version of the course.",
    ),
    "zh_CN": dict(
        parts=("阶梯", "看清与调优", "更进一步"),
        beside="附录",
        glossary="术语表",
        meet="术语列在第一次出现的那一页下面。那一页上，术语第一次出现的地方链接到这里。",
        filter="只显示含有这些字的术语",
        met="第 {number} 页",
        verdict="{0}（判定）",
        later="没有用到的",
        install="安装课程",
        address="仓库在 [{0}]({0})。",
        unpublished="课程尚未发布：仓库的网址以后会写在这里。",
        ends=("开始", "在你的 GPU 上运行"),
        changelog='# 更新记录\n\n课程每个版本有什么变化，写在英文版的 <a href="../changelog.html">Changes</a> 一页。\n',
    ),
}


def title(notebook):
    """The notebook's title: the words of its first heading."""
    return re.match(r"# (.*)", notebook.cells[0].source)[1]


@functools.cache
def rates():
    """{rung: GFLOP/s} of CUDA's ladder on the recorded GPU, slowest first, and of cuBLAS last."""
    [gpu] = [machine for machine in read_results(ROOT / "results") if machine.device == GPU]
    [board] = [one for one in gpu.boards if (one.M, one.N, one.K) == (SIZE, SIZE, SIZE)]
    found = {timing.step: timing.gflops for timing in board.timings if timing.dialect == "CUDA"}
    return {step: found[step] for step in sorted(found, key=lambda step: (step == "cuBLAS", found[step]))}


def ladder():
    """The recorded ladder as a table; the names of rungs lead to their pages."""
    pages = {gpu_page.rung_of(path): path.name for path in gpu_page.rung_pages()}
    lines = [
        f'<tr><th scope="row">{f"[{name}]({pages[name]})" if name in pages else name}</th>'
        f'<td><i style="width: {100 * rate / max(rates().values()):.1f}%"></i></td><td>{rate:,.0f}</td></tr>'
        for name, rate in rates().items()
    ]
    head = f"<caption>GFLOP/s, float32, {GPU}, {SIZE} × {SIZE}</caption>"
    return f'<table class="rungs">{head}<tbody>{"".join(lines)}</tbody></table>'


def picture(output, file):
    """A stored picture as HTML that shows that file, with the picture's words."""
    png = base64.b64decode(output.data["image/png"])
    width, height = Image.open(io.BytesIO(png)).size
    shown = output.metadata.get("image/png", {}).get("width", width)
    return (
        f'<a class="picture" href="_static/{file}"><img src="_static/{file}" '
        f'alt="{escape("".join(output.data["text/plain"]))}" loading="lazy" '
        f'width="{shown}" height="{shown * height // width}" style="--wide: {shown}px"></a>'
    )


def race(folder):
    """The first race that page 04 draws, as it is stored there."""
    page = "04_tiling"
    for cell in read(folder / f"{page}.ipynb").cells:
        for number, output in enumerate(cell.get("outputs", [])):
            verdict = cell.outputs[number - 1].get("data", {}).get(VERDICT) if number else None
            if verdict and "race" in verdict["findings"] and "image/png" in output.get("data", {}):
                return picture(output, f"{page}-{cell.id}-{number}.png")
    raise ValueError("page 04 draws no race: the first page of the web book shows one")


def film(folder):
    """The first film of page 04, as it is stored there."""
    for cell in read(folder / "04_tiling.ipynb").cells:
        for output in cell.get("outputs", []):
            if found := re.search("<figure.*?</figure>", output.get("data", {}).get("text/html", ""), re.DOTALL):
                return re.sub(r"\n\s*", " ", found[0])
    raise ValueError("page 04 has no film: the first page of the web book shows one")


def front(language, folder):
    """The first page: what the course is, ways on, a film, a race, the ladder, and the pages."""
    readme = (ROOT / READMES[language]).read_text("utf-8")
    table, hours = TABLE.search(readme)[0], HOURS.search(readme)[1]
    parts = dict(ladder=ladder(), film=film(folder), race=race(folder), pages=table)
    parts |= dict(count=str(len(notebook_paths())), hours=hours)
    text = (HERE / f"index.{language}.md").read_text("utf-8")
    text = re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], text)
    say = WORDS[language]
    listed = [path.stem for path in notebook_paths() if (folder / path.name).exists()]
    trees = [
        (part, [page for page in listed if first <= page[:2] <= last])
        for part, (first, last) in zip(say["parts"], PARTS, strict=True)
    ]
    trees.append((say["beside"], [gpu_page.PAGE, "reference", "glossary", *FILES]))
    for caption, names in trees:
        text += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(names) + "\n```\n"
    return text


def install(language):
    """How the course is installed: what the README says from its first command to what needs no installing."""
    say, text = WORDS[language], (ROOT / READMES[language]).read_text("utf-8")
    first, last = (f"## {heading}\n" for heading in say["ends"])
    where = say["address"].format(repository()) if repository() else say["unpublished"]
    return f"# {say['install']}\n\n{where}\n\n{first}{text.split(first)[1].split(last)[0]}"


def teach(language):
    """What teachers read, without the line that leads to the other language."""
    text = (ROOT / FILES["teach"][language]).read_text("utf-8")
    return re.sub(r"^\[(?:English|简体中文)\]\([^)]*\)\n", "", text, count=1, flags=re.M)


def changelog(language):
    """What is new in each version, in English; in Chinese one line that leads there."""
    said, file = WORDS[language]["changelog"], FILES["changelog"].get(language)
    return said + (ROOT / file).read_text("utf-8").removeprefix("# Changes") if file else said


def glossary(language, folder):
    """The glossary in that language: terms under the page that uses them first, each an entry of the search."""
    say, column = WORDS[language], (CHINESE if language == "zh_CN" else ENGLISH).column
    used, parts = set(), [f"# {say['glossary']}", say["meet"], FILTER.format(words=escape(say["filter"]))]
    for path in notebook_paths():
        here = set(anchors(read(path))) - used
        new = [row for row in words() if row[0] in here]
        if new:
            used |= here
            shown = read(folder / path.name if (folder / path.name).exists() else path)
            parts += [f"## {title(shown)}", f"[{say['met'].format(number=path.stem[:2])}]({path.name})"]
            parts += [terms(new, column)]
    if left := [row for row in words() if row[0] not in used]:
        parts += [f"## {say['later']}", terms(left, column)]
    heading, about, table = re.split(r"\n\n+", GLOSSARY.read_text("utf-8").partition("\n## ")[2].rstrip(), maxsplit=2)
    parts += [f"## {heading.split(' · ')[column]}", re.split(r"(?<=\.) ", about)[column], verdicts(table, language)]
    return "\n\n".join(parts) + "\n"


@functools.cache
def words():
    """The glossary's rows, each with its words in the dialects behind it: (anchor, terms, meanings, dialects)."""
    said = re.findall(r'^\| <a id="([^"]+)">.*\| ([^|]+) \|$', GLOSSARY.read_text("utf-8"), re.M)
    return [(*row, dict(said)[row[0]]) for row in rows()]


def terms(some, column):
    """Sphinx's glossary of those rows. In Chinese the English term is an entry, too: code and books have that one."""
    lines = ["```{glossary}"]
    for anchor, names, meanings, dialects in some:
        lines += dict.fromkeys((names[column], names[0]))
        lines += [f'  <a id="{anchor}"></a>{meanings[column]}', ""]
        if "<br>" in dialects:
            lines += ["  " + " · ".join(dialects.split("<br>")), ""]
    return "\n".join([*lines, "```"])


def verdicts(table, language):
    """Sphinx's glossary of the verdicts. One that is a term, too, says which of the two it is."""
    known = {name.lower() for _, names, *_ in words() for name in names}
    lines = ["```{glossary}"]
    for line in table.splitlines()[2:]:
        verdict, meaning, chinese = line.strip("| ").split(" | ")
        name, _, sense = chinese.partition("：")
        names, said = ((verdict,), meaning) if language == "en" else ((verdict, name), sense)
        lines += [WORDS[language]["verdict"].format(one) if one.lower() in known else one for one in names]
        lines += [f"  {said}", ""]
    return "\n".join([*lines, "```"])


def lost():
    """The page that a server shows for an address that there is not, in both languages, wherever it was asked for."""
    return (HERE / "404.md").read_text("utf-8")


def site():
    """Where the page for lost readers finds the site: its address, or a server's root while it has none."""
    return web_edition() if repository() else "/"
