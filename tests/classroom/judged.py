"""What the judges of exercises on kernels say of the answers in `answers`."""

import math
import re

import pytest
from answers import RIGHT, WRONG
from solved import stubs_and_solutions

from helpers.classroom import EXERCISES
from helpers.classroom.cells import Cell
from helpers.classroom.homework import answer_in, judge_here, verdict_of
from helpers.judge import Report

BOTH = stubs_and_solutions()
TEXTS = {"10.1": "mine", "14.1": "my_lines"}  # the one of an answer's names that is a text


def verdict(label, answer):
    """The verdict on the solution with those edits, or with that text behind it, in this process."""
    source = BOTH[label][1]
    if isinstance(answer, dict):
        for old, new in answer.items():
            assert old in source, old
            source = source.replace(old, new)
    elif any(re.search(rf"^(def )?{name}\b", answer, re.MULTILINE) for name in EXERCISES[label].names):
        source += f"\n{answer}"
    else:
        source += f'\n{TEXTS.get(label, EXERCISES[label].names[0])} = """{answer}"""\n'
    found = answer_in(label, [Cell(source, label)])
    return found if isinstance(found, Report) else verdict_of(*judge_here(None, label, (found.text,), math.inf))


def right_answers(*pages):
    return every(RIGHT, pages, 1)


def wrong_answers(*pages):
    return every(WRONG, pages, 2)


def every(answers, pages, few):
    """A parameter for each answer to the exercises of these pages; all but a few for each exercise are of the bulk."""
    return [
        pytest.param(label, name, answer, id=f"{label} {name}", marks=[] if number < few else pytest.mark.bulk)
        for label in answers
        if label[:2] in pages
        for number, (name, answer) in enumerate(answers[label].items())
    ]


def assert_right(label, answer):
    report = verdict(label, answer)
    assert report, report


def assert_wrong(label, case):
    answer, said = case
    report = verdict(label, answer)
    assert not report and said in repr(report), report
    assert ("not yet" in said) == (report.findings[0].kind == "not yet"), report
