"""Links the first use of each glossary term on a page to its entry, whenever a page is brought to its normal form.

The link's title is the term's meaning, so that it is read by pointing at the word.

python tools/notebooks.py --format    also puts the glossary's rows in the order in which the pages use the terms
"""

import functools
import re
from dataclasses import dataclass
from pathlib import Path

GLOSSARY = Path(__file__).resolve().parent.parent / "notebooks" / "glossary.md"
ROW = re.compile(r'\| <a id="([^"]+)"></a>')
LINK = re.compile(r'\[([^\]]*)\]\((?:\.\./)?glossary\.md#[\w-]+(?: "[^"]*")?\)')
# Where no link belongs: code, other links and images, HTML, formulas, and headings.
KEPT = re.compile(
    "|".join(
        [
            r"```.*?```",
            r"`[^`\n]*`",
            r"!?\[[^\]]*\](?:\([^)]*\))?",
            r"<details>.*?</details>",
            r"<[^>]*>",
            r"\$[^$\n]*\$",
            r"^#.*?$",
            r"^    .*?$",
            r"https?://\S+",
            "Kernel Tuner",
        ]
    ),
    re.MULTILINE | re.DOTALL,
)

OTHER_SENSES = {"15_many_devices": {"block", "grid"}}  # anchors of words that a page uses in a sense of its own


@dataclass(frozen=True)
class Language:
    """How the pages of one language use the glossary's terms."""

    column: int  # of a term's name and of its meaning: the first line of the cell, or the second
    place: str  # of the glossary, as its pages see it
    word: str  # a regular expression of what is linked in running text: {} are the terms


ENGLISH = Language(0, "glossary.md", r"(?<![\w-])(?P<term>{})(?:e?s)?(?![\w-])")
# With its asterisks: between Chinese characters, Markdown takes `**[…](…)**` for no emphasis, and `[**…**](…)` for one.
CHINESE = Language(1, "../glossary.md", r"(?P<stars>\*\*?)?(?P<term>{})(?(stars)(?P=stars))")
EMPHASIS = re.compile(r"(\*\*?)([^*\n]+)\1")


@functools.cache
def terms(language=ENGLISH):
    """{term as one writes it, in lower case: its anchor}, as the glossary has them."""
    return {names[language.column].lower(): anchor for anchor, names, _ in rows()}


@functools.cache
def meanings(language=ENGLISH):
    """{anchor: the term's meaning in one line}."""
    return {anchor: meaning[language.column] for anchor, _, meaning in rows()}


@functools.cache
def rows():
    """(anchor, (term in English, in Chinese), (meaning in English, in Chinese)) of each row of the first table."""
    row = r'<a id="([^"]+)"></a>\*\*([^*]+)\*\*<br>([^|]+) \| ([^|"]+)<br>([^|"]+) \|'
    found = re.findall(row, GLOSSARY.read_text("utf-8"))
    return [(anchor, (term, name), (meaning, sense)) for anchor, term, name, meaning, sense in found]


@functools.cache
def pattern(language=ENGLISH):
    """Any term, the longest first; in English also in the plural."""
    longest_first = sorted(terms(language), key=len, reverse=True)
    return re.compile(language.word.format("|".join(map(re.escape, longest_first))), re.IGNORECASE)


def without_links(text):
    """The text without its links to the glossary."""
    return LINK.sub(r"\1", text)


def link_terms(notebook, language=ENGLISH, only=None, stem=""):
    """Link each term's first use in the notebook's prose, and no other, in place. `only`: these anchors."""
    linked = set(OTHER_SENSES.get(stem, ())) if only is None else set(terms(language).values()) - set(only)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = with_links(without_links(cell.source), linked, language)


def with_links(text, linked, language):
    """The text with a link at each term whose anchor is not yet in `linked`, a set, which it is then added to."""
    kept = [m.span() for m in KEPT.finditer(text)]
    if language is CHINESE:  # a link in the midst of emphasised words would end the emphasis
        kept += [m.span() for m in EMPHASIS.finditer(text) if not pattern(language).fullmatch(m[0])]

    def link(match):
        anchor = terms(language)[match["term"].lower()]
        if anchor in linked or any(start < match.end() and match.start() < end for start, end in kept):
            return match[0]
        linked.add(anchor)
        return f'[{match[0]}]({language.place}#{anchor} "{meanings(language)[anchor]}")'

    return pattern(language).sub(link, text)


def anchors(notebook):
    """The anchors that the notebook's prose links to, in order."""
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return re.findall(r"\]\((?:\.\./)?glossary\.md#([^)\s]*)", prose)


@functools.cache
def verdicts():
    """The words of the verdicts that `check` and the exercises give, as the glossary's second table has them."""
    _, table = GLOSSARY.read_text("utf-8").split("| verdict", 1)
    return re.findall(r"^\| ([^|]+) \|", table.partition("|---|")[2], re.MULTILINE)


def in_order(text, pages):
    """The glossary's text with its rows in the order of first use. `pages`: the notebooks, linked, in order.

    Terms that no page uses come last.
    """
    uses = [anchor for notebook in pages for anchor in anchors(notebook)]
    first = {anchor: at for at, anchor in reversed(list(enumerate(uses)))}
    lines = text.splitlines(keepends=True)
    rows = [line for line in lines if line.startswith("| <a")]
    begin = lines.index(rows[0])
    rows.sort(key=lambda row: first.get(ROW.match(row)[1], len(uses)))
    return "".join([*lines[:begin], *rows, *lines[begin + len(rows) :]])
