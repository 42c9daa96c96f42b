"""Exercises on kernels, page 09 on: right answers in other styles pass, wrong ones are told what is wrong."""

import pytest
from judged import assert_right, assert_wrong, right_answers, wrong_answers


@pytest.mark.parametrize(
    "label, name, answer", right_answers("07", "08", "09", "10", "11", "12", "13", "14", "15", "16", "17", "18")
)
def test_a_right_answer_in_another_style_passes(label, name, answer):
    assert_right(label, answer)


@pytest.mark.parametrize(
    "label, name, case", wrong_answers("07", "08", "09", "10", "11", "12", "13", "14", "15", "16", "17", "18")
)
def test_a_wrong_answer_is_told_what_is_wrong(label, name, case):
    assert_wrong(label, case)
