"""Exercises on kernels, pages 00 to 03. (Three files, so that workers share what takes long.)"""

from collections import Counter

from answers import RIGHT, WRONG
from judged import TOLD, of_pages

test_right, test_wrong = of_pages("00", "01", "02", "03")


def test_each_exercise_has_right_answers_and_wrong_ones():
    """Those that the teacher's pages tell of, which test_teaching tries, are among the wrong ones."""
    told = Counter(label for label, *_ in TOLD)
    assert set(RIGHT) == set(WRONG)
    assert min(map(len, RIGHT.values())) >= 2 and all(len(WRONG[label]) + told[label] >= 3 for label in WRONG)
