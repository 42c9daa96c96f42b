"""The search for parameters, and what came of it."""

import dataclasses
import random
import time
import types

import pytest

from helpers import devices, ladder, opencl_kernel, tune
from helpers.clock import Comparison, Timing, timing
from helpers.clock.timing import ROUNDS, search
from helpers.launch import dialect
from helpers.launch.dialects import Dialect

DEFAULT = ladder.STEPS["tiled"].defaults_for(devices.opencl_device())


@pytest.fixture(autouse=True)
def few_tiles(monkeypatch):
    """A search of `tiled` tries these sizes only, and the default."""
    few = dataclasses.replace(ladder.STEPS["tiled"], space={"TILE": (4, 8)})
    monkeypatch.setitem(ladder.STEPS, "tiled", few)


@pytest.fixture
def rounds(monkeypatch):
    """Set how the fastest point fares against the defaults, with no clock; the last ratio is that of further rounds.

    The smaller its tiles, the faster is a point.
    """

    def set_ratios(*ratios):
        def compared(first, second, size):
            t = [
                Timing("OpenCL", "tiled", *size, seconds, 0.0, "a device", k.parameters)
                for k, seconds in ((first, 1.0), (second, 2.0))
            ]
            return Comparison(*t, (*ratios, *ratios[-1:] * (ROUNDS - len(ratios))))

        monkeypatch.setattr(timing, "compare", compared)
        by_tile = lambda k, *_, **__: types.SimpleNamespace(gflops=100 - k.parameters["TILE"])  # noqa: E731
        monkeypatch.setattr(timing, "measure", by_tile)

    return set_ratios


def plant(monkeypatch, sums):
    """Let the sum of the kernel `tiled` begin with these lines."""
    right = dialect("OpenCL").source_of("tiled")
    planted = right.replace("float acc = 0.0f;", sums)
    assert planted != right
    monkeypatch.setattr(Dialect, "source_of", lambda self, name: planted)


def neighbours(p, q):
    """Whether two points differ in one parameter."""
    return sum(p[name] != q[name] for name in p) == 1


def test_the_defaults_come_first_and_every_second_point_is_a_neighbour_of_the_best():
    points, best = [{"a": a, "b": b} for a in range(6) for b in range(6)], {"a": 4, "b": 2}
    random.seed(2)  # an order in which the best comes while neighbours of it are left
    tried = search(points, lambda p: 2.0 if p == best else 1.0, time.perf_counter() + 1e9)
    came = [p for p, _ in tried]
    assert came[0] == points[0] and sorted(map(str, came)) == sorted(map(str, points))
    after = came.index(best) + 1
    left = [p for p in came[after:] if neighbours(p, best)]
    odd, even = (came[after + (after + turn) % 2 :: 2] for turn in (1, 0))
    assert len(left) >= 4 and all(neighbours(p, best) for p in odd[: len(left) // 2])
    assert not all(neighbours(p, best) for p in even[:4])  # any point


@pytest.mark.parametrize("seconds, count", [(1e9, 36), (20, 20), (0, 1)])
def test_a_search_goes_on_until_the_time_is_over(monkeypatch, seconds, count):
    seen = []
    monkeypatch.setattr(timing, "time", types.SimpleNamespace(perf_counter=lambda: len(seen)))  # a second a point
    assert len(search([{"a": a} for a in range(36)], lambda p: seen.append(p) or 1.0, seconds)) == count


def test_a_point_that_fails_has_no_rate_and_an_interruption_ends_the_search():
    found = iter([1.0, RuntimeError("too much"), 3.0, KeyboardInterrupt()])

    def rate(p):
        if isinstance(outcome := next(found), BaseException):
            raise outcome
        return outcome

    tried = search([{"TILE": n} for n in range(8)], rate, time.perf_counter() + 1e9)
    assert [rate for _, rate in tried] == [1.0, 0.0, 3.0] and timing.fastest_of(tried) == tried[2][0]


def test_a_search_finds_the_winner_and_a_kernel_takes_what_was_found(rounds):
    rounds(1.5, 1.2, 1.35)
    found = tune("Tiled", size=48, seconds=30)
    assert found.tried[0][0] == DEFAULT and len(found.tried) == found.legal == 3
    assert found.best == {"TILE": 4} and repr(found).splitlines()[1:] == [
        f"  defaults  {ladder.spell(DEFAULT)}",
        "  fastest   TILE=4",
        "  in turns  the first 0.000221 GFLOP/s, the second 0.000111: 1.35 times as fast (rounds: 1.20 to 1.50): ahead",
    ]
    assert opencl_kernel("tiled", **found.best).parameters == found.best


def test_what_was_not_ahead_in_every_round_is_not_taken(rounds):
    rounds(1.9, 0.99, 1.9)
    found = tune("tiled", size=48, seconds=30)
    assert found.best == DEFAULT and "fastest   TILE=4" in repr(found) and repr(found).endswith(": undecided")


def test_defaults_that_are_the_fastest_stay_without_a_second_contest(rounds, monkeypatch):
    rounds(1.5)
    monkeypatch.setattr(timing, "compare", lambda *_: pytest.fail("compared with themselves"))
    found = tune("tiled", size=48, seconds=0)
    assert found.best == DEFAULT and len(found.tried) == 1 and found.comparison is None


def test_a_point_that_is_wrong_or_does_not_build_is_never_the_best(rounds, monkeypatch):
    rounds(1.5)
    # With tiles of 8, one element of C is wrong, and there is no kernel at all with tiles of 4.
    plant(monkeypatch, "float acc = TILE == 8 && row == 1 && col == 2;\n#if TILE == 4\n    no such thing;\n#endif")
    found = tune("tiled", size=(40, 33, 17), seconds=30)
    assert sorted(rate for _, rate in found.tried)[:2] == [0, 0] and found.best == DEFAULT


def test_defaults_that_are_wrong_end_the_search_in_an_error(rounds, monkeypatch):
    rounds(1.5)
    plant(monkeypatch, "float acc = 1.0f;")
    with pytest.raises(ValueError, match=r"tiled \(OpenCL\) is wrong with TILE="):
        tune("tiled", size=48)


def test_the_defaults_and_their_values_are_in_each_space(monkeypatch):
    """So a neighbour of the defaults, too, can be tried."""
    given = []
    monkeypatch.setattr(timing, "search", lambda points, rate, until: given.extend(points) or [(points[0], 1.0)])
    found = tune("register_2d", size=64)
    assert found.legal == len(given) == len(set(map(str, given)))
    beside = [p for p in given if neighbours(p, given[0])]
    assert "BK" in {name for p in beside for name in p if p[name] != given[0][name]}


def test_what_has_no_speed_is_refused(no_spirv):
    with pytest.raises(ValueError, match="not timed, on the PTX machine: tiled"):
        tune("tiled", "CUDA")
