"""How it is told whether the model names the limits, and the changes, that were measured."""

import pytest

from gpu_model.tested_limits import LimitsTested, sign


@pytest.mark.parametrize("measured, predicted, same", [(1.1, 1.3, True), (0.9, 0.5, True), (1.1, 0.9, False)])
def test_a_change_is_foretold_where_its_sign_is(measured, predicted, same):
    assert sign("?", "T4", "a change", measured, predicted).agrees is same


def test_a_miss_is_printed_and_an_agreement_is_counted():
    hit, missed = (sign("faster?", "T4", what, 2, predicted) for what, predicted in (("a", 3), ("b", 0.5)))
    said = " 1 of  2  faster?\n      ✗ T4, b: measured x 2.00, predicted x 0.50"
    assert repr(LimitsTested((hit, missed))) == said
