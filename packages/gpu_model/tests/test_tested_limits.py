"""The limits that the model names, beside counters and changes that were measured."""

import dataclasses

import pytest

from helpers.instruments import limits_tested, tested_limits


def test_the_model_agrees_so_often_and_each_miss_is_told():
    found = limits_tested()
    asked = {}
    for one in found.tests:
        asked.setdefault(one.question.partition(":")[0], []).append(one.agrees)
    assert {question: (sum(said), len(said)) for question, said in asked.items()} == {
        "limits by a GPU's counters, our kernels": (18, 21),
        "limits by others' counters": (3, 3),
        "starts of instructions, by others' counters": (5, 6),
        "bank conflicts taken away": (9, 10),
        "other sizes of our kernels": (18, 21),
    }
    lines = repr(found).splitlines()
    assert len(lines) == len(asked) + sum(not one.agrees for one in found.tests)
    assert "      ✗ A6000, prefetched: measured 66%, predicted 77%" in lines
    missed = {
        one.what for one in found.tests if "our kernels" in one.question and "limits" in one.question and not one.agrees
    }
    assert missed == {
        "register_1d 64 64 8 16",
        "register_2d 64 64 16 4 4",  # issue and the load/store unit are busy for 72 % each
        "matrix_units 128 128 16 64 32 tf32",
    }


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
