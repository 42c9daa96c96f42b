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


def one_of_each(params, what):
    """Those `pytest.param`, the first ones of all that they are about as they are, the others marked as the bulk.

    `what`: a function of a parameter's values that gives the things that it is about.
    """
    seen, chosen = set(), []
    for one in params:
        news = set(what(*one.values)) - seen
        seen |= news
        chosen.append(one if news else pytest.param(*one.values, id=one.id, marks=[*one.marks, pytest.mark.bulk]))
    return chosen
