"""Exercises on kernels, page 07 on."""

from judged import tests_of

test_right, test_wrong = tests_of("07", "08", "09", "10", "11", "12", "13", "14", "15", "16", "17", "18")
