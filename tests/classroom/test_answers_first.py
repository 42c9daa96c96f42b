"""Exercises on kernels, pages 01 to 03. (Three files, so that workers share what takes long.)"""

from collections import Counter

from answers import RIGHT, WRONG
from judged import TOLD, of_pages

test_right, test_wrong = of_pages("01", "02", "03")


def test_each_exercise_has_two_right_answers_and_five_wrong_ones():
    """Those that the teacher's pages tell of, which test_teaching tries, are among the five."""
    told = Counter(label for label, *_ in TOLD)
    assert set(RIGHT) == set(WRONG)
    assert min(map(len, RIGHT.values())) >= 2 and all(len(WRONG[label]) + told[label] >= 5 for label in WRONG)
