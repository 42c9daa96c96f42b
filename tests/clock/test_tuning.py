"""The search for parameters, and what came of it."""

import dataclasses
import functools
import os
import random
import sys
import time
import types
from concurrent.futures import ThreadPoolExecutor

import pyopencl as cl
import pytest

from helpers import devices, ladder, opencl_kernel, tune
from helpers.clock import Comparison, Timing, tuning
from helpers.clock.contests import ROUNDS, ladder_kernels
from helpers.clock.tuning import rates, search
from helpers.launch import dialect
from helpers.launch.dialects import Dialect

DEVICE = devices.opencl_device()
TILED = ladder.STEPS["tiled"]
SMALL = dict(size=48, seconds=30)


def try_only(monkeypatch, *tiles):
    """Let a search of `tiled` try these sizes only, and the default."""
    monkeypatch.setitem(ladder.STEPS, "tiled", dataclasses.replace(TILED, space={"TILE": tiles}))


@pytest.fixture(autouse=True)
def few_tiles(monkeypatch):
    try_only(monkeypatch, 4, 8)


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

        monkeypatch.setattr(tuning, "compare", compared)
        by_tile = lambda k, *_, **__: types.SimpleNamespace(gflops=100 - k.parameters["TILE"])  # noqa: E731
        monkeypatch.setattr(tuning, "measure", by_tile)

    return set_ratios


def searched(points, rate, seconds=1e9):
    """What `search` tried, and whether it was interrupted."""
    return search(points, rate, time.perf_counter() + seconds, lambda tried: None)


def neighbours(p, q):
    """Whether two points differ in one parameter."""
    return sum(p[name] != q[name] for name in p) == 1


def test_every_point_comes_once_and_every_second_one_is_a_neighbour_of_the_best():
    points, best = [{"a": a, "b": b} for a in range(6) for b in range(6)], {"a": 4, "b": 2}
    random.seed(2)  # an order in which the best comes while neighbours of it are left
    tried, interrupted = searched(points, lambda p: 2.0 if p == best else 1.0)
    came = [p for p, *_ in tried]
    assert not interrupted and sorted(map(str, came)) == sorted(map(str, points))
    after, left = came.index(best) + 1, [p for p in points[1:] if neighbours(p, best)]
    odd = [i for i in range(after, len(came)) if i % 2 and came[i] != points[0]]
    left = [p for p in left if came.index(p) >= after]
    assert len(left) >= 4 and sum(neighbours(came[i], best) for i in odd[: len(left)]) >= len(left) - 2
    even = [came[i] for i in range(after, len(came)) if i % 2 == 0]  # while neighbours are left, any point
    assert not all(neighbours(p, best) for p in even[:4])


@pytest.mark.parametrize("seconds, place, count", [(1e9, 17, 36), (20, 10, 20), (0, 0, 1)])
def test_the_defaults_come_when_half_of_the_points_or_of_the_time_is_behind(seconds, place, count, monkeypatch):
    points, seen = [{"a": a} for a in range(36)], []
    monkeypatch.setattr(tuning, "time", types.SimpleNamespace(perf_counter=lambda: len(seen)))  # a second a point
    tried, _ = search(points, lambda p: 1.0, seconds, seen.append)
    assert [p for p, *_ in tried].index(points[0]) == place and len(tried) == count


def test_a_landscape_has_the_best_rate_of_all_points_at_a_place():
    tried = [
        ({"a": 1, "b": b, "c": c}, rate, "") for b, c, rate in ((2, 1, 5.0), (2, 2, 7.0), (2, 3, 6.0), (3, 1, None))
    ]
    found = tuning.Tuning("tiled", "OpenCL", (8, 8, 8), {}, {}, tried=tuple(tried), legal=4, seconds=1.0)
    assert found.landscape("b", "a") == {(2, 1): 7.0, (3, 1): 0}


def test_points_that_failed_are_told_with_the_first_reason():
    """Beside the rest; one that failed without a word, too."""
    tried = (({"TILE": 4}, None, ""), ({"TILE": 8}, 2.0, ""), ({"TILE": 2}, None, "too large"))
    found = tuning.Tuning(
        "tiled", "OpenCL", (7, 8, 9), {"TILE": 4}, {"TILE": 4}, tried=tried, legal=5, seconds=1.6, interrupted=True
    )
    assert repr(found).splitlines() == [
        "tiled (OpenCL), 7 x 8 x 9: 3 of 5 points tried in 2 s, 2 failed, interrupted",
        "  failed    first with TILE=4: no reason was given",
        "  defaults  TILE=4",
        "  fastest   TILE=8",
        "  It was not compared with the defaults, so these stay.",
    ]
    none_ran = dataclasses.replace(found, tried=tried[:1:-1], interrupted=False)
    assert repr(none_ran).splitlines()[1] == "  failed    first with TILE=2: too large"
    assert repr(none_ran).endswith("\n  No point ran and was right. Nothing was found.")


def test_where_no_point_is_right_nothing_is_found(monkeypatch):
    right = dialect("OpenCL").source_of("tiled")
    monkeypatch.setattr(Dialect, "source_of", lambda self, name: right.replace("acc = 0.0f", "acc = 1.0f"))
    found = tune("tiled", **SMALL)
    assert {why for *_, why in found.tried} == {"wrong numbers"} and found.best == found.default


def test_a_search_finds_the_winner_and_a_kernel_takes_what_was_found(rounds):
    rounds(1.5, 1.2, 1.35)
    found = tune("tiled", **SMALL)
    assert TILED.defaults_for(DEVICE) == found.default and len(found.tried) == found.legal == 3
    assert all(rate > 0 and why == "" for _, rate, why in found.tried)
    assert found.best == {"TILE": 4} and repr(found).splitlines()[1:] == [
        f"  defaults  {ladder.spell(found.default)}",
        "  fastest   TILE=4",
        "  in turns  0.000221 against 0.000111 GFLOP/s, 1.35 times as fast (rounds: 1.20 to 1.50)",
        "  It was ahead in every round.",
    ]
    assert opencl_kernel("tiled", **found.best).parameters == found.best
    assert opencl_kernel("tiled").parameters == TILED.defaults_for(DEVICE)
    _, k = ladder_kernels(None, 16, ["OpenCL"], ["tiled"], {("tiled", "OpenCL"): found.best})
    assert k.parameters == found.best


def test_what_was_not_ahead_in_every_round_is_not_taken(rounds):
    rounds(1.9, 0.99, 1.9)
    found = tune("tiled", **SMALL)
    assert found.best == TILED.defaults_for(DEVICE)
    assert "fastest   TILE=4" in repr(found) and "It was undecided: the defaults stay." in repr(found)


def test_a_point_that_is_wrong_or_does_not_build_is_never_the_best(monkeypatch):
    right = dialect("OpenCL").source_of("tiled")
    # With tiles of 8, one element of C is wrong, and there is no kernel at all with tiles of 16.
    sums = "float acc = TILE == 8 && row == 1 && col == 2;\n#if TILE == 16\n    no such thing;\n#endif"
    planted = right.replace("float acc = 0.0f;", sums)
    assert planted != right
    monkeypatch.setattr(Dialect, "source_of", lambda self, name: planted)
    rate = rates(functools.partial(opencl_kernel, "tiled"), (40, 33, 17), "float32")
    tried, interrupted = searched([{"TILE": n} for n in (4, 8, 16)], rate)
    outcome = {p["TILE"]: (rate, why) for p, rate, why in tried}
    assert not interrupted and outcome[4][0] > 0 and outcome[8] == (None, "wrong numbers")
    assert outcome[16][0] is None and outcome[16][1] not in ("", "wrong numbers")
    assert tuning.fastest_of(tried) == {"TILE": 4}


def test_a_point_that_failed_is_never_the_best_so_far(monkeypatch):
    monkeypatch.setattr(tuning, "random", types.SimpleNamespace(sample=lambda points, count: list(points)))
    points, found = [{"a": a, "b": b} for a in range(4) for b in range(4)], iter([None, 0.5, None])
    tried, _ = searched(points, lambda p: next(found, None))
    assert [tuple(p.values()) for p, *_ in tried[:4]] == [(0, 1), (0, 2), (0, 3), (1, 2)]  # beside (0, 2)


def test_what_came_of_each_point_is_noted():
    points, seen = [{"TILE": n} for n in range(3)], []

    def rate(p):
        if p == points[0]:
            return 3.0
        raise RuntimeError(" too much\nof\nit ")

    tried, interrupted = search(points, rate, time.perf_counter() + 1e9, lambda tried: seen.append(len(tried)))
    outcome = {p["TILE"]: entry for p, *entry in tried}
    assert outcome == {0: [3.0, ""], 1: [None, "too much"], 2: [None, "too much"]}
    assert seen == [1, 2, 3] and interrupted is False


def test_an_interruption_ends_the_search_with_what_was_tried():
    found = iter([3.0])
    tried, interrupted = searched([{"TILE": n} for n in range(8)], lambda p: next(found, None) or stop())
    assert [rate for _, rate, _ in tried] == [3.0] and interrupted is True


def stop():
    raise KeyboardInterrupt


@pytest.mark.parametrize("won", [True, False])
def test_an_interruption_leaves_the_fastest_so_far_if_it_wins(won, monkeypatch, rounds):
    rounds(1.5 if won else 0.5)

    class Interrupting(Bar):
        def update(self, done, note):
            if note.startswith("| 3 "):
                stop()

    monkeypatch.setattr(tuning, "ProgressBar", Interrupting)
    try_only(monkeypatch, 2, 4, 8, 16)
    found = tune("tiled", size=48, seconds=60)
    assert found.interrupted and len(found.tried) == 3 and ", interrupted" in repr(found)
    fastest = {"TILE": min(p["TILE"] for p, *_ in found.tried)}
    assert found.best == (fastest if won else found.default)


class Bar:
    """A bar that notes what it is told."""

    def __init__(self, *what, **how):
        self.seen = SEEN
        SEEN[:] = [(what, how)]

    def update(self, done, note):
        self.seen.append((done, note))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


SEEN = []


def test_the_bar_counts_the_seconds_of_the_budget_and_says_what_was_found(rounds, monkeypatch):
    rounds(1.0)

    def search(points, rate, until, each):
        assert until == 107.0 and points == [{"TILE": 32}, {"TILE": 4}, {"TILE": 8}]  # seven tenths of the budget
        each([({"TILE": 4}, None, "why")])
        each([({"TILE": 4}, None, "why"), ({"TILE": 8}, 31.26, "")])
        return [({"TILE": 8}, 31.26, "")], False

    monkeypatch.setattr(tuning, "ProgressBar", Bar)
    clock = types.SimpleNamespace(perf_counter=lambda: 100.0, sleep=lambda seconds: None)
    monkeypatch.setattr(tuning, "time", clock)
    monkeypatch.setattr(tuning, "search", search)
    found = tune("tiled", size=48, seconds=10)
    assert found.tried == (({"TILE": 8}, 31.26, ""),)
    assert [
        (("tuning tiled", 10), dict(patience=0)),
        (0.0, "| 1 points, best 0 GFLOP/s"),
        (0.0, "| 2 points, best 31.3 GFLOP/s"),
    ] == SEEN


def test_the_defaults_and_their_values_are_in_each_space(monkeypatch):
    """So a neighbour of the defaults, too, can be tried."""
    given = []
    monkeypatch.setattr(tuning, "search", lambda points, *_: (given.extend(points), ([], False))[1])
    found = tune("register_2d", size=64)
    assert given[0] == found.default and found.legal == len(given) == len(set(map(str, given)))
    beside = [p for p in given if neighbours(p, given[0])]
    assert "BK" in {name for p in beside for name in p if p[name] != given[0][name]}


def test_bad_input_is_named_before_anything_runs(monkeypatch):
    monkeypatch.setattr(tuning, "search", lambda *_: pytest.fail("it searched"))
    with pytest.raises(ValueError, match="packed is not written in CUDA"):
        tune("packed", "CUDA")


def test_the_ptx_machine_has_no_speed_to_tune_for(no_spirv):
    with pytest.raises(ValueError, match="not timed, on the PTX machine: tiled"):
        tune("tiled", "CUDA")


def test_an_interrupt_in_the_second_contest_is_an_interrupt(rounds, monkeypatch):
    rounds(1.5)
    monkeypatch.setattr(tuning, "compare", lambda *_: stop())
    found = tune("tiled", **SMALL)
    assert found.interrupted and found.best == TILED.defaults_for(DEVICE)
    assert "It was not compared with the defaults, so these stay." in repr(found)


def test_defaults_that_are_the_fastest_stay_without_a_second_contest(rounds, monkeypatch):
    rounds(1.5)
    monkeypatch.setattr(tuning, "compare", lambda *_: pytest.fail("compared with themselves"))
    try_only(monkeypatch, 64)
    found = tune("tiled", size=48)
    assert found.best == found.default and repr(found).endswith("\n  fastest   the defaults. They stay.")


def test_a_search_in_a_thread_leaves_the_process_its_folder_and_its_output(rounds, monkeypatch, tmp_path, capsys):
    rounds(1.5)
    right = dialect("OpenCL").source_of("tiled")
    planted = right.replace("float acc = 0.0f;", "float acc = 0.0f;\n#if TILE == 8\n    no such thing;\n#endif")
    monkeypatch.setattr(Dialect, "source_of", lambda self, name: planted)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    seen, before = set(), (os.getcwd(), sys.stdout)
    build = cl.Program.build

    def noted_build(*arguments, **named):
        seen.add((os.getcwd(), sys.stdout))
        return build(*arguments, **named)

    monkeypatch.setattr(cl.Program, "build", noted_build)
    with ThreadPoolExecutor(1) as threads:
        found = threads.submit(tune, "tiled", **SMALL).result()
    assert seen == {before} and (os.getcwd(), sys.stdout) == before
    assert [p["TILE"] for p, rate, _ in found.tried if rate is None] == [8] and os.listdir() == []
    assert capsys.readouterr().out == ""
