"""Exercises on kernels, pages 04, 05, 06."""

from judged import tests_of

test_right, test_wrong = tests_of("04", "05", "06")
