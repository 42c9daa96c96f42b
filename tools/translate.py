"""Make the Chinese edition: notebooks/zh_CN/ from the English pages and their translations, po/zh_CN/NN_name.po.

    python tools/translate.py               bring po/zh_CN/ in line with the pages, and write those of notebooks/zh_CN/
    python tools/translate.py --update 04   the first of the two, for page 04; show what there is to translate
    python tools/translate.py --check 04    change nothing; say what is missing, wrong or out of date

An entry is one markdown cell, without the badges and the links to the glossary, which are made anew in each language.
All else of a page is copied byte for byte: code, outputs, ids and tags. A cell whose English has changed keeps its old
translation, and a new one its English, each with a note for the reader, until somebody translates it.
"""

import argparse
import copy
import difflib
import sys

import polib
from glossary import CHINESE, anchors, link_terms, verdicts_in, without_links
from notebooks import FOLDER, ROOT, as_text, notebook_paths, output_texts, read, with_badges, without_badges
from translation import NOTE, differences, manners

PO = ROOT / "po" / "zh_CN"
PAGES = FOLDER / "zh_CN"
HEADER = {"Language": "zh_CN", "MIME-Version": "1.0", "Content-Type": "text/plain; charset=UTF-8"}
EMPTY, CHANGED = "is not translated", "has changed since it was translated"
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
    """The page in Chinese: its markdown cells as `po` has them, with Chinese badges and links; all else is a copy."""
    page = copy.deepcopy(notebook)
    for number, (cell, source) in enumerate(plain(notebook).items()):
        chinese = said(po.find(source))
        if number == 0:
            chinese = with_badges(chinese, f"zh_CN/{stem}")
        next(each for each in page.cells if each.id == cell).source = chinese
    link_terms(page, CHINESE, only=anchors(notebook))
    return page


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


def said_first(path):
    """The words of verdicts that no page before this one shows in its outputs."""
    new, before = set(), set()
    for page in notebook_paths():
        shown = {words for cell in read(page).cells for text in output_texts(cell) for words in verdicts_in(text)}
        if page == path:
            new = shown
        elif page < path:
            before |= shown
    return new - before


def unexplained(path, po):
    """What no note explains of the verdicts that the page shows first, a line each."""
    notes = "".join(note for entry in po for note in NOTE.findall(entry.msgstr))
    for words in sorted(said_first(path)):
        if f"`{words}`" not in notes:
            yield f"no note explains the verdict `{words}`, which is on no page before: > 译注：`{words}` …"


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
    print(f"{path.stem}: {len(left)} of {len(po)} entries to translate, in po/zh_CN/{path.stem}.po")
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
    wrong = [*problems(notebook, po, path.stem), *unexplained(path, po)]
    text, file = as_text(translated(notebook, po, path.stem)), PAGES / path.name
    same = {
        f"po/zh_CN/{path.stem}.po": str(po) == str(before),
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
    options = parser.parse_args(arguments)
    failed = False
    for path in notebook_paths(options.names):
        if options.update:
            update(path)
            continue
        wrong, old = make(path, options.check)
        print(f"{path.name:40} {'FAILED' if wrong else 'in Chinese'}{f', to translate: {len(old)}' * bool(old)}")
        for line in (*wrong, *old):
            print(f"    {line}")
        failed = failed or bool(wrong) or (options.check and bool(old))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
