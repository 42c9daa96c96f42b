"""Parameters of tests: small ones of each step, and which of many `make test` tries, where the bulk takes all."""

import pytest

# Parameters of each step so small that what watches each access, as Oclgrind does, is done in a second.
SMALL = {
    "naive": dict(BM=4, BN=4),
    "coalesced": dict(BM=4, BN=4),
    "tiled": dict(TILE=4),
    "register_1d": dict(BM=8, BN=4, BK=4, TM=4),
    "register_2d": dict(BM=8, BN=8, BK=4, TM=2, TN=2),
    "vectorized": dict(BM=8, BN=8, BK=8, TM=4, TN=4),
    "prefetched": dict(BM=16, BN=8, BK=8, TM=4, TN=4, WM=8, WN=8),
    "packed": dict(BM=4, BN=32, BK=16, TM=2, TN=2, VW=4, STRIPS=2),
    "column": dict(TM=2, VW=4),
    "matrix_units": dict(BM=64, BN=32, BK=32, WM=32, WN=16, INPUT="tf32"),
}


def few(values, *chosen):
    """Parameters for pytest: the chosen ones among `values` as they are, the others marked as the bulk."""
    values = list(values)
    missing = [one for one in chosen if one not in values]
    assert not missing, f"{missing} are none of {values}"
    return [
        pytest.param(*(one if isinstance(one, tuple) else (one,)), marks=[] if one in chosen else pytest.mark.bulk)
        for one in values
    ]
