"""Page 13, exercise 2: which products go to one sum, judged by how a kernel rounds."""

import numpy as np

from ..judge.other_sizes import at_sizes, taken_by
from ..judge.report import Report
from ..judge.trials import products
from ..launch import Kernel
from ..launch.given import takes
from ..launch.kernel import parameters_like
from ..sandbox import Finding
from .rules import judged, right, right_with

HUGE = np.float32(2.0**100)  # beside it a 1 is lost, in float64 as well
ODD = dict(TILE=5)


@takes
def check_two_sums(k: Kernel) -> Report:
    """Check a kernel launched like `tiled`, then whether even and odd k have a sum each. Returns a `Report`.

    Huge numbers that cancel go to one of the two, ones to the other. Only where they never meet are the ones kept.
    A kernel that takes TILE as a parameter is also tried with an odd one.
    """
    tile = parameters_like(k, "tiled")["TILE"]
    report = right(k, (tile, tile, tile), "its sums are looked at")
    return judged(k, right_with(k, report, *other_tiles(k)), not_two_sums)


def other_tiles(k: Kernel) -> list[dict]:
    """The parameters to try the kernel with as well."""
    return [ODD] if "TILE" in taken_by(k) else []


def not_two_sums(k: Kernel) -> list[Finding]:
    """What shows that even and odd k share a sum: ones that are lost beside huge numbers."""
    for one in (k, *(at_sizes(k, other) for other in other_tiles(k))):
        tile = one.parameters["TILE"]
        ones = np.ones((tile, tile), np.float32)
        outcome = products(one, [(ones_beside_huge(tile, odd), ones) for odd in (0, 1)])
        if outcome.findings:
            return outcome.findings
        for odd, C in enumerate(outcome.value):
            kept, wanted = C.min(), int((ones_beside_huge(tile, odd)[0] == 1).sum())
            if kept != wanted:
                huge, ones = ("odd", "even") if odd else ("even", "odd")
                text = (
                    f"with huge numbers at {huge} k, which cancel, and ones at {ones} k, C is {kept:g}, not {wanted:g}"
                )
                return [Finding("not two sums", f"{text}, at TILE={tile}")]
    return []


def ones_beside_huge(tile: int, odd: int) -> np.ndarray:
    """A whose rows are all the same: HUGE and -HUGE in turn at even k, or where `odd` at odd k, ones at the others."""
    row = np.ones(tile, np.float32)
    one_sum = row[odd::2]
    pairs = len(one_sum) // 2 * 2
    one_sum[:pairs:2], one_sum[1:pairs:2] = HUGE, -HUGE
    if len(one_sum) % 2:  # the last one cancels, too: where it goes is what an odd tile is tried for
        one_sum[-2:] = (0, -HUGE) if pairs else 0
    return np.tile(row, (tile, 1))
