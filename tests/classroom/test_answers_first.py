"""Exercises on kernels, pages 01 to 03: right answers in other styles pass, wrong ones are told what is wrong."""

from collections import Counter

import pytest
from answers import RIGHT, WRONG
from judged import TOLD, assert_right, assert_wrong, right_answers, wrong_answers


@pytest.mark.parametrize("label, name, answer", right_answers("01", "02", "03"))
def test_a_right_answer_in_another_style_passes(label, name, answer):
    assert_right(label, answer)


@pytest.mark.parametrize("label, name, case", wrong_answers("01", "02", "03"))
def test_a_wrong_answer_is_told_what_is_wrong(label, name, case):
    assert_wrong(label, case)


def test_each_exercise_has_three_right_answers_and_five_wrong_ones():
    """Those that the teacher's pages tell of, which test_teaching tries, are among the five."""
    told = Counter(label for label, *_ in TOLD)
    assert set(RIGHT) == set(WRONG)
    assert min(map(len, RIGHT.values())) >= 3 and all(len(WRONG[label]) + told[label] >= 5 for label in WRONG)
