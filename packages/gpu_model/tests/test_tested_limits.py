"""How it is told whether the model names the limits, and the changes, that were measured."""

import dataclasses

import pytest

from gpu_model import tested_limits


@pytest.mark.parametrize("measured, predicted, same", [(1.1, 1.3, True), (0.9, 0.5, True), (1.1, 0.9, False)])
def test_a_change_is_foretold_where_its_sign_is(measured, predicted, same):
    assert tested_limits.sign("?", "T4", "a change", measured, predicted).agrees is same


def test_a_miss_is_printed_and_an_agreement_is_counted():
    hit = tested_limits.sign("faster?", "T4", "a", 2, 3)
    missed = dataclasses.replace(tested_limits.sign("faster?", "T4", "b", 2, 0.5))
    assert (
        repr(tested_limits.LimitsTested((hit, missed)))
        == " 1 of  2  faster?\n      ✗ T4, b: measured x 2.00, predicted x 0.50"
    )
