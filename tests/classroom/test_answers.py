"""What the pages say of right answers in other styles, and of wrong ones: those in `answers`, and the teacher's."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from answers import RIGHT, WRONG
from judged import TOLD, verdict

from helpers.exercises import rules, start_here
from kernel_judge import Report

QUICK = ("01",)  # pages with wishes that take no kernel
IDEAS = "coalesced", "too many loads", "not transposed", "not wide", "waits"  # of a kernel that is right


def every(answers, bulk=False):
    return [
        pytest.param(label, case, id=f"{label} {name}", marks=[pytest.mark.bulk] * (bulk and label[:2] not in QUICK))
        for label in answers
        for name, case in answers[label].items()
    ]


def said_of(label, answer, is_right, monkeypatch):
    """(state, what the page says) of an answer, in one line; of a kernel that is right nothing checks whether it is."""
    if is_right:
        monkeypatch.setattr(rules, "check", lambda k: Report("your kernel", ()))
    state, said = verdict(label, answer)
    return state, re.sub(r"\s+", " ", said)


@pytest.mark.parametrize("label, answer", every(RIGHT, bulk=True))
def test_a_right_answer_in_another_style_passes(label, answer):
    state, said = verdict(label, answer)
    assert state == "done", said


@pytest.mark.parametrize("label, case", every(WRONG))
def test_what_is_wrong_with_an_answer_is_told(label, case, monkeypatch):
    answer, wanted = case
    state, said = said_of(label, answer, any(idea in wanted for idea in IDEAS), monkeypatch)
    assert state == "tried" and wanted in said, said


def is_quick(label, kind):
    """Whether the verdict takes no kernel, or tells of one that is right what `answers` has no row for."""
    if kind in ("wrong number", "not met"):
        return label[:2] in QUICK or (kind == "wrong number" and label != "00.1")
    return kind in ("bank conflicts", "barriers")


@pytest.mark.parametrize(
    "label, right, wrong, kind",
    [pytest.param(*row, id=row[0], marks=[pytest.mark.bulk] * (not is_quick(row[0], row[3]))) for row in TOLD],
)
def test_a_wrong_answer_gets_the_verdict_that_the_teacher_is_told(label, right, wrong, kind, monkeypatch):
    right, wrong = (text.strip("` ") if text == " " else text.replace(" ⏎ ", "\n") for text in (right, wrong))
    state, said = said_of(label, {right: wrong}, is_quick(label, kind), monkeypatch)
    told = "✗" if kind == "not met" else kind  # a wish, of which the page has a line each
    assert state == ("not yet" if kind == "not yet" else "tried") and told in said, said


def test_the_first_wrong_sum_of_a_first_kernel_is_told_by_how_it_came_about():
    right = np.float32([1, 2, 3])

    def found(out, stores, loads=3):
        run = SimpleNamespace(
            stores=[None, None, np.array(stores)],
            arrays=[None, None, np.float32(out)],
            executed={"global load": loads},
        )
        return [(one.kind, one.message) for one in start_here.wrong_sums(run, right)]

    assert found([1, 2, 3], [1, 1, 1]) == []
    assert found([1, 0, 0], [1, 1, 1]) == [
        ("wrong number", "out[1] is 0.0000, and the sum of a and b there is 2.0000; before the kernel ran it was nan")
    ]
    assert found([1, np.nan, 3], [1, 0, 1]) == [("unwritten", "out[1] is never written")]
    assert found([np.nan] * 3, [0, 0, 0], loads=0) == [("not yet", "out[0] is never written.")]
