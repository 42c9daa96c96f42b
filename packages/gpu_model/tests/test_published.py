"""The model against ladders that others measured with one set of kernels, whose code was counted."""

import numpy as np
import pytest

from gpu_model import GPUS, LADDERS, gpu

THEIR_CODE = [one for one in LADDERS if one.counted]


def ratios(ladders):
    """The predicted rate of each rung, as a multiple of the measured one."""
    return np.array([one.predicted(step).gflops / rate for one in ladders for step, rate in one.rates.items()])


def test_ladders_are_predicted_from_the_code_that_ran_there():
    off = abs(ratios(THEIR_CODE) - 1)
    assert len(off) == 71 and np.median(off) < 0.08 and off.max() < 0.295


def test_how_far_off_the_model_is_is_what_the_readme_says():
    found = ratios(LADDERS)
    assert (len(found), len({one.gpu for one in LADDERS})) == (108, 10)
    assert np.median(abs(found - 1)) < 0.08 and found.max() == pytest.approx(2.1, abs=0.05)


def test_a_ladder_is_predicted_on_another_gpu_too():
    a6000 = LADDERS[0]
    assert a6000.predicted("tiled").gpu == "A6000"
    half = a6000.predicted("tiled", gpu("A6000", clock=GPUS["A6000"].clock / 2))
    assert half.gflops == pytest.approx(a6000.predicted("tiled").gflops / 2, rel=0.01)


def test_at_the_clock_of_its_naive_rung_that_rung_is_predicted_as_it_was_measured():
    a6000 = LADDERS[0]
    p = a6000.predicted("naive", gpu("A6000", clock=a6000.clock()))
    assert p.gflops == pytest.approx(a6000.rates["naive"], rel=0.01)
