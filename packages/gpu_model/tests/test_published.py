"""The model against ladders that others measured with one set of kernels, whose code was counted."""

from types import SimpleNamespace

import numpy as np
import pytest

from gpu_model import LADDERS, prediction
from gpu_model.comparison import compare, told
from gpu_model.prediction import LOSSES
from gpu_model.published import LOCKED

THEIR_CODE = [one for one in LADDERS if one.counted]


def ratios(ladders):
    """The predicted rate of each rung, as a multiple of the measured one."""
    return np.array([one.predicted(step).gflops / rate for one in ladders for step, rate in one.rates.items()])


def test_ladders_are_predicted_from_the_code_that_ran_there():
    off = abs(ratios(THEIR_CODE) - 1)
    assert len(off) == 38 and np.median(off) < 0.08 and off.max() < 0.255


def test_the_power_of_the_losses_is_the_integer_with_the_least_median_error(monkeypatch):
    fitted, error = [one for one in LADDERS if one.fitted], {}
    for power in (2, 3, 4, 5):
        monkeypatch.setattr(prediction, "LOSSES", power)
        error[power] = np.median(abs(ratios(fitted) - 1))
    assert LOSSES == min(error, key=error.get) == 3


def test_each_ladder_says_where_it_stands():
    assert all(one.source.startswith("https://github.com/") for one in (*LADDERS, *LOCKED))


def test_how_far_off_the_model_is_is_what_the_readme_says():
    found = ratios(LADDERS)
    assert (len(found), len({one.gpu for one in LADDERS})) == (56, 6)
    assert np.median(abs(found - 1)) < 0.08 and found.max() == pytest.approx(2.1, abs=0.05)


def test_at_the_clock_of_its_naive_rung_that_rung_is_predicted_as_it_was_measured():
    found = compare("a6000", ours=lambda one, step, gpu: one.predicted(step, gpu))
    row = found.rows[0]
    assert (row.step, row.published, row.ours) == ("naive", 309, row.prediction)
    assert row.at_clock.gflops == pytest.approx(309, rel=0.01) and row.ratio == row.prediction.gflops / 309
    assert found.error == np.median([abs(row.ratio - 1) for row in found.rows])
    with pytest.raises(ValueError, match="no published ladder of 'L20' is known here; there are those of A6000, RTX"):
        compare("L20")


def test_how_far_off_and_how_often_in_the_wrong_order_is_told():
    one, another = object(), object()
    rungs = [(one, 100, 105), (one, 200, 320), (one, 300, 300), (another, 50, 60)]
    pairs = [(SimpleNamespace(ladder=of, published=seen), SimpleNamespace(gflops=said)) for of, seen, said in rungs]
    assert told("mine", pairs).split() == ["mine", "4", "12.5%", "60%", "1", "of", "3", "50%", "75%"]
