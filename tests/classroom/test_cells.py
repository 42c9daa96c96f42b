"""What an answer needs of its own cells and of those above it: all of that, and nothing else."""

import json

import pytest

from helpers.classroom import homework
from helpers.classroom.cells import Cell, needed
from helpers.classroom.copies import answers

OTHER = Cell("f, helper = 1, 2", "00.1")  # a cell of another exercise


def texts(cells, before=(), given=()):
    return [statement.text for statement in needed(["f"], map(Cell, cells), before, given)]


@pytest.mark.parametrize(
    "cell, kept",
    [
        ("x = []\nfill(x)\nf = x\nfill(f)\nprint(f)", ["x = []", "fill(x)", "f = x"]),
        ("x = {}\nx['a'].b += 1\nx.y.update(a=2)\nf = x", ["x = {}", "x['a'].b += 1", "x.y.update(a=2)", "f = x"]),
        ("f = g\ng = h\nh = 3\ni = f", ["f = g", "g = h", "h = 3"]),
        ("f = lambda x: x\nx = 3", ["f = lambda x: x"]),
        ("x = 1; f = x; g = f", ["x = 1", "f = x"]),
        ("while True:\n    check(f)\nf = 'é'; g = 2", ["f = 'é'"]),
        ("@mine\ndef f(): return 1  # one\nfrom a import *", ["@mine\ndef f(): return 1", "from a import *"]),
        ("%%timeit -n 3\n%time f = 3\n%timeit -n 2 f(1)\n!ls", ["f = 3"]),
        ("if x:\n    %time f = 3\n    %matplotlib inline", ["if x:\n    f = 3\n    pass"]),
        ("f = %time g(1)\nx = !ls\nh = %pwd", ["f = g(1)"]),
        ("f = !ls", ["f = None"]),
    ],
)
def test_of_its_own_cells_an_answer_keeps_what_its_names_need(cell, kept):
    assert texts([cell]) == kept


@pytest.mark.parametrize(
    "before, own, kept",
    [
        ([Cell("x = {}\nx['a'] = 1\nshow(x)")], "f = x", ["x = {}", "x['a'] = 1"]),
        ([Cell("max = 1\ngiven = 2\nf = 3\ny = 4")], "f = max(given, y)", ["y = 4"]),
        ([OTHER], "f = helper", ["f, helper = 1, 2"]),
        ([OTHER], "g = 1", []),
        ([Cell("f = 1")], "check(f)", ["f = 1"]),
        ([Cell("x = ("), Cell("x = 1")], "f = x", ["x = 1"]),
    ],
)
def test_of_the_cells_above_it_takes_only_what_nothing_else_provides(before, own, kept):
    assert [text for text in texts([own], before, ["given"]) if text != own] == kept


def test_of_a_page_without_end_the_last_cells_are_looked_through(monkeypatch):
    monkeypatch.setattr(homework, "LONGEST", 5)
    assert homework.latest([Cell("x = 1"), Cell("y"), Cell("z=2")]) == [Cell("y"), Cell("z=2")]


def page(path, *cells):
    """Write a page of those cells; one that begins with a # is prose."""
    made = [{"cell_type": "markdown" if c.startswith("# ") else "code", "source": c.lstrip()} for c in cells]
    path.write_text(json.dumps({"cells": made}))
    return answers(path)


def test_a_cell_below_an_answer_is_none_of_those_that_it_needs(tmp_path):
    own, before = page(tmp_path / "00.ipynb", "x", " # Exercise 00.1\nmultiply_adds = y", "z", "# prose", "y = 1")[
        "00.1"
    ]
    assert [cell.source for cell in own] == ["# Exercise 00.1\nmultiply_adds = y", "z"]
    assert [cell.source for cell in before] == ["x"]


def test_where_two_stubs_are_gone_a_name_that_both_have_answers_neither(tmp_path):
    assert not page(tmp_path / "03.ipynb", "mine = 1", "# prose")
    assert list(page(tmp_path / "02.ipynb", "mine = 1", "# prose")) == ["02.2"]
