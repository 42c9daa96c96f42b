"""The model is arithmetic: computing, hops and bytes. So is what a run says of its ranks."""

import pytest

from summa import Network, Run, bytes_moved, model, predicted_seconds

SLOW = Network("a network", 3.0, 8.0)


def test_one_rank_only_computes_and_four_compute_a_quarter_and_wait_for_hops_and_bytes():
    assert predicted_seconds(10, 20, 30, 1, flops=100.0, network=SLOW) == (2 * 10 * 20 * 30 / 100, 0)
    computing, moving = predicted_seconds(1024, 1024, 1024, 4, flops=1e9, network=SLOW)
    received = 4 * 2 * 512 * 512
    assert bytes_moved(1024, 1024, 1024, 2, 2, 1, 1)[0] == received
    assert computing == pytest.approx(2 * 1024**3 / 4e9)
    assert moving == pytest.approx(2 * 2 * 3.0 + received / 8.0)  # two panels, two hops each


def test_hops_are_whole_in_each_direction_and_every_rank_owns_a_panel():
    _, moving = predicted_seconds(52, 52, 52, 25, flops=1e9, network=SLOW)
    received = 4 * 2 * (11 * 52 - 11 * 11)  # of the last rank, whose part is one of the largest
    assert moving == pytest.approx(5 * (3 + 3) * 3.0 + received / 8.0)  # five panels, three hops along a row of five


def test_a_panel_ends_where_the_part_of_a_row_or_of_a_column_does():
    _, moving = predicted_seconds(50, 50, 12, 6, flops=1e9, network=SLOW)  # 2 x 3 ranks: at 4 and 8 in A, at 6 in B
    received, _ = bytes_moved(50, 50, 12, 2, 3, 1, 2)
    assert moving == pytest.approx(4 * (1 + 2) * 3.0 + received / 8.0)


def test_a_network_is_what_a_short_message_takes_and_a_long_one_more(monkeypatch):
    table = "# Size [B]  Bandwidth [MB/s] | Time Mean [s] ± StdDev [s]  Samples\n"
    table += "         1   0.00 | 2.0e+00 ± 1.2e-05  10\n        16   0.00 | 7.0e+00 ± 1.2e-05  10\n"
    asked = []
    monkeypatch.setattr(model, "LONG", 16)
    monkeypatch.setattr(model, "mpirun", lambda *command: asked.append(command) or table)
    assert model.this_machine() == Network("this machine", 2.0, 16 / 5.0)
    assert asked == [(2, "-m", "mpi4py.bench", "pingpong", "--max-size", "16", "--loop", "1000")]


def test_a_run_takes_as_long_as_its_slowest_rank():
    assert Run(None, (1, 1, 1), (1, 3), [{"seconds": 1.0}, {"seconds": 3.0}, {"seconds": 2.0}]).seconds == 3.0
