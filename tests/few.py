"""Which parameters of a test `make test` tries, where it takes a few of many and the bulk takes all."""

import pytest


def few(values, *chosen):
    """Parameters for pytest: the chosen ones among `values` as they are, the others marked as the bulk."""
    values = list(values)
    missing = [one for one in chosen if one not in values]
    assert not missing, f"{missing} are none of {values}"
    return [
        pytest.param(*(one if isinstance(one, tuple) else (one,)), marks=[] if one in chosen else pytest.mark.bulk)
        for one in values
    ]
