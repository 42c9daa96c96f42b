"""Links the first use of each glossary term on a page to its entry, whenever a page is brought to its normal form.

python tools/notebooks.py --format    also puts the glossary's rows in the order in which the pages use the terms
"""

import functools
import re
from pathlib import Path

GLOSSARY = Path(__file__).resolve().parent.parent / "notebooks" / "glossary.md"
ROW = re.compile(r'\| <a id="([^"]+)"></a>')
LINK = re.compile(r"\[([^\]]*)\]\(glossary\.md#[^)]*\)")
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


@functools.cache
def terms():
    """{term as one writes it, in lower case: its anchor}, as the glossary has them."""
    return {
        term.lower(): anchor
        for anchor, term in re.findall(r'<a id="([^"]+)"></a>\*\*([^*]+)\*\*', GLOSSARY.read_text("utf-8"))
    }


@functools.cache
def pattern():
    """Any term, the longest first, also in the plural."""
    longest_first = sorted(terms(), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, longest_first))})(?:e?s)?(?![\w-])", re.IGNORECASE)


def link_terms(notebook):
    """Link each term's first use in the notebook's prose, and no other, in place."""
    linked = set()
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = with_links(LINK.sub(r"\1", cell.source), linked)


def with_links(text, linked):
    """The text with a link at each term whose anchor is not yet in `linked`, a set, which it is then added to."""
    kept = [m.span() for m in KEPT.finditer(text)]

    def link(match):
        anchor = terms()[match[1].lower()]
        if anchor in linked or any(start < match.end() and match.start() < end for start, end in kept):
            return match[0]
        linked.add(anchor)
        return f"[{match[0]}](glossary.md#{anchor})"

    return pattern().sub(link, text)


def in_order(text, pages):
    """The glossary's text with its rows in the order of first use. `pages`: the notebooks, linked, in order.

    Terms that no page uses come last.
    """
    uses = [
        anchor
        for notebook in pages
        for cell in notebook.cells
        if cell.cell_type == "markdown"
        for anchor in re.findall(r"\]\(glossary\.md#([^)]*)\)", cell.source)
    ]
    first = {anchor: at for at, anchor in reversed(list(enumerate(uses)))}
    lines = text.splitlines(keepends=True)
    rows = [line for line in lines if line.startswith("| <a")]
    begin = lines.index(rows[0])
    rows.sort(key=lambda row: first.get(ROW.match(row)[1], len(uses)))
    return "".join([*lines[:begin], *rows, *lines[begin + len(rows) :]])
