"""Make the Chinese edition: notebooks/zh_CN/ from the English pages and their translations, zh_CN/po/NN_name.po.

    python tools/translate.py               bring the translations in line with the pages, and write notebooks/zh_CN/
    python tools/translate.py --update 04   the first of the two, for page 04; show what there is to translate
    python tools/translate.py --check 04    change nothing; say what is missing, wrong or out of date
    python tools/translate.py --draw 04     run the Chinese page, and store its pictures that depend on no clock

An entry is one markdown cell, without the badges and the links to the glossary, which are made anew in each language.
All else of a page is copied byte for byte: code, outputs, ids and tags. But the set-up cell chooses Chinese, and the
verdicts among the outputs are in Chinese, from their data, and so is other text that `by_pattern` recognises, such as
the words for a picture. A picture stays as it was drawn in Chinese until other words belong to it. A cell whose English
has changed keeps its old translation, and a new one its English, each with a note, until somebody translates it.
"""

import argparse
import copy
import difflib
import hashlib
import html
import re
import sys

import polib
from by_pattern import in_chinese
from glossary import CHINESE, anchors, link_terms, without_links
from notebooks import (
    FOLDER,
    MACHINES,
    WHICH_PYTHON,
    as_text,
    execute,
    normalise_outputs,
    notebook_paths,
    read,
    with_badges,
    without_badges,
)
from translation import differences, manners

from helpers import language
from kernel_judge import report

PAGES = FOLDER / "zh_CN"
PO = PAGES / "po"
HEADER = {"Language": "zh_CN", "MIME-Version": "1.0", "Content-Type": "text/plain; charset=UTF-8"}
EMPTY, CHANGED = "is not translated", "has changed since it was translated"
# What the set-up cell of a Chinese page has before its first import of the course.
CHOSEN = 'from helpers import set_language\n\nset_language("zh_CN")  # 判定和图用中文；去掉这一行就用英文\n'
OF = "drawn_for"  # of a picture that was drawn in Chinese: the number of the English one's words
VERDICT = re.compile(
    r"^[✓✗…] .*?( is right[:.]| is wrong\.| computes the right C,|: not yet\. |: not judged\.).*(\n  .*)*", re.MULTILINE
)
GOES_ON = re.compile(r"\n {4}(?=\S)")  # a long verdict goes on below, see `wrapped` of the report
OF_A_FILM = re.compile(r'(?<=aria-label=")[^"]*|(?<=<figcaption>)[^<]*|(?<=alt=")[^"]*')  # words in its HTML
PIXELS = re.compile(r"(?<=base64,)[A-Za-z0-9+/=]+")
NOTES = {EMPTY: "> 译注：这一段还没有译文。", CHANGED: "> 译注：这一段的英文已有改动，译文还是旧的。"}


def plain(notebook):
    """{cell id: what there is to translate in it} of the notebook's markdown cells, in order."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    sources = {cell.id: without_links(cell.source) for cell in cells}
    if cells:
        sources[cells[0].id] = without_badges(sources[cells[0].id])
    return sources


def stored(stem):
    """The page's translation as it is stored; an empty one if there is none."""
    path = PO / f"{stem}.po"
    return polib.pofile(str(path), wrapwidth=0) if path.exists() else polib.POFile()


def renewed(po, sources):
    """The translation in line with the page: its cells in order, and no others. Old words are kept where they help.

    `sources`: as `plain` has them. A cell whose words have changed keeps its translation, marked as fuzzy, with its old
    English; where only lines are broken elsewhere, nothing has changed.
    """
    known = {entry.msgid: entry for entry in po if not entry.obsolete}
    by_id = {cell: entry for entry in known.values() for cell, _ in entry.occurrences}
    new = polib.POFile(wrapwidth=0)
    new.metadata = HEADER
    for cell, source in sources.items():
        if same := new.find(source):  # two cells that say the same
            same.occurrences.append((cell, ""))
            continue
        old = known.get(source) or by_id.get(cell)
        entry = polib.POEntry(msgid=source, occurrences=[(cell, "")])
        if old and (old.msgid == source or old.msgid not in sources.values()):
            entry.msgstr, entry.tcomment = old.msgstr, old.tcomment
            of = (old.previous_msgid or "") if old.fuzzy else old.msgid  # the English that these words translate
            if old.msgstr and of.split() != source.split():
                entry.flags, entry.previous_msgid = ["fuzzy"], of
        new.append(entry)
    return new


def lacks(entry):
    """Why a translator has still to look at an entry: EMPTY or CHANGED; None where it is translated."""
    return CHANGED if entry.fuzzy else None if entry.msgstr.strip() else EMPTY


def untranslated(po):
    """(entry, why) of each entry that a translator has still to look at."""
    return [(entry, lacks(entry)) for entry in po if lacks(entry)]


def behind(path, po):
    """What of the page is not translated, or not anew since its English has changed, a line each."""
    return [f"{name(entry)} {why}; run: {shown_by(path)}" for entry, why in untranslated(po)]


def shown_by(path):
    """The command that shows what there is to translate of a page."""
    return f"python tools/translate.py --update {path.stem[:2]}"


def said(entry):
    """What the Chinese page says in the place of an entry: where its translation is old or missing, with a note."""
    if why := lacks(entry):
        return f"{entry.msgstr.strip() or entry.msgid}\n\n{NOTES[why]}"
    return entry.msgstr


def translated(notebook, po, stem):
    """The page in Chinese: its markdown cells as `po` has them, with Chinese badges and links, and its outputs."""
    page = copy.deepcopy(notebook)
    for number, (cell, source) in enumerate(plain(notebook).items()):
        chinese = said(po.find(source))
        if number == 0:
            chinese = with_badges(chinese, f"zh_CN/{stem}")
        next(each for each in page.cells if each.id == cell).source = chinese
    link_terms(page, CHINESE, only=anchors(notebook))
    code = [cell for cell in page.cells if cell.cell_type == "code"]
    for cell in code[:1]:
        cell.source = with_chinese_chosen(cell.source)
    for output in (output for cell in code for output in cell.outputs):
        output_in_chinese(output)
    if (file := PAGES / f"{stem}.ipynb").exists():
        take_pictures(page, notebook, read(file))
    return page


def with_chinese_chosen(source):
    """The set-up cell's text with the lines that choose Chinese: first, since an import below may fail."""
    return source.replace(WHICH_PYTHON, WHICH_PYTHON + CHOSEN)


def output_in_chinese(output):
    """Put verdicts, the doctor's lines and the words for a picture into Chinese, in place, as when the page is run."""
    data = output.get("data", {})
    if "image/png" in data:
        data["text/plain"] = in_chinese(data["text/plain"])
        alt = output.metadata.get("image/png", {})
        alt.update({name: in_chinese(alt[name]) for name in {"alt"} & set(alt)})
        if "text/html" in data:
            data["text/html"] = OF_A_FILM.sub(in_chinese_html, data["text/html"])
    if report.VERDICT in data and "lines" in data[report.VERDICT]:
        data["text/plain"] = report.shown(data[report.VERDICT]["lines"], language.CHINESE)
        return
    for place, kind in ((output, "text"), (data, "text/plain")):
        if kind in place:
            place[kind] = VERDICT.sub(verdict_in_chinese, place[kind])
    if "OpenCL kernels run on" in output.get("text", ""):
        output.text = in_chinese(output.text.strip()) + "\n"


def in_chinese_html(found):
    """Words in HTML in Chinese."""
    return html.escape(in_chinese(html.unescape(found[0])))


def take_pictures(page, notebook, drawn):
    """Give the page the pictures that were drawn in Chinese, in place, where they belong to the English ones of now."""
    cells = {cell.id: cell for cell in drawn.cells if cell.cell_type == "code"}
    for cell, english in zip(page.cells, notebook.cells, strict=True):
        outputs = cells[cell.id].outputs if cell.id in cells else ()
        for one, its, other in zip(cell.get("outputs", ()), english.get("outputs", ()), outputs, strict=False):
            if "image/png" in one.get("data", {}) and other.get("metadata", {}).get(OF) == words_of(its):
                one.data, one.metadata = other.data, other.metadata


def words_of(output):
    """All of a picture's data but the pixels, as a short number."""
    data = output.get("data", {})
    words = "".join(PIXELS.sub("", str(data[kind])) for kind in sorted(data) if kind != "image/png")
    return hashlib.sha256(words.encode()).hexdigest()[:16]


def draw(path):
    """Run the Chinese page and store its pictures, where no clock is asked: all else stays as it is stored."""
    page, run, english = read(PAGES / path.name), read(PAGES / path.name), read(path)
    execute(run)
    for cell, its in zip(run.cells, english.cells, strict=True):
        if cell.cell_type == "code" and MACHINES not in cell.metadata.get("tags", []):
            normalise_outputs(cell)
            for output, of in zip(cell.outputs, its.outputs, strict=False):
                output.setdefault("metadata", {})[OF] = words_of(of)
    take_pictures(page, english, run)
    (PAGES / path.name).write_text(as_text(page), encoding="utf-8")


def verdict_in_chinese(found):
    """A verdict, as VERDICT finds it, in Chinese."""
    english = found[0].rstrip()
    lines = in_chinese(GOES_ON.sub(" ", english)).split("\n")
    return "\n".join(map(report.wrapped, lines)) + found[0][len(english) :]


def problems(notebook, po, stem):
    """What is wrong in the page's translation, a line each. `po`: in line with the page."""
    for entry in po:
        if not lacks(entry):
            for fault in (*differences(entry.msgid, entry.msgstr, entry.tcomment), *manners(entry.msgstr)):
                yield f"{name(entry)}: {fault}"
    if not untranslated(po):
        lost = set(anchors(notebook)) - set(anchors(translated(notebook, po, stem)))
        if lost:
            yield f"no place for a link to the glossary at {', '.join(sorted(lost))}: use the term unbolded, too"


def name(entry):
    """An entry as one finds it: the cell's id and its first words."""
    first = entry.msgid.strip().split("\n")[0]
    return f"{entry.occurrences[0][0]} ({first[:40]}{'…' * (len(first) > 40)})"


def show(entry, why):
    """Print what a translator needs to know of an entry."""
    print(f"\n--- {entry.occurrences[0][0]} {why}")
    if entry.fuzzy:
        diff = difflib.ndiff(entry.previous_msgid.split("\n"), entry.msgid.split("\n"))
        print("\n".join(line for line in diff if line[0] in "+-?"))
        print(f"    in Chinese so far:\n{entry.msgstr}")
    else:
        print(entry.msgid)


def update(path):
    """Bring the page's file of translations in line with it, and show what is left to do."""
    po = renewed(stored(path.stem), plain(read(path)))
    keep(po, path.stem)
    left = untranslated(po)
    print(f"{path.stem}: {len(left)} of {len(po)} entries to translate, in notebooks/zh_CN/po/{path.stem}.po")
    for entry, why in left:
        show(entry, why)


def keep(po, stem):
    """Write the page's file of translations."""
    PO.mkdir(parents=True, exist_ok=True)
    po.save(str(PO / f"{stem}.po"))


def make(path, only_check):
    """Write the Chinese page, and its translation as it is in line with the English one; or only compare both.

    Returns what is wrong, a list of lines, and what is `behind`. Where something is wrong, nothing is written.
    """
    notebook, before = read(path), stored(path.stem)
    po = renewed(before, plain(notebook))
    wrong = list(problems(notebook, po, path.stem))
    text, file = as_text(translated(notebook, po, path.stem)), PAGES / path.name
    same = {
        f"notebooks/zh_CN/po/{path.stem}.po": str(po) == str(before),
        f"notebooks/zh_CN/{path.name}": file.exists() and file.read_text("utf-8") == text,
    }
    if only_check:
        wrong += [f"{what} is out of date; run: make zh" for what in same if not same[what]]
    if not wrong and not only_check:
        keep(po, path.stem)
        PAGES.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return wrong, behind(path, po)


def main(arguments=None):
    """Do what the command line says. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="beginnings of notebook names, such as 04")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--update", action="store_true", help="renew the files of translations; show what to translate")
    way.add_argument("--check", action="store_true", help="change nothing; fail if a Chinese page is not whole")
    way.add_argument("--draw", action="store_true", help="run the Chinese pages; store their pictures, but no times")
    options = parser.parse_args(arguments)
    failed = False
    for path in notebook_paths(options.names):
        if options.update:
            update(path)
            continue
        if options.draw:
            draw(path)
        wrong, old = make(path, options.check)
        print(f"{path.name:40} {'FAILED' if wrong else 'in Chinese'}{f', to translate: {len(old)}' * bool(old)}")
        for line in (*wrong, *old):
            print(f"    {line}")
        failed = failed or bool(wrong) or (options.check and bool(old))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
