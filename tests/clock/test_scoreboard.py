"""The scoreboard, its files, and the one command that fills them. (No test here depends on speed.)"""

import dataclasses
import json
import re
import sys
import types

import pytest

from helpers import devices, ladder, opencl_kernel
from helpers.clock import (
    Missing,
    Scoreboard,
    Timing,
    contests,
    limits,
    read_results,
    record,
    recording,
    results,
    scoreboard,
    scoreboards,
    timing,
    write_results,
)
from helpers.clock.contests import ladder_kernels
from helpers.clock.results import prepare, read_file


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """What is tested here is who is timed and what becomes of it, so each is timed briefly."""
    monkeypatch.setattr(sys.modules["helpers.clock.timing"], "LONG_ENOUGH", 0.01)
    monkeypatch.setattr(sys.modules["helpers.clock.timing"], "IDLE_SECONDS", 0.01)


def made(on_host=True, M=8):
    """NumPy 4 s, a library 2 s, our kernel 1 s; in the second round ours is twice as slow."""

    def timed(dialect, step, device, seconds):
        return Timing(dialect, step, M, 8, 8, seconds, 0.0, device, {"TILE": 4})

    return Scoreboard(
        M,
        8,
        8,
        (
            timed("Python", "numpy_matmul", "host", 4.0),
            timed("OpenCL", "CLBlast", "a device", 2.0),
            timed("OpenCL", "tiled", "a device", 1.0),
        ),
        ((4.0, 4.0, 4.0), (2.0, 2.0, 2.0), (1.0, 2.0, 1.0)),
        2 * M * 64 / 0.5,
        "a device",
        on_host,
        (Missing("PyTorch", "Python", "to add it: pip install torch"),),
        "a library",
    )


def test_shares_and_ratios_are_those_of_the_rounds():
    board = made()
    assert board.of_peak(2) == pytest.approx(0.5) and board.of_peak(0) == pytest.approx(0.125)
    assert board.times(2, 0) == (4.0, 2.0, 4.0) and board.times(2, 1) == (2.0, 1.0, 2.0)
    assert board.library(2) == 1 and board.library(0) == 1  # on one CPU they all compete
    on_gpu = made(on_host=False)
    assert on_gpu.of_peak(0) is None and on_gpu.library(0) == 0 and on_gpu.library(2) == 1


def test_the_table_word_by_word():
    board = made()
    lines = [
        "8 x 8 x 8, 3 rounds              time  GFLOP/s  of peak  of NumPy  of the fastest library, if another",
        "NumPy                             4 s      0.0      12%     1.00x  0.50x CLBlast (0.50 to 0.50)",
        "CLBlast (OpenCL)                  2 s      0.0      25%     2.00x",
        "tiled (OpenCL)                    1 s      0.0      50%     4.00x  2.00x CLBlast (1.00 to 2.00)",
        "OpenCL: a device, NumPy: a library",
        "PyTorch                     to add it: pip install torch",
        "CLBlast (OpenCL)            to add it: apt",
    ]
    board = dataclasses.replace(board, missing=(*board.missing, Missing("CLBlast", "OpenCL", "to add it: apt")))
    assert repr(board).splitlines() == lines  # all as narrow as a page in JupyterLab: 110 characters
    # A board of one round has no spread, and one without a peak no share.
    order = [0, 2]
    one = dataclasses.replace(
        board,
        timings=tuple(board.timings[i] for i in order),
        seconds=tuple(board.seconds[i][:1] for i in order),
        device="another",
        on_host=False,
        missing=(),
    )
    assert repr(one).splitlines() == [
        "8 x 8 x 8, 1 round               time  GFLOP/s  of peak  of NumPy  of the fastest library, if another",
        "NumPy                             4 s      0.0        –     1.00x",
        "tiled (OpenCL)                    1 s      0.0        –     4.00x",
        "OpenCL: a device, NumPy: a library",
    ]
    two = dataclasses.replace(board, seconds=tuple(times[:2] for times in board.seconds))
    assert repr(two).splitlines()[0].startswith("8 x 8 x 8, 2 rounds ")
    assert repr(two).splitlines()[3].endswith("  1.50x CLBlast (1.00 to 2.00)")


def test_the_median_round_of_each_contestant_counts(monkeypatch):
    seconds = {"numpy_matmul": iter([5.0, 3.0, 4.0]), "naive (OpenCL)": iter([1.0, 9.0, 2.0])}

    def timed(k, size, *_):
        took = next(seconds[str(k)])
        where = k.device.name if k.device else "host"
        return Timing(k.dialect, k.step or str(k), *size, took, took / 100, where, {})

    monkeypatch.setattr(contests, "measure", timed)
    board = scoreboard(16, ["OpenCL"], ["naive"], libraries=False)
    assert [t.spread for t in board.timings] == [0.04, 0.02]
    assert [t.seconds for t in board.timings] == [4.0, 2.0] and board.seconds == ((5.0, 3.0, 4.0), (1.0, 9.0, 2.0))
    assert board.device == devices.opencl_device().name and board.missing == ()


@pytest.mark.parametrize("kind, on_host, share", [("CPU", True, 5 / 7), ("GPU", False, 5 / 6)])
def test_no_share_of_the_peak_is_above_one_whoever_is_faster_than_the_probe(monkeypatch, kind, on_host, share):
    device = dataclasses.replace(devices.opencl_device(), kind=kind)
    probed = iter([3e9, 6e9])
    rates = {"numpy_matmul": 7e9, "a rung": 5e9}

    def timed(k, size, *_):
        name, where = ("a rung", device.name) if k.device else ("numpy_matmul", "host")
        rate = rates[name]
        return Timing(k.dialect, name, 16, 16, 16, 2 * 16**3 / rate, 0.0, where, {})

    def probe():
        timing.most_seen(device.name, "flop", next(probed))
        timing.most_seen(device.name, "byte", 1e9)

    numpy, k = ladder_kernels(size=16, dialects=["OpenCL"], steps=["tiled"])
    k.device = device
    monkeypatch.setattr(devices, "opencl_device", lambda: device)
    monkeypatch.setattr(timing, "MOST", {})
    monkeypatch.setattr(scoreboards, "wrong_contestants", lambda contestants, M, N, K: [])
    monkeypatch.setattr(limits, "machine_limits", probe)
    monkeypatch.setattr(scoreboards, "ladder_kernels", lambda *_: [numpy, k])
    monkeypatch.setattr(contests, "measure", timed)
    probe()  # 3, at a bad moment; then 6, since 5 or 7 was seen
    board = scoreboard(16, ["OpenCL"], libraries=False)
    assert next(probed, None) is None and board.on_host == on_host
    # NumPy is as fast as 7, and counts where it is the same silicon.
    assert board.of_peak(1) == pytest.approx(share) and board.of_peak(0) == (pytest.approx(1) if on_host else None)
    assert on_host or board.peak == 6e9


def test_a_contestant_that_is_wrong_is_left_out_and_named(monkeypatch):
    wrong = opencl_kernel("naive")
    monkeypatch.setattr(wrong, "upload", lambda A, B, fill: type(wrong).upload(wrong, A, B * 2, fill))
    monkeypatch.setattr(
        scoreboards,
        "ladder_kernels",
        lambda *_: [*ladder_kernels(size=16, dialects=["OpenCL"], steps=["tiled"]), wrong],
    )
    board = scoreboard(16, ["OpenCL"], libraries=False, rounds=1)
    assert [t.step for t in board.timings] == ["numpy_matmul", "tiled"]
    assert board.missing == (Missing("naive (OpenCL)", "OpenCL", "is wrong at 16 x 16 x 16, and was left out"),)


def test_libraries_come_after_numpy_and_their_absence_costs_nothing(monkeypatch):
    monkeypatch.setattr(
        scoreboards,
        "peers",
        lambda dialects: [Missing("PyTorch", "Python", "to add it: pip install torch"), opencl_kernel("coalesced")],
    )
    board = scoreboard(16, ["OpenCL"], ["naive"], rounds=1)
    assert [t.step for t in board.timings] == ["numpy_matmul", "coalesced", "naive"] and board.missing[
        0
    ].name == "PyTorch"


def test_what_is_saved_is_what_is_read_and_a_size_is_replaced(tmp_path):
    wide, tmp_path = dataclasses.replace(made(), M=16, N=4), tmp_path / "of" / "mine"  # which is made
    path = write_results([wide, made(on_host=False, M=16), made()], tmp_path, note="a test")
    [machine] = read_results(tmp_path)
    assert path.parent == tmp_path and machine.about["note"] == "a test" and "python" in machine.about["versions"]
    assert [(b.M, b.N) for b in machine.boards] == [
        (8, 8),
        (16, 4),
        (16, 8),
    ]  # the least work first, then the least rows
    one, _, two = machine.boards
    assert one.seconds == made().seconds[:3] and one.timings[2].seconds == 1.0
    assert (one.on_host, two.on_host) == (True, False) and (one.device, one.blas) == ("a device", "a library")
    assert one.times(2, 1) == made().times(2, 1) and one.of_peak(2) == made().of_peak(2) and one.library(2) == 1
    changed = made()
    object.__setattr__(changed, "seconds", ((4.0,), (2.0,), (5.0, 3.0, 4.0)))
    write_results([changed], tmp_path)
    one, *others = read_results(tmp_path)[0].boards
    assert len(others) == 2 and one.seconds[2] == (5.0, 3.0, 4.0)
    assert one.timings[2].seconds == 4.0  # the median of its rounds


def test_a_file_names_the_device_and_no_machine(tmp_path):
    import getpass
    import platform

    text = write_results([made()], tmp_path, note="a test").read_text()
    stored = json.loads(text)
    assert list(stored) == ["device", "cpu", "date", "system", "drivers", "versions", "note", "boards"]
    assert stored["system"].split()[0] == platform.system() and stored["drivers"] == results.made_now("")["drivers"]
    [board] = stored["boards"]
    assert board["missing"] == ["PyTorch"] and board["made"]["run"] == "" and len(board["contestants"]) == 3
    assert board["contestants"][2] | {"gflops": None} == {
        "dialect": "OpenCL",
        "step": "tiled",
        "device": "a device",
        "parameters": {"TILE": 4},
        "gflops": None,
        "seconds": [1.0, 2.0, 1.0],
    }
    assert board["contestants"][2]["gflops"] == pytest.approx(2 * 8**3 / 1e9)
    assert platform.node() not in text and f"/{getpass.getuser()}" not in text and str(tmp_path) not in text
    assert json.loads(text)["device"] in {d.name for d in (devices.cuda_device(), devices.opencl_device())}


NO_RECORD = {  # what is in its place: (what is written, what is said)
    "nothing": ("", "JSONDecodeError"),
    "no boards": ("{}", "KeyError"),
    "no list of seconds": ((r'"seconds": \[[^]]*\]', '"seconds": {"a": 1}'), "TypeError"),
    "no size": ((r'"M": 8', '"M": "a"'), "is no size"),
}


@pytest.mark.parametrize("what", NO_RECORD)
def test_a_file_that_is_no_record_is_named(tmp_path, what):
    path, (instead, said) = write_results([made()], tmp_path), NO_RECORD[what]
    path.write_text(instead if isinstance(instead, str) else re.sub(*instead, path.read_text()))
    with pytest.raises(ValueError, match=rf"^{path.name} is no record of a scoreboard.*{said}"):
        read_results(tmp_path)


def test_every_record_in_the_repository_can_be_read_and_says_what_it_needs():
    machines = {machine.device: machine for machine in read_results()}
    for machine in machines.values():
        assert machine.date >= "2026" and machine.about["drivers"] and machine.about["versions"]["numpy"]
        for board in machine.boards:
            assert len({len(s) for s in board.seconds}) == 1 and all(t.seconds > 0 for t in board.timings)
    older = machines["AMD EPYC"]  # of version 1.0
    assert {then["date"] for then in older.made} == {older.date}


def test_the_plans_name_rungs_and_sizes_that_there_are():
    for kind, plan in recording.PLANS.items():
        assert plan["tuned"][0] == "register_2d" and all(kind in ladder.STEPS[n].defaults for n in plan["tuned"])
        steps = {str(size): tuple(names) for size, names in plan["sizes"]}  # all at small sizes, few at large ones
        assert steps["512"] == ladder.rungs() and list(steps.values())[-1] == tuple(plan["tuned"])
    sizes = [size for size, _ in recording.PLANS["GPU"]["sizes"]]
    assert {512, 8192, 4095, 4096} <= set(sizes)


def test_another_dialect_at_the_same_size_is_kept_beside():
    def of(dialect):
        board = made()
        timings = (board.timings[0], Timing(dialect, "tiled", 8, 8, 8, 1.0, 0.0, "a device", {}))
        return Scoreboard(8, 8, 8, timings, ((4.0,), (1.0,)), 1.0, "a device", True)

    assert results.key(of("CUDA")) != results.key(of("OpenCL")) == results.key(made())


def test_older_boards_and_words_keep_their_own_date(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "strftime", lambda form: "2026-01-01")
    monkeypatch.setattr(results, "versions", lambda: {"numpy": "1"})
    write_results([made()], tmp_path, checked={"tiled (OpenCL)": True})
    monkeypatch.setattr(results, "strftime", lambda form: "2026-02-02")
    monkeypatch.setattr(results, "versions", lambda: {"numpy": "2"})
    write_results([made(M=16)], tmp_path, "a run")
    [machine] = read_results(tmp_path)
    assert machine.date == "2026-02-02" and machine.about["checked"] == {"tiled (OpenCL)": True}
    assert [(then["date"], then["versions"]["numpy"], then["run"]) for then in machine.made] == [
        ("2026-01-01", "1", ""),
        ("2026-02-02", "2", "a run"),
    ]


def device(dialect, kind, name, driver="a driver"):
    return devices.Device(dialect, name, kind, driver, 1024, 49152, None)


@pytest.mark.parametrize(
    "found, cpu, name",
    [
        ([("OpenCL", "CPU", "AMD EPYC")], "AMD EPYC, family 26, 2 cores", "AMD-EPYC-family-26-2-cores"),
        ([("OpenCL", "CPU", "AMD EPYC")], "Intel(R) 6338, 2 cores", "AMD-EPYC-Intel-R-6338-2-cores"),
        ([("CUDA", "GPU", "NVIDIA H200#1"), ("OpenCL", "CPU", "AMD EPYC")], "any", "NVIDIA-H200-1"),
    ],
)
def test_a_file_is_called_after_the_gpu_or_after_the_cpu_and_its_cores(found, cpu, name, tmp_path, monkeypatch):
    monkeypatch.setattr(devices, "cpu_model", lambda: cpu)
    monkeypatch.setattr(results, "used_devices", lambda: [device(*one) for one in found])
    assert write_results([made()], tmp_path).name == f"{name}.json"
    [machine] = read_results(tmp_path)
    assert machine.about["cpu"] == cpu and repr(machine).startswith(cpu if "family" in cpu else found[0][2])


@pytest.mark.parametrize("other", [("PTX machine", "another"), ("CPU", "another", "Oclgrind 21.10")])
def test_the_ptx_machine_and_oclgrind_are_named_before_anything_is_measured(tmp_path, monkeypatch, other):
    monkeypatch.setattr(devices, "cuda_device", lambda: device("CUDA", "PTX machine", "the PTX machine"))
    monkeypatch.setattr(devices, "opencl_device", lambda *_: device("OpenCL", *other))
    monkeypatch.setattr(recording, "check", lambda *_: pytest.fail("it measured"))
    for act in (lambda: write_results([made()], tmp_path / "new"), lambda: record(tmp_path / "new")):
        with pytest.raises(ValueError, match=r"CUDA runs on the PTX machine and OpenCL on Oclgrind, so .* doctor"):
            act()
    assert not (tmp_path / "new").exists()


def test_a_damaged_file_is_named_before_anything_is_measured_and_stays(tmp_path):
    path = write_results([made()], tmp_path)
    path.write_text(damaged := path.read_text()[:99])
    for act in (lambda: prepare(tmp_path), lambda: write_results([made(M=16)], tmp_path)):
        with pytest.raises(ValueError, match=rf"{path.name} is no record of a scoreboard .*another ending"):
            act()
    assert path.read_text() == damaged


def test_one_command_tunes_measures_and_writes(tmp_path, monkeypatch):
    """With the kernels, the search and the clock that are here, and a plan of seconds."""
    tiny = dict(tuned=["tiled"], tuning_size=32, ragged=[], sizes=[(16, ["naive", "tiled"])])
    monkeypatch.setattr(recording, "PLANS", dict.fromkeys(("CPU", "GPU"), tiny))
    monkeypatch.setattr(recording, "TUNING_SECONDS", 1)
    monkeypatch.setattr(recording, "check", lambda k, shapes=None: f"✓ {k}")
    said = []
    machine = read_file(record(tmp_path / "results", say=lambda what: said.append(str(what))))
    assert {t.step for t in machine.boards[0].timings} >= {"numpy_matmul", "naive", "tiled"}
    assert any("points tried" in text for text in said) and said[-1].startswith("saved: ")


@pytest.fixture
def played(monkeypatch):
    """Recording with no clock: `played(cuda, opencl)` sets the kinds of device. Yields what was done, in order."""
    done = []

    def play(cuda, opencl):
        found = {"CUDA": device("CUDA", cuda, "NVIDIA H200"), "OpenCL": device("OpenCL", opencl, "AMD EPYC")}
        table = {}
        for name, one in found.items():
            table[name] = types.SimpleNamespace(
                source_of=recording.dialect_called(name).source_of,
                device=lambda step, asked, one=one: one,
                build=lambda step, name=name: (step, name),
            )
        monkeypatch.setattr(recording, "dialect_called", table.__getitem__)
        monkeypatch.setattr(devices, "cuda_device", lambda: found["CUDA"])
        monkeypatch.setattr(devices, "opencl_device", lambda *_: found["OpenCL"])
        monkeypatch.setattr(recording, "check", lambda k, shapes=None: done.append(("check", *k, shapes)) or True)
        monkeypatch.setattr(recording, "tune", tuned)
        monkeypatch.setattr(recording, "ladder_kernels", lambda *asked: asked)
        monkeypatch.setattr(recording, "peers", lambda dialects: [])
        monkeypatch.setattr(recording, "scoreboard_of", measured)
        return done

    def tuned(name, dialect, size, seconds):
        done.append(("tune", name, dialect, size))
        best = {"BK": 8} if name == "register_2d" else {}
        return types.SimpleNamespace(interrupted=False, best=best, default={})

    def measured(kernels, found, size):
        _, _, dialects, steps, parameters = kernels
        done.append(("measure", size, tuple(dialects), tuple(steps)))
        assert set(parameters) == {row[1:3] for row in done if row[:2] == ("tune", "register_2d")}
        M, N, K = recording.sizes(size)
        timings = [Timing("Python", "numpy_matmul", M, N, K, 1.0, 0.0, "host", {})]
        timings += [Timing(d, "tiled", M, N, K, 1.0, 0.0, "a device", {}) for d in dialects]
        return Scoreboard(M, N, K, tuple(timings), ((1.0,),) * len(timings), 1.0, "a device", True)

    return play


@pytest.mark.parametrize(
    "cuda, opencl, groups",
    [
        ("PTX machine", "CPU (PoCL)", {("OpenCL",): "CPU"}),
        ("GPU", "GPU", {("CUDA", "OpenCL"): "GPU"}),
        ("GPU", "CPU", {("CUDA",): "GPU", ("OpenCL",): "CPU"}),
    ],
)
def test_each_dialect_gets_the_plan_of_its_own_device(played, tmp_path, cuda, opencl, groups):
    done = played(cuda, opencl)
    path = record(tmp_path / "results", say=lambda what: None)
    for dialects, kind in groups.items():
        plan = recording.PLANS[kind]
        measured = [size for what, size, of, _ in (row for row in done if row[0] == "measure") if of == dialects]
        assert measured == [size for size, _ in plan["sizes"]]
        for one in dialects:
            tuned = [row for row in done if row[0] == "tune" and row[2] == one]
            assert {row[3] for row in tuned} == {plan["tuning_size"]}
            assert {row[1] for row in tuned} == {n for n in plan["tuned"] if one in ladder.STEPS[n].dialects}
            assert [row[3] for row in done if row[:3] == ("check", "tiled", one)] == [None, plan["ragged"]]
    assert {row[2] for row in done if row[0] == "measure"} == set(groups)
    assert len(read_file(path).boards) == sum(len(recording.PLANS[kind]["sizes"]) for kind in groups.values())
    packed = [row[3] for row in done if row[0] == "measure" and row[1] == 512 and "OpenCL" in row[2]]
    assert all(("packed" in steps) == (opencl != "GPU") for steps in packed)


def test_a_step_that_is_wrong_is_said_and_left_out(played, tmp_path, monkeypatch):
    done, said = played("GPU", "GPU"), []
    monkeypatch.setattr(recording, "check", lambda k, shapes=None: k != ("register_2d", "OpenCL") or not shapes)
    checked = read_file(record(tmp_path, say=said.append)).about["checked"]
    assert False in said and [name for name, right in checked.items() if not right] == ["register_2d (OpenCL)"]
    assert all("register_2d" not in steps for what, _, _, steps in done if what == "measure")
    assert ("tune", "register_2d", "OpenCL", 4096) not in done and ("tune", "register_2d", "CUDA", 4096) in done


def test_record_goes_on_where_it_was_interrupted(played, tmp_path, monkeypatch):
    done = played("PTX machine", "CPU")
    measured, said = recording.scoreboard_of, []

    def interrupted_at_the_third(*arguments, **options):
        if sum(row[0] == "measure" for row in done) == 2:
            raise KeyboardInterrupt
        return measured(*arguments, **options)

    monkeypatch.setattr(recording, "scoreboard_of", interrupted_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        record(tmp_path, say=lambda what: None)
    monkeypatch.setattr(recording, "scoreboard_of", measured)
    record(tmp_path, say=lambda what: said.append(str(what)))
    sizes = [row[1] for row in done if row[0] == "measure"]
    assert sizes == [size for size, _ in recording.PLANS["CPU"]["sizes"]], "each size once"
    assert [text.split(" is in ")[0] for text in said if "is not measured again" in text] == [
        "128 x 128 x 128 (OpenCL)",
        "256 x 256 x 256 (OpenCL)",
    ]
    done.clear()
    monkeypatch.setattr(results, "versions", lambda: {"numpy": "another"})
    record(tmp_path, say=lambda what: None)
    assert len([row for row in done if row[0] == "measure"]) == len(sizes), "other versions are measured again"


def test_record_ends_where_its_search_is_interrupted(played, tmp_path, monkeypatch):
    done = played("PTX machine", "CPU")
    found = types.SimpleNamespace(interrupted=True)
    monkeypatch.setattr(recording, "tune", lambda *_, **__: found)
    said = []
    with pytest.raises(KeyboardInterrupt):
        record(tmp_path, say=said.append)
    assert said[-1] is found and not [row for row in done if row[0] == "measure"]


def test_without_an_opencl_device_a_board_has_no_peak(monkeypatch):
    def none():
        raise devices.DeviceError("no OpenCL device can run a kernel")

    kernels = ladder_kernels(size=16, dialects=["OpenCL"], steps=["tiled"])
    monkeypatch.setattr(devices, "opencl_device", none)
    monkeypatch.setattr(scoreboards, "ladder_kernels", lambda *_: kernels)
    board = scoreboard(16, ["OpenCL"], libraries=False, rounds=2)
    assert board.peak == 0 and board.of_peak(0) is None and "16 x 16 x 16, 2 rounds" in repr(board)
    assert board.timings[1].seconds == pytest.approx(sum(board.seconds[1]) / 2)  # the median of two
