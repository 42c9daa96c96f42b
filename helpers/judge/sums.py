"""Judges a kernel by how it rounds: which products go to one sum."""

import numpy as np

from ..launch import Kernel
from ..sandbox import Finding
from .checking import check_also_at
from .report import Report
from .touched import MissesTheIdea

HUGE = np.float32(2.0**100)  # beside it a 1 is lost, in float64 as well


def check_two_sums(k: Kernel) -> Report:
    """Check a kernel launched like `tiled`, then whether even and odd k have a sum each. Returns a `Report`.

    Huge numbers that cancel go to one of the two, ones to the other. Only where they never meet are the ones kept.
    """
    tile = k.parameters["TILE"]
    report = check_also_at(k, (tile, tile, tile), "its sums are looked at")
    if not report:
        return report
    for odd in (0, 1):
        A = ones_beside_huge(tile, odd)
        wanted = A[0].sum(dtype=np.float64, where=A[0] == 1)
        kept = float(k(A, np.ones((tile, tile), np.float32)).min())
        if kept != wanted:
            huge, ones = ("odd", "even") if odd else ("even", "odd")
            text = f"with huge numbers at {huge} k, which cancel, and ones at {ones} k, C is {kept:g}, not {wanted:g}"
            return MissesTheIdea(report.subject, (Finding("not two sums", text),), report.shapes)
    return report


def ones_beside_huge(tile: int, odd: int) -> np.ndarray:
    """A whose rows are all the same: HUGE and -HUGE in turn at even k, or where `odd` at odd k, ones at the others."""
    row = np.ones(tile, np.float32)
    one_sum = row[odd::2]
    pairs = len(one_sum) // 2 * 2
    one_sum[:pairs:2], one_sum[1:pairs:2], one_sum[pairs:] = HUGE, -HUGE, 0
    return np.tile(row, (tile, 1))
