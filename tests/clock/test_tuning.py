"""The search for parameters, and the cache that keeps what it found."""

import dataclasses
import errno
import os
import random
import sys
import types
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyopencl as cl
import pytest

from helpers import cuda_kernel, devices, files, forget_tuned, ladder, measure_ladder, opencl_kernel, tune
from helpers.clock import Comparison, Timing, tuning
from helpers.clock.contests import ROUNDS
from helpers.clock.kernel_tuner import search_with_kernel_tuner, spanned
from helpers.clock.search import LAUNCHES, go_through, order, search_with_a_loop
from helpers.launch import DIALECTS, KernelError, kept
from helpers.launch.resolve import Dialect

search = sys.modules["helpers.clock.search"]
DEVICE = devices.opencl_device()
TILED = ladder.STEPS["tiled"]
SMALL = dict(size=48, seconds=30, space={"TILE": (4, 8)})


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("HELPERS_CACHE", str(tmp_path))
    kept.ignored.cache_clear()
    return tmp_path


@pytest.fixture
def rounds(monkeypatch):
    """Set how the finalists fare against the defaults, with no clock; the last ratio is that of all further rounds."""

    def set_ratios(*ratios):
        def compared(first, second, size):
            t = [
                Timing("OpenCL", "tiled", *size, seconds, 0.0, "a device", k.parameters)
                for k, seconds in ((first, 1.0), (second, 2.0))
            ]
            return Comparison(*t, (*ratios, *ratios[-1:] * (ROUNDS - len(ratios))))

        monkeypatch.setattr(tuning, "compare", compared)

    return set_ratios


def test_every_point_comes_once_the_defaults_first_and_neighbours_of_the_best_by_turns():
    legal = ladder.points(ladder.STEPS["register_1d"], DEVICE)
    default, best = legal[5], legal[40]
    random.seed(5)  # an order in which the best still has neighbours left
    tried, turns = [], []
    random.seed(1)  # in some orders all of the best point's neighbours come before it
    for p in order(legal, default, tried):
        turns.append(len(tried) % 2 and sum(p[name] != best[name] for name in p) == 1)
        tried.append((p, 2.0 if p == best else 1.0, ""))
    points = [p for p, *_ in tried]
    assert points[0] == default and sorted(map(str, points)) == sorted(map(str, legal))
    after = points.index(best) + 1
    neighbours = [p for p in legal if sum(p[name] != best[name] for name in p) == 1]
    odd = [points[i] for i in range(after, len(points)) if i % 2]
    left = [p for p in neighbours if points.index(p) >= after]
    assert all(p in neighbours for p in odd[: len([p for p in odd if p in left])]) and any(turns[after:])
    even = [points[i] for i in range(after, len(points)) if i % 2 == 0]  # while neighbours are left, any point
    assert not all(p in neighbours for p in even[: max(1, len(left) // 2)])


def test_a_landscape_has_the_best_rate_of_all_points_at_a_place():
    tried = [
        ({"a": 1, "b": b, "c": c}, rate, "") for b, c, rate in ((2, 1, 5.0), (2, 2, 7.0), (2, 3, 6.0), (3, 1, None))
    ]
    found = tuning.Tuning("tiled", "OpenCL", (8, 8, 8), {}, tried=tuple(tried), legal=4, seconds=1.0)
    assert found.landscape("b", "a") == {(2, 1): 7.0, (3, 1): 0}


def test_a_point_that_failed_without_a_word_is_told():
    tried = (({"TILE": 4}, None, ""), ({"TILE": 8}, 2.0, ""))
    found = tuning.Tuning(
        "tiled", "OpenCL", (7, 8, 9), {"TILE": 4}, tried=tried, legal=5, seconds=1.6, interrupted=True
    )
    assert repr(found).splitlines() == [
        "tiled (OpenCL), 7 x 8 x 9: 2 of 5 points tried in 2 s, 1 failed, interrupted",
        "  failed    first with TILE=4: no reason was given",
        "  defaults  TILE=4",
        "  Nothing was ahead of the defaults in every round. They stay.",
    ]


def test_a_search_keeps_the_winner_and_only_the_word_tuned_takes_it(rounds):
    rounds(1.5, 1.2, 1.35)
    found = tune("tiled", **SMALL)
    assert found.tried[0][0] == TILED.defaults_for(DEVICE) and len(found.tried) == found.legal == 3
    assert all(rate > 0 and why == "" for _, rate, why in found.tried)
    assert found.best["TILE"] in (4, 8) and "in turns" in repr(found) and "1.35 times (1.20 to 1.50)" in repr(found)
    assert opencl_kernel("tiled", parameters="tuned").parameters == found.best
    assert opencl_kernel("tiled").parameters == TILED.defaults_for(DEVICE)
    assert opencl_kernel("tiled", parameters="tuned", TILE=16).parameters == {"TILE": 16}
    rows = measure_ladder(size=16, dialects=["OpenCL"], steps=["tiled", "naive"], parameters="tuned")
    assert rows[1].parameters == found.best and rows[2].parameters == ladder.STEPS["naive"].defaults_for(DEVICE)


@pytest.mark.parametrize("ratios", [(1.9, 0.99, 1.9), (1.04, 1.03)])
def test_what_was_not_ahead_in_every_round_by_more_than_equal_kernels_are_is_not_kept(rounds, ratios):
    rounds(*ratios)
    found = tune("tiled", **SMALL)
    assert found.best == TILED.defaults_for(DEVICE)
    assert "Nothing was ahead of the defaults in every round" in repr(found)
    assert opencl_kernel("tiled", parameters="tuned").parameters == TILED.defaults_for(DEVICE)


def test_the_second_call_is_answered_from_the_cache_until_asked_to_search_again(rounds, monkeypatch):
    rounds(1.5)
    first = tune("tiled", **SMALL)
    monkeypatch.setitem(tuning.SEARCHES, "OpenCL", lambda *_: pytest.fail("it searched"))
    second = tune("tiled", size=48)
    assert second.best == first.best and second.tried == () and "searched on 20" in repr(second)
    for again in (dict(size=48, again=True), dict(size=49), dict(size=48, space={"TILE": (4,)})):
        with pytest.raises(pytest.fail.Exception, match="it searched"):
            tune("tiled", **again)


@pytest.mark.parametrize("search", [search_with_kernel_tuner, search_with_a_loop])
def test_a_point_that_is_wrong_or_does_not_build_is_never_the_best(search, monkeypatch):
    right = DIALECTS["OpenCL"].source_of("tiled")
    # With tiles of 8, one element of C is wrong, and there is no kernel at all with tiles of 16.
    sums = "float acc = TILE == 8 && row == 1 && col == 2;\n#if TILE == 16\n    no such thing;\n#endif"
    planted = right.replace("float acc = 0.0f;", sums)
    assert planted != right
    monkeypatch.setattr(Dialect, "source_of", lambda self, name: planted)
    legal = [{"TILE": n} for n in (4, 8, 16)]
    task = tuning.Task(TILED, "OpenCL", DEVICE, (40, 33, 17), legal[0], legal)
    tried, interrupted = search(task, float("inf"), lambda tried: None)
    outcome = {p["TILE"]: (rate, why) for p, rate, why in tried}
    assert not interrupted and outcome[4][0] > 0 and outcome[8] == (None, "wrong numbers")
    assert outcome[16][0] is None and outcome[16][1] not in ("", "wrong numbers")


def test_a_point_that_failed_is_never_the_best_so_far(monkeypatch):
    monkeypatch.setattr(search, "random", types.SimpleNamespace(shuffle=lambda points: None))
    legal, tried, rates = [{"a": a, "b": b} for a in range(3) for b in range(3)], [], iter([None, 0.5, None])
    for p in order(legal, legal[0], tried):
        tried.append((p, next(rates, None), ""))
    assert [tuple(p.values()) for p, *_ in tried[:4]] == [(0, 0), (0, 1), (0, 2), (1, 1)]  # beside (0, 1)
    assert sorted(map(str, order(legal, legal[0], []))) == sorted(map(str, legal))


def test_what_came_of_each_point_is_noted_until_the_time_is_over(monkeypatch):
    legal, clock, seen = [{"TILE": n} for n in range(8)], iter([9.0, 10.0, 10.5]), []
    monkeypatch.setattr(search, "time", types.SimpleNamespace(perf_counter=lambda: next(clock)))

    def attempt(p):
        if p == legal[2]:
            return 3.0, ""
        raise RuntimeError(" too much\nof\nit ")

    tried, interrupted = go_through(legal, legal[2], attempt, 10.0, lambda tried: seen.append(len(tried)))
    assert tried[0] == (legal[2], 3.0, "") and [entry[1:] for entry in tried[1:]] == [(None, "too much")] * 2
    assert seen == [1, 2, 3] and interrupted is False


def test_an_interruption_ends_the_search_with_what_was_tried():
    legal, rates = [{"TILE": n} for n in range(8)], iter([3.0])
    tried, interrupted = go_through(
        legal, legal[2], lambda p: (next(rates, None) or stop(), ""), float("inf"), lambda tried: None
    )
    assert tried == [(legal[2], 3.0, "")] and interrupted is True


def stop():
    raise KeyboardInterrupt


@pytest.mark.parametrize("kind, together", [("GPU", 50), ("CPU", 1)])
def test_the_loop_times_a_gpus_launches_in_batches(kind, together, monkeypatch):
    seen, given = [], []

    class Work:
        """Each launch takes a millisecond, by the device's own clock; every third a little less."""

        def launch(self):
            return self.timed(1)

        def timed(self, launches):
            seen.append(launches)
            return 0.001 if len(seen) % 3 else 0.000995

        def download(self):
            return "C"

    kernel = types.SimpleNamespace(upload=lambda *operands: given.append(operands) or Work())
    monkeypatch.setattr(tuning.Task, "build", lambda self, p: {4: kernel}[p["TILE"]])
    monkeypatch.setattr(search, "wrong_for", lambda A, B, _: given.append((A, B)) or (lambda C: np.array(C != "C")))
    device = dataclasses.replace(DEVICE, kind=kind)
    task = tuning.Task(TILED, "CUDA", device, (50, 200, 100), {"TILE": 4}, [{"TILE": 4}])
    [(_, rate, why)], _ = search_with_a_loop(task, float("inf"), lambda tried: None)
    assert seen[-LAUNCHES:] == [together] * LAUNCHES and (rate, why) == (pytest.approx(2.0), "")
    assert [X.shape for X in given[0]] == [(50, 100), (100, 200)] and given == [given[0]] * 2


@pytest.mark.parametrize("search", [search_with_kernel_tuner, search_with_a_loop])
@pytest.mark.parametrize("won", [True, False])
def test_an_interruption_keeps_the_best_so_far_if_it_wins(search, won, monkeypatch, rounds):
    rounds(1.5 if won else 0.5)
    monkeypatch.setitem(tuning.SEARCHES, "OpenCL", search)

    class Interrupting:
        def update(self, done, note):
            if note.startswith("| 3 "):
                raise KeyboardInterrupt

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(tuning, "ProgressBar", lambda *_, **__: Interrupting())
    monkeypatch.setattr(np, "median", lambda times, real=np.median: real(times) * random.random())
    found = tune("tiled", size=48, seconds=60, space={"TILE": (2, 4, 8, 16)})
    assert found.interrupted and len(found.tried) == 3 and ", interrupted" in repr(found)
    rates = {str(p): rate for p, rate, _ in found.tried if p != found.tried[0][0]}
    assert found.best == found.tried[0][0] if not won else rates[str(found.best)] == max(rates.values())
    assert opencl_kernel("tiled", parameters="tuned").parameters == found.best


def test_the_bar_counts_the_seconds_of_the_budget_and_says_what_was_found(monkeypatch):
    seen = []

    class Bar:
        def __init__(self, *what, **how):
            seen.append((what, how))

        def update(self, done, note):
            seen.append((done, note))

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    def search(task, until, each):
        assert until == 107.0  # seven tenths of the budget
        each([({"TILE": 4}, None, "why")])
        each([({"TILE": 4}, None, "why"), ({"TILE": 8}, 31.26, "")])
        return ["found"], False

    monkeypatch.setattr(tuning, "ProgressBar", Bar)
    monkeypatch.setattr(tuning, "time", types.SimpleNamespace(perf_counter=lambda: 103.0))
    monkeypatch.setitem(tuning.SEARCHES, "OpenCL", search)
    task = tuning.Task(TILED, "OpenCL", DEVICE, (8, 8, 8), {"TILE": 4}, [])
    assert tuning.search(task, 100.0, 10) == (["found"], False)
    assert seen == [
        (("tuning tiled", 10), dict(patience=0)),
        (3.0, "| 1 points, best 0 GFLOP/s"),
        (3.0, "| 2 points, best 31.3 GFLOP/s"),
    ]


def test_the_budget_ends_the_search():
    found = tune("register_2d", size=32, seconds=1e-6)
    assert len(found.tried) == 1 and found.legal > 100


def test_it_prints_nothing_and_leaves_nothing_behind(rounds, capsys, tmp_path, monkeypatch):
    rounds(1.1)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    tune("tiled", **SMALL)
    assert capsys.readouterr().out == "" and os.listdir() == []


@pytest.mark.parametrize(
    "arguments, says",
    [
        (
            dict(step="tiled", space={"TILE": (512, 1024)}),
            "no point of this space can run here. The first of them: tiled with TILE=512 needs a "
            "block of 512 x 512 = 262144 threads; .* allows",
        ),
        (
            dict(step="register_2d", space=dict(BM=(10,), BN=(8,), BK=(4,), TM=(4,), TN=(4,))),
            "TM=4 must divide BM=10",
        ),
        (
            dict(step="tiled", space={"BM": (4,)}),
            "a space for tiled names TILE, each with its values; this one names BM",
        ),
        (dict(step="tiled", space={"TILE": ()}), "is empty"),
        (dict(step="tiled", space={"TILE": 8}), "a list of whole numbers, 1 or more, for each parameter; TILE has 8"),
        (dict(step="tiled", space={"TILE": (8.5, 16)}), "TILE has"),
        (dict(step="tiled", seconds="10"), "seconds='10' does not do; give a number above 0"),
        (dict(step="tiled", seconds=0), "seconds=0 does not do"),
        (dict(step="tilde"), "unknown step 'tilde'"),
        (dict(step="packed", dialect="CUDA"), "packed is written in OpenCL only"),
        (dict(step="tiled", dialect="HIP"), "no dialect 'HIP'"),
        (dict(step="tiled", size=0), "each size must be 1 or more"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_bad_input_is_named_before_anything_runs(arguments, says, monkeypatch):
    monkeypatch.setitem(tuning.SEARCHES, "OpenCL", lambda *_: pytest.fail("it searched"))
    with pytest.raises(ValueError, match=says):
        tune(**arguments)


@pytest.mark.skipif(devices.cuda_device().kind == "GPU", reason="this machine has a GPU, and no simulator")
def test_the_simulator_has_no_speed_to_tune_for():
    with pytest.raises(ValueError, match="in the simulator there is no speed to tune for"):
        tune("tiled", "CUDA")
    assert cuda_kernel("tiled", parameters="tuned").parameters == TILED.defaults["simulator"]


def test_a_missing_kernel_tuner_is_said_with_the_remedy(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "kernel_tuner", None)
    with pytest.raises(KernelError, match="pip install kernel_tuner"):
        tune("tiled", **SMALL)


def test_the_way_back():
    for name in ("tiled", "naive"):
        rung = ladder.STEPS[name]
        kept.remember(rung, DEVICE, DIALECTS["OpenCL"].source_of(name), dict.fromkeys(rung.space, 4), (48, 48, 48))
    assert forget_tuned("tiled") == 1 and opencl_kernel("tiled", parameters="tuned").parameters == TILED.defaults_for(
        DEVICE
    )
    assert opencl_kernel("naive", parameters="tuned").parameters == {"BM": 4, "BN": 4}
    assert forget_tuned() == 1 and forget_tuned() == 0
    with pytest.raises(ValueError, match="unknown step 'registr'"):
        forget_tuned("registr")


@pytest.mark.parametrize("build", [opencl_kernel, cuda_kernel])
def test_another_word_than_tuned_is_refused(build):
    with pytest.raises(ValueError, match='the only word here is "tuned"'):
        build("tiled", parameters="best")


def test_the_first_reason_is_told_where_points_fail(rounds, monkeypatch):
    right = DIALECTS["OpenCL"].source_of("tiled")
    monkeypatch.setattr(Dialect, "source_of", lambda self, name: right.replace("tiled(", "other("))
    found = tune("tiled", **SMALL)
    assert len(found.tried) == 3 and "3 of 3 points tried" in repr(found) and ", 3 failed" in repr(found)
    default = ladder.spell(TILED.defaults_for(DEVICE))
    assert f"failed    first with {default}: 'tiled' was not found" in repr(found)
    assert "No point ran and was right" in repr(found) and "Nothing beat the defaults" not in repr(found)
    assert kept.read(kept.path_of(TILED, DEVICE)) == {}, "defaults that failed are nothing to keep"


def test_a_point_that_fails_is_told_beside_a_winner(rounds, monkeypatch):
    rounds(1.5)
    search = tuning.SEARCHES["OpenCL"]

    def with_a_failure(task, until, each):
        tried, interrupted = search(task, until, each)
        return [*tried, ({"TILE": 64}, None, "too large for this driver")], interrupted

    monkeypatch.setitem(tuning.SEARCHES, "OpenCL", with_a_failure)
    said = repr(tune("tiled", **SMALL))
    assert ", 1 failed" in said and "first with TILE=64: too large for this driver" in said and "in turns" in said


def test_an_interrupt_while_the_finalists_compete_is_an_interrupt(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(tuning, "compare", interrupted)
    found = tune("tiled", **SMALL)
    assert found.interrupted and found.best == TILED.defaults_for(DEVICE)


@pytest.mark.parametrize("problem", ["full", "no folder"])
def test_what_was_found_is_told_where_it_cannot_be_kept(problem, rounds, monkeypatch, own_cache):
    rounds(1.5)
    tuning.warn_once.cache_clear()
    if problem == "full":

        def no_room(_):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(files.os, "fsync", no_room)
    else:
        (own_cache / "file").write_text("")
        monkeypatch.setenv("HELPERS_CACHE", str(own_cache / "file" / "cache"))
    with pytest.warns(UserWarning, match="what was found is not kept: ") as said:
        found = [tune("tiled", **SMALL) for _ in range(2)]
    assert sum("not kept" in str(warning.message) for warning in said) == 1
    for one in found:
        assert one.best["TILE"] in (4, 8) and "in turns" in repr(one) and "\n  not kept: " in repr(one)
    assert not list(own_cache.glob("*.part")) and not list(own_cache.glob("tuned*"))
    assert opencl_kernel("tiled", parameters="tuned").parameters == TILED.defaults_for(DEVICE)


def test_a_search_in_a_thread_leaves_the_process_its_folder_and_its_output(rounds, monkeypatch, tmp_path):
    rounds(1.5)
    right = DIALECTS["OpenCL"].source_of("tiled")
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


def test_kernel_tuner_has_room_for_every_point():
    """It tries no more points than its space has."""
    from kernel_tuner.searchspace import Searchspace

    for step in ladder.steps("OpenCL"):
        rung = ladder.STEPS[step]
        legal = ladder.points(rung, devices.opencl_device(None, tuple(rung.defaults)))
        found = Searchspace(spanned(legal), [], 1)
        assert {tuple(p.values()) for p in legal} <= {point[:-2] for point in found.list}
        assert found.param_names == [*legal[0], "block_size_x", "block_size_y"]
