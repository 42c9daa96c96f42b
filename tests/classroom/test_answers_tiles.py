"""Exercises on kernels, pages 04, 05, 06."""

from judged import of_pages

test_right, test_wrong = of_pages("04", "05", "06")
