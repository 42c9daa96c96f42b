"""One access to memory, and all accesses of a launch as one NumPy array."""

from collections import namedtuple

import numpy as np

# One access to one element. `index` counts elements from the array's start. `round` says how often the thread had run
# that line: threads of a warp run in step, so accesses of equal line and round are one instruction of the warp.
# `phase`: how many barriers it had passed. `part`: its place within a load of four, or of as many as a vector has,
# else 0; the parts of a vector are one instruction.
Access = namedtuple("Access", "memory array writes line block thread index round phase part")

# What is noted of one access to some numbers side by side; `site` says at which place of the source.
NOTE = np.dtype([("site", "i4"), ("phase", "i4"), ("address", "u8"), ("block", "i4"), ("thread", "i4")])


def record_type(names):
    """The dtype of an array with the fields of `Access`, for accesses to arrays of those names."""
    longest = max(map(len, names), default=1)
    types = "U6", f"U{longest}", bool, "i4", "3i4", "i4", "i4", "i4", "i4", "i1"
    return np.dtype(list(zip(Access._fields, types, strict=True)))


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


def records_of(notes, site, names, array, index, across):
    """One record for each number that was touched; an access that reads and writes has the numbers it reads first.

    site           {name: that field of the `Access` of each note}
    array, index   of each note: which of `names` it is about, and the index of its first number
    across         work-groups along x
    """
    reads, writes, width = site["reads"], site["writes"], site["width"]
    count = width * (reads.astype(int) + writes)
    note = np.repeat(np.arange(len(notes)), count)
    nth = np.arange(len(note)) - np.repeat(np.cumsum(count) - count, count)
    accesses = np.zeros(len(note), record_type(names))
    accesses["memory"], accesses["line"] = site["memory"][note], site["line"][note]
    accesses["array"] = np.array(names)[array[note]]
    accesses["writes"] = writes[note] & (~reads[note] | (nth >= width[note]))
    accesses["block"][:, 1], accesses["block"][:, 0] = np.divmod(notes["block"][note], across)
    accesses["thread"], accesses["phase"] = notes["thread"][note], notes["phase"][note]
    accesses["round"] = turns(notes["block"], notes["thread"], notes["site"])[note]
    accesses["part"] = nth % width[note]
    accesses["index"] = index[note] + accesses["part"]
    return accesses
