"""How large a page is: what counts, and what does not."""

import nbformat.v4 as v4
from sizes import MOST, Size, main, size_of


def page(*cells):
    notebook = v4.new_notebook()
    notebook.cells = [v4.new_code_cell("import sys\nimport helpers"), *cells]
    return notebook


def test_words_brackets_and_other_pages_are_those_of_the_prose():
    text = (
        '# 04 · Tiles\n\n[![A badge](x.svg)](https://a.b/c d)\n\nFour [words](glossary.md#word "a word") `k = 0` here '
        "(an aside) and `f(a, b)`; see page 03, pages 09 and 07, and [page 03](03_coalescing.ipynb).\n\n"
        "<details><summary>A hint</summary>Not (at all) page 12.</details>\n\n"
        "```python\nsizes = [4, 16]  # no words, and no page 16\n```"
    )
    size = size_of(page(v4.new_markdown_cell(text)), "04")
    assert (size.words, size.brackets, size.pages) == (22, 1, 3)


def test_code_is_counted_without_set_up_solutions_and_blank_lines():
    cells = [v4.new_code_cell("a = 1\n\nb = 2"), v4.new_code_cell("# @title A solution\nc = 3"), v4.new_code_cell("d")]
    size = size_of(page(*cells), "04")
    assert (size.cells, size.lines) == (2, 3)


def test_a_page_s_own_number_is_no_reference():
    assert size_of(page(v4.new_markdown_cell("page 04 and page 05")), "04").pages == 1


def test_the_table_has_a_line_a_page_and_marks_what_is_too_large(capsys):
    main(["16"])
    head, row, total = capsys.readouterr().out.splitlines()
    assert head.split() == ["page", "words", "cells", "lines", "brackets", "pages"]
    numbers = [int(word.rstrip("*")) for word in row.split()[1:]]
    assert row.startswith("16_your_own_rung") and numbers == [int(word) for word in total.split()[1:]]
    too_large = [many > MOST.get(name, many) for name, many in vars(Size(*numbers)).items()]
    assert [word.endswith("*") for word in row.split()[1:]] == too_large
