"""The glossary and the links to it."""

import ast
import re
from pathlib import Path

import glossary
from distribution import PACKAGES, sources
from nbformat import v4
from notebooks import ROOT

from kernel_judge import Kind

ROWS = [line for line in glossary.GLOSSARY.read_text("utf-8").splitlines() if line.startswith("| <a")]


def link(text, anchor):
    """The link that a first use becomes: its title is what the glossary says in English."""
    return f'[{text}](glossary.md#{anchor} "{glossary.meanings()[anchor]}")'


def linked(*cells, stem=""):
    notebook = v4.new_notebook(cells=[v4.new_markdown_cell(text) for text in cells])
    glossary.link_terms(notebook, stem=stem)
    return [cell.source for cell in notebook.cells]


def kinds():
    """What the judges call the faults that they find: the first argument of each Finding, as it is written there."""
    for file in [file for package in PACKAGES for file in sources(package)]:
        for call in ast.walk(ast.parse(file.read_text("utf-8"))):
            name = getattr(getattr(call, "func", None), "id", None) or getattr(getattr(call, "func", None), "attr", "")
            if isinstance(call, ast.Call) and name in ("Finding", "find") and call.args:
                first = call.args[0]
                for kind in (first.body, first.orelse) if isinstance(first, ast.IfExp) else (first,):
                    yield from re.findall(r"^f?['\"](.*)['\"]$", ast.unparse(kind))


def test_each_verdict_is_explained_once():
    said = {*kinds(), *Kind} - {""}
    assert {"race", "too many loads", "misaligned"} <= said and len(said) > 25
    assert said <= set(glossary.verdicts())
    assert len(set(glossary.verdicts())) == len(glossary.verdicts())


def test_each_term_stands_once_with_its_meaning_in_both_languages():
    assert len(ROWS) > 50 and len(glossary.terms()) == len(set(glossary.terms().values())) == len(ROWS)
    chinese = re.compile("[\u4e00-\u9fff]")
    assert not any(map(chinese.search, glossary.meanings().values()))
    assert all(map(chinese.search, glossary.meanings(glossary.CHINESE).values()))


def test_a_term_goes_to_where_it_is_first_used():
    text = "Head.\n" + "".join(f'| <a id="{name}"></a>**{name}** | x |\n' for name in "abcd") + "\nTail.\n"
    cells = "[c](glossary.md#c), [a](glossary.md#a)", "[b](glossary.md#b) [a](glossary.md#a)"
    code = v4.new_code_cell("x = 1  # ](glossary.md#d)")
    pages = [v4.new_notebook(cells=[code, v4.new_markdown_cell(said)]) for said in cells]
    ordered = glossary.in_order(text, pages)
    assert re.findall(r"\*\*(.)\*\*", ordered) == ["c", "a", "b", "d"] and ordered.endswith("|\n\nTail.\n")


def test_the_first_use_is_linked_and_no_other():
    assert linked("A warp. Warps are 32 threads.", "A **warp**, and a thread.") == [
        f"A {link('warp', 'warp')}. Warps are 32 {link('threads', 'thread')}.",
        "A **warp**, and a thread.",
    ]


def test_no_link_where_none_belongs():
    for text in (
        "# A warp",
        "`warp` [a warp](02_naive.ipynb)",
        "warping, midwarp, warp-wide",
        "<details>a warp</details>",
        "```c\nwarp\n```",
        "[![warp](https://warp.org/warp.svg)](https://warp.org)",
    ):
        assert linked(text) == [text]
    assert linked("a block", stem="15_many_devices") == ["a block"] != linked("a block")


def test_the_longest_term_wins_and_linking_twice_changes_nothing():
    once = linked("A bank conflict in shared memory, **Bank conflicts**; banks.")
    assert once == [
        f"A {link('bank conflict', 'bank-conflict')} in {link('shared memory', 'shared-memory')}, "
        f"**Bank conflicts**; {link('banks', 'bank')}."
    ]
    assert linked(*once) == once


HOME_MADE = {  # words that no search engine knows, and the field's
    r"(second|first) \[?cache": "L2 cache, L1 cache",
    r"whole[- ]numbers?(?! of)": "integer",
    r"turned round": "transposed",
    r"rounds? of the banks": "wavefront",
    r"starts? of instructions": "issue slots",
    r"rounds? of (a|the|its) loop": "iteration",
    r"(writes?|wrote) (it|them|\w+ rounds) out|writes out \w+ (round|iteration)s": "unroll",
    r"behind the end": "past the end",
}


def test_the_fields_words_stand_everywhere():
    """In the pages, in code, in what it says and in what is read beside them; the glossary keeps plain explanations."""
    kinds, left_out = (".ipynb", ".py", ".md", ".toml", ".cl", ".ll"), ("zh_CN", "CHANGELOG.md", Path(__file__).name)
    folders = ("notebooks", "helpers", "packages", "docs", "tools", "teaching", "tests")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*") if file.suffix in kinds]
    assert len(files) > 300
    home_made = re.compile("|".join(HOME_MADE), re.IGNORECASE)
    found = [
        (file.name, word[0])
        for file in [*files, ROOT / "README.md"]
        if not set(file.parts) & set(left_out)
        for word in home_made.finditer(file.read_text("utf-8"))
    ]
    assert not found, f"write {HOME_MADE}"
