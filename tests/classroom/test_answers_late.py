"""Exercises on kernels, page 07 on."""

from judged import of_pages

test_right, test_wrong = of_pages("07", "08", "09", "10", "11", "12", "13", "14", "15", "16", "17", "18")
