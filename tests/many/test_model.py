"""The model is arithmetic: computing, hops and bytes."""

import pytest

from helpers.many import Network, bytes_moved, predicted_seconds

SLOW = Network("a network", 3.0, 8.0)


def test_one_rank_only_computes():
    assert predicted_seconds(10, 20, 30, 1, flops=100.0, network=SLOW) == (2 * 10 * 20 * 30 / 100, 0)


def test_four_ranks_compute_a_quarter_and_wait_for_hops_and_bytes():
    computing, moving = predicted_seconds(1024, 1024, 1024, 4, flops=1e9, network=SLOW)
    received = 4 * 2 * 512 * 512
    assert bytes_moved(1024, 1024, 1024, 2, 2, 1, 1)[0] == received
    assert computing == pytest.approx(2 * 1024**3 / 4e9)
    assert moving == pytest.approx(2 * 2 * 3.0 + received / 8.0)  # two panels, two hops each
