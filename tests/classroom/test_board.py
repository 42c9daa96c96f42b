"""Entries and the board: who is ranked, who is refused and by which name, and that machines are never mixed."""

import json
import math
import re
import time
import types

import pytest

from helpers import cuda_kernel, opencl_kernel
from helpers.__main__ import main
from helpers.classroom import NotEntered, board, enter, entries
from helpers.classroom.entries import ANSWER, lines_of, operands, run_again, seal, wrong_with
from helpers.classroom.ranking_chart import board_chart
from helpers.judge import Report
from helpers.judge.examine import shapes_for

COALESCED = opencl_kernel("coalesced").source
OWN = COALESCED.replace("float acc = 0.0f;", "float acc = 0.0f;  int unused_{};")
LOOP = "acc += A[row * K + k] * B[k * N + col];"
# A kernel that is wrong in a way of its own: (what is replaced, by what, the kind of the verdict).
CHEATS = {
    "wrong": (LOOP, LOOP.replace("+=", "+= 1.001f *"), "wrong"),
    "NaN": ("float acc = 0.0f;", "float acc = 0.0f / 0.0f;", "wrong|part|error|uninit|K is|not a number|NaN"),
    "cached": ("float acc = 0.0f;", "if (C[row * N + col] == C[row * N + col]) return; float acc = 0.0f;", "cached"),
    "padded only": ("if (row >= M || col >= N) return;", "", "out of bounds"),
    "one shape only": ("for (int k = 0; k < K; k++)", "for (int k = 0; k < min(K, 32); k++)", "K is cut"),
}


def cheat(name):
    old, new, _ = CHEATS[name]
    assert old in COALESCED, old
    return COALESCED.replace(old, new)


def built(source):
    return opencl_kernel(source, like="coalesced", BM=4, BN=8)


def entry(name, machine="Some-CPU-2-cores", of_numpy=0.5, source=None, **changes):
    """An entry as `enter` writes it, made up but for its source and its answer."""
    source = source or OWN.replace("{}", "".join(filter(str.isalnum, name)))
    A, B = operands()
    row = {"shape": [1024] * 3, "gflops": 100.0 * of_numpy, "of_numpy": of_numpy, "of_rung": 1.0}
    said = {
        "name": name,
        "machine": machine,
        "date": "2026-11-20",
        "versions": {},
        "dialect": "OpenCL",
        "like": "coalesced",
        "parameters": {"BM": 4, "BN": 8},
        "source": source,
        "lines": lines_of(source, "OpenCL"),
        "loads_per_flop": 1.0,
        "answer": [float(x) for x in (A @ B)[0]],
        "times": {"square": row, "thin": row | {"of_numpy": 1 / of_numpy}, "peak_gflops": 400.0},
    }
    said |= changes
    return said | {"seal": seal(said)}


def put(folder, *made):
    for number, one in enumerate(made):
        (folder / f"entry-{number:02}.json").write_text(json.dumps(one))


def test_thirty_entries_are_ranked_in_a_second(tmp_path):
    put(tmp_path, *(entry(f"student {n:02}", f"CPU-{n % 3}", 0.1 + n / 50) for n in range(30)))
    start = time.process_time()
    found = board(tmp_path)
    seconds = time.process_time() - start
    assert not found.refused and sorted(map(len, found.machines.values())) == [10, 10, 10]
    assert seconds < 5, "a second on a quiet machine"  # of computing; five times that is no matter of load
    for machine, ranked in found.machines.items():
        assert {e["machine"] for e in ranked} == {machine}
        rates = [e["times"]["square"]["of_numpy"] for e in ranked]
        assert rates == sorted(rates, reverse=True)


def test_prizes_are_for_a_machine_where_the_clock_decides(tmp_path):
    lean = COALESCED.replace("const int row", "const int row").replace("float acc = 0.0f;", "float acc = 0.f;")
    put(
        tmp_path,
        entry("ada", "CPU-1", 0.9),
        entry("bob", "CPU-1", 0.2),
        entry("cyd", "CPU-2", 0.4, loads_per_flop=0.03),
        entry("dan", "simulator", source=lean, times={}, loads_per_flop=None),
    )
    prizes = board(tmp_path).prizes()
    assert prizes == {
        "fastest on CPU-1": "ada",
        "best at thin matrices on CPU-1": "bob",
        "fastest on CPU-2": "cyd",
        "best at thin matrices on CPU-2": "cyd",
        "fewest lines": prizes["fewest lines"],
        "fewest loads per flop": "cyd",
    }
    text = str(board(tmp_path))
    assert text.index("ada") < text.index("bob") and "simulator" in text


NAN_ROW = {"shape": [1024] * 3, "gflops": math.nan, "of_numpy": math.nan, "of_rung": 1.0}
FORGED = {
    "edited": {**entry("eve"), "name": "Eve"},
    "no number": entry("eve", times={"square": NAN_ROW, "thin": NAN_ROW, "peak_gflops": 400.0}),
    "no number: its answer": entry("eve", answer=[math.nan] * ANSWER[1]),
    "faster than its machine": entry("eve", of_numpy=50.0),
    "not your own": entry("eve", source=COALESCED + "\n// mine\n"),
    "miscounted": entry("eve", lines=1),
    "timed in a simulator": entry("eve", "simulator"),
    "no entry: there is no": entry("eve", like="magic"),
    "no entry: its field": entry("eve", answer="42"),
    "no entry: its times": entry("eve", times={"square": 3}),
    "no entry: it is": ["eve"],
}


@pytest.mark.parametrize("why", FORGED)
def test_a_forged_entry_is_refused_by_name(tmp_path, why):
    put(tmp_path, entry("ada"), FORGED[why])
    found = board(tmp_path)
    assert [e["name"] for [e] in found.machines.values()] == ["ada"]
    assert found.refused["entry-01.json"].startswith(why) and why in str(found)


def test_a_copy_and_a_broken_file_are_refused(tmp_path):
    put(tmp_path, entry("ada"), entry("eve", source=entry("ada")["source"] + "// and a comment"))
    (tmp_path / "entry-99.json").write_text("{")
    (tmp_path / "entry-98.json").write_text("x" * 1_000_001)
    assert board(tmp_path).refused == {
        "entry-01.json": "copied: its source is that of ada",
        "entry-98.json": "too large: an entry is a few kB",
        "entry-99.json": "not readable: it is not JSON",
    }


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_does_not_enter_and_is_refused_when_it_is_run_again(tmp_path, name):
    kind = CHEATS[name][2]
    with pytest.raises(NotEntered, match=kind):
        enter(built(cheat(name)), "Eve", tmp_path)
    assert not list(tmp_path.iterdir())
    assert re.match(kind, run_again(entry("eve", source=cheat(name))))


def test_an_entry_whose_source_gives_another_answer_is_refused(tmp_path):
    right = entry("ada")
    put(tmp_path, right, entry("eve", answer=[x + 0.01 for x in right["answer"]]))
    assert len(board(tmp_path).refused) == 0
    assert board(tmp_path, again=True).refused == {
        "entry-01.json": "another answer: its source does not give the answer that it claims"
    }


def test_a_source_that_attacks_costs_its_own_row(tmp_path, monkeypatch):
    monkeypatch.setattr(entries, "SECONDS", 3)
    endless = "from numba import cuda\n\nwhile True:\n    pass\n\n\n@cuda.jit\ndef k(A, B, C):\n    pass\n"
    put(tmp_path, entry("eve", source=endless, dialect="CUDA", times={}, machine="simulator", lines=6))
    [why] = board(tmp_path, again=True).refused.values()
    assert why.startswith("hang")


def test_only_a_kernel_of_ones_own_enters(tmp_path):
    for wrong, error, said in (
        (opencl_kernel("naive"), NotEntered, "is the course's own"),
        (lambda A, B: A @ B, TypeError, "is no built kernel"),
    ):
        with pytest.raises(error, match=said):
            enter(wrong, "Ada", tmp_path)
    with pytest.raises(NotEntered, match="no letter"):
        enter(built(COALESCED), "!?", tmp_path)
    with pytest.raises(OSError, match="nowhere"):
        enter(built(COALESCED), "Ada", tmp_path / "nowhere")
    assert not list(tmp_path.iterdir())


def test_a_right_kernel_enters_and_is_on_the_board(tmp_path, monkeypatch, capsys):
    """In OpenCL with times, as small as they can be, in CUDA's simulator without; each judged again."""
    monkeypatch.setattr(entries, "SIZES", {"square": (64, 64, 64), "thin": (64, 4, 64)})
    monkeypatch.setattr(entries, "ROUNDS", 1)
    monkeypatch.setattr(entries, "COUNTED", 8)
    enter(built(COALESCED.replace("acc += ", "acc = acc + ")), "Ada L.", tmp_path)
    own = cuda_kernel("coalesced").source.replace("acc += ", "acc = acc + ")
    enter(cuda_kernel(own, like="coalesced", BM=2, BN=2), "Bob", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["entry-ada-l.json", "entry-bob.json"]
    monkeypatch.setattr("sys.argv", ["helpers", "board", str(tmp_path), "--again", "--chart", str(tmp_path / "b.png")])
    main()
    text = capsys.readouterr().out
    assert "Ada L." in text and "Bob" in text and "refused" not in text
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")


def test_the_times_of_an_entry_are_the_medians_of_what_each_round_says(monkeypatch):
    def timed(seconds):
        return types.SimpleNamespace(seconds=seconds, gflops=12 / seconds)

    rounds = [list(map(timed, row)) for row in ((4.0, 2.0, 1.0), (9.0, 3.0, 3.0), (10.0, 8.0, 5.0))]  # NumPy, rung, own
    peaks = iter([5e11, 4e11])
    monkeypatch.setattr(entries, "contest", lambda kernels, shape, many: rounds)
    monkeypatch.setattr(entries, "machine_limits", lambda: types.SimpleNamespace(flops_per_s=next(peaks)))
    found = entries.times_of(built(OWN.replace("{}", "")))
    said = {"gflops": 4.0, "of_numpy": 3.0, "of_rung": 1.6}
    assert found["square"] == said | {"shape": (1024, 1024, 1024)} and found["peak_gflops"] == 500.0
    assert found["thin"] == said | {"shape": (2048, 16, 2048)}


def test_an_entry_is_checked_at_shapes_drawn_anew(monkeypatch):
    seen, k = [], built(OWN.replace("{}", ""))
    right = Report("a kernel", (), 1)
    monkeypatch.setattr(entries, "check", lambda k, shapes: seen.append(list(map(tuple, shapes))) or right)
    assert wrong_with(k) is None and wrong_with(k) is None
    suits = shapes_for(k)
    assert [shapes[: len(suits)] for shapes in seen] == [suits] * 2 and seen[0] != seen[1]
    assert [len(shapes) - len(suits) for shapes in seen] == [6, 6]


def test_a_multiply_add_is_two_flop(monkeypatch):
    monkeypatch.setattr(entries, "traffic", lambda k, M, N, K: types.SimpleNamespace(global_loads=3 * M * N * K))
    assert entries.loads_per_flop(built(COALESCED)) == 1.5


def test_the_chart_has_a_panel_a_machine_and_a_bar_an_entry(tmp_path):
    put(tmp_path, entry("ada", "CPU-1", 0.9), entry("bob", "CPU-2", 0.2), entry("cyd", "CPU-2", 0.4))
    picture = board_chart(board(tmp_path))
    assert "on CPU-1: ada 0.90; on CPU-2: cyd 0.40, bob 0.20" in picture.text
    with pytest.raises(ValueError, match="no bar to draw"):
        board_chart(board(tmp_path / "..", again=False).__class__({}, {}))


def test_a_folder_without_entries_says_what_writes_one(tmp_path):
    assert "enter(kernel, name)" in str(board(tmp_path))
    with pytest.raises(FileNotFoundError, match="is no folder"):
        board(tmp_path / "nowhere")


def test_the_guard_against_caching_lets_a_right_kernel_pass():
    assert wrong_with(built(COALESCED)) is None
