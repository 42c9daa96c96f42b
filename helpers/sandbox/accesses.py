"""One access to memory, and all accesses of a launch as one NumPy array."""

from collections import namedtuple

import numpy as np

# One access to one element. `index` counts elements from the array's start. `round` says how often the thread had run
# that line: threads of a warp run in step, so accesses of equal line and round are one instruction of the warp.
# `phase`: how many barriers it had passed. `part`: its place within a load of four, or of as many as a vector has,
# else 0; the parts of a vector are one instruction.
Access = namedtuple("Access", "memory array writes line block thread index round phase part")


def record_type(names):
    """The dtype of an array with the fields of `Access`, for accesses to arrays of those names."""
    longest = max(map(len, names), default=1)
    types = "U6", f"U{longest}", bool, "i4", "3i4", "i4", "i4", "i4", "i4", "i1"
    return np.dtype(list(zip(Access._fields, types, strict=True)))


def records(accesses):
    """A list of `Access` as an array."""
    return np.array(accesses, record_type({a.array for a in accesses}))


def grouped(*columns):
    """A number for each row, the same where all columns are the same; an int array, counted in the columns' order."""
    number = np.zeros(len(columns[0]), int)
    for column in columns:
        values, place = np.unique(column, return_inverse=True)
        # The numbers are made small again each time, so that they never overflow.
        number = np.unique(number * len(values) + place, return_inverse=True)[1]
    return number


def turns(*columns):
    """For each row the number of earlier ones with the same in all columns: [0, 0, 1] for the column [7, 3, 7]."""
    number = grouped(*columns)
    order = np.argsort(number, kind="stable")
    result = np.empty(len(number), int)
    result[order] = np.arange(len(number)) - np.searchsorted(number[order], number[order])
    return result
