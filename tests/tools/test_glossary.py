"""The glossary and the links to it."""

import ast
import re

import glossary
import notebooks
import pytest
from distribution import PACKAGES, sources
from nbformat import v4

from kernel_judge import Kind

ROWS = [line for line in glossary.GLOSSARY.read_text("utf-8").splitlines() if line.startswith("| <a")]


def link(text, anchor):
    """The link that a first use becomes: its title is what the glossary says in English."""
    row = next(row for row in ROWS if f'id="{anchor}"' in row)
    return f'[{text}](glossary.md#{anchor} "{row.split(" | ")[1].split("<br>")[0]}")'


def linked(*cells):
    notebook = v4.new_notebook(cells=[v4.new_markdown_cell(text) for text in cells])
    glossary.link_terms(notebook)
    return [cell.source for cell in notebook.cells]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: re.search(r'id="([^"]+)"', row)[1])
def test_each_term_has_one_line_in_both_languages_and_four_dialects(row):
    term, meaning, words = [cell.strip() for cell in row.strip("|").split("|")]
    chinese = re.compile("[\u4e00-\u9fff]")
    name, _, translation = term.partition("<br>")
    english, _, translated = meaning.partition("<br>")
    assert re.fullmatch(r'<a id="[a-z0-9-]+"></a>\*\*[^*]+\*\*', name) and translation
    assert (
        english.endswith(".")
        and not chinese.search(english)
        and chinese.search(translated)
        and translated.endswith("。")
    )
    dialects = re.findall(r"(?:^|<br>)(CUDA|OpenCL|HSA|HIP): \S", words)
    assert words and dialects in ([], ["CUDA", "OpenCL", "HSA", "HIP"])  # none: one word in all four


def kinds():
    """What the judges call the faults that they find: the first argument of each Finding, as it is written there."""
    for file in [file for package in PACKAGES for file in sources(package)]:
        for call in ast.walk(ast.parse(file.read_text("utf-8"))):
            name = getattr(getattr(call, "func", None), "id", None) or getattr(getattr(call, "func", None), "attr", "")
            if isinstance(call, ast.Call) and name in ("Finding", "find") and call.args:
                first = call.args[0]
                for kind in (first.body, first.orelse) if isinstance(first, ast.IfExp) else (first,):
                    yield from re.findall(r"^f?['\"](.*)['\"]$", ast.unparse(kind))


def test_each_verdict_is_explained():
    said = {*kinds(), *Kind} - {""}
    assert {"race", "too many loads", "misaligned"} <= said and len(said) > 25
    assert said <= set(glossary.verdicts())
    assert len(set(glossary.verdicts())) == len(glossary.verdicts())


def test_each_term_stands_once():
    assert len(glossary.terms()) == len(set(glossary.terms().values())) == len(ROWS) > 50


def test_the_terms_are_in_the_order_in_which_one_meets_them():
    pages = [notebooks.read(path) for path in notebooks.notebook_paths()]
    text = glossary.GLOSSARY.read_text("utf-8")
    assert text == glossary.in_order(text, pages), "run: python tools/notebooks.py --format"


def test_a_term_goes_to_where_it_is_first_used():
    text = "Head.\n" + "".join(f'| <a id="{name}"></a>**{name}** | x |\n' for name in "abcd") + "\nTail.\n"
    pages = map(linked_notebook, ("[c](glossary.md#c), [a](glossary.md#a)", "[b](glossary.md#b) [a](glossary.md#a)"))
    ordered = glossary.in_order(text, pages)
    assert re.findall(r"\*\*(.)\*\*", ordered) == ["c", "a", "b", "d"] and ordered.endswith("|\n\nTail.\n")


def linked_notebook(text):
    return v4.new_notebook(cells=[v4.new_code_cell("x = 1  # ](glossary.md#d)"), v4.new_markdown_cell(text)])


def test_the_first_use_is_linked_and_no_other():
    assert linked("A warp. Warps are 32 threads.", "A **warp**, and a thread.") == [
        f"A {link('warp', 'warp')}. Warps are 32 {link('threads', 'thread')}.",
        "A **warp**, and a thread.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "# A warp",
        "`warp`",
        "[a warp](02_naive.ipynb)",
        "warping, midwarp, warp-wide",
        "<details>a warp</details>",
        "```c\nwarp\n```",
        "[![warp](https://warp.org/warp.svg)](https://warp.org)",
        "    warp",
    ],
)
def test_no_link_where_none_belongs(text):
    assert linked(text) == [text]


def test_the_longest_term_wins_and_linking_twice_changes_nothing():
    once = linked("A bank conflict in shared memory, **Bank conflicts**; banks.")
    assert once == [
        f"A {link('bank conflict', 'bank-conflict')} in {link('shared memory', 'shared-memory')}, "
        f"**Bank conflicts**; {link('banks', 'bank')}."
    ]
    assert linked(*once) == once


@pytest.mark.parametrize("path", notebooks.notebook_paths(), ids=lambda path: path.stem)
def test_every_page_links_its_terms(path):
    """That each first use is linked is part of the normal form; here, that there are links that lead somewhere."""
    notebook = notebooks.read(path)
    anchors = glossary.anchors(notebook)
    for cell in notebook.cells:
        for text, anchor in re.findall(r"\[([^\]]*)\]\(glossary\.md#([\w-]+)", cell.source):
            assert link(text, anchor) in cell.source  # with the glossary's own words for a title
    assert len(anchors) == len(set(anchors)) > 3 and set(anchors) <= set(glossary.terms().values())
