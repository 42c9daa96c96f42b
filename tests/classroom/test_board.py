"""Entries and the board: who enters, who is ranked with whom, where the order is undecided, and who is refused."""

import json
import math
import os
import types

import numpy as np
import pytest

from helpers import cuda_kernel, opencl_kernel
from helpers.__main__ import main
from helpers.classroom import NotEntered, board, contest, enter
from helpers.classroom.contest import COUNTS, file_for, shown
from helpers.clock import results
from helpers.clock.contests import ROUNDS, verdict_on
from helpers.judge import Report
from helpers.launch import KernelError

COALESCED = opencl_kernel("coalesced").source
SUM = "float acc = 0.0f;"
LOOP = "acc += A[row * K + k] * B[k * N + col];"
OWN = COALESCED.replace(LOOP, LOOP.replace("+=", "= acc +"))


def built(source, **sizes):
    return opencl_kernel(source, like="coalesced", **(sizes or dict(BM=4, BN=8)))


def entry(name, *ratios, **changes):
    """An entry as `enter` writes it: with one ratio, nine rounds of it."""
    counted = dict.fromkeys(COUNTS, 1000)
    said = {
        "name": name,
        "machine": "Some-CPU-2-cores",
        "date": "2026-11-20 08:00:00",
        "dialect": "OpenCL",
        "like": "coalesced",
        "source": OWN,
        "parameters": {"BM": 4, "BN": 8},
        "counts": counted,
        "rung_counts": counted,
        "ratios": [float(ratio) for ratio in np.linspace(ratios[0], ratios[-1], ROUNDS)] if ratios else [],
    }
    return said | changes


def put(folder, *made):
    for number, one in enumerate(made):
        (folder / f"entry-{number:02}.json").write_text(json.dumps(one))


def places(folder):
    """{name: its place} as the board prints it."""
    found = {}
    for line in str(board(folder)).splitlines():
        place, _, rest = line.partition("  ")
        if place[:1].isdigit() or place == "not timed":
            found[rest.split()[0]] = place
    return found


def test_the_order_is_undecided_where_ranges_meet(tmp_path):
    """eve's range meets cyd's and dan's, which do not meet."""
    put(tmp_path, entry("ada", 2.0, 2.2), entry("bob", 0.5), entry("cyd", 1.3, 1.5), entry("dan", 1.0, 1.1))
    assert places(tmp_path) == {"ada": "1", "cyd": "2", "dan": "3", "bob": "4"}
    (tmp_path / "entry-eve.json").write_text(json.dumps(entry("eve", 1.05, 1.35)))
    (tmp_path / "entry-fay.json").write_text(json.dumps(entry("fay")))
    assert places(tmp_path) == {
        "ada": "1",
        "cyd": "2 to 3, undecided",
        "eve": "2 to 4, undecided",
        "dan": "3 to 4, undecided",
        "bob": "5",
        "fay": "not timed",
    }


def test_kernels_that_differ_in_nothing_share_their_places(tmp_path):
    """As four did whose winner was another in each of three rounds."""
    rng = np.random.default_rng(1)
    noise = [[float(ratio) for ratio in rng.normal(1.0, 0.05, ROUNDS)] for _ in range(4)]
    put(tmp_path, *(entry(name, ratios=ratios) for name, ratios in zip("abcd", noise, strict=True)))
    assert set(places(tmp_path).values()) == {"1 to 4, undecided"}
    assert str(board(tmp_path)).count("undecided") == 8  # beside the rung, too


def test_only_what_came_from_one_rung_on_one_machine_is_ranked_together(tmp_path):
    put(
        tmp_path,
        entry("ada", 2.0, counts=dict(global_loads=7, shared_loads=1234567)),
        entry("bob", 1.0, machine="CPU-2"),
        entry("cyd", 9.0, like="naive"),
        entry("dan", 1.5, dialect="CUDA", counts={}, rung_counts={}),
        entry("eve", 0.8),
    )
    tables = str(board(tmp_path)).split("\n\n")
    assert [table.split("\n")[0] for table in tables] == [
        "CPU-2, beside coalesced (OpenCL), 1024 x 1024 x 1024",
        "Some-CPU-2-cores, beside coalesced (CUDA), 1024 x 1024 x 1024",
        "Some-CPU-2-cores, beside coalesced (OpenCL), 1024 x 1024 x 1024",
        "Some-CPU-2-cores, beside naive (OpenCL), 1024 x 1024 x 1024",
    ]
    words = tables[2].split("\n")[2].split()
    assert words[:7] == ["1", "ada", "2.00", "2.00", "to", "2.00", "ahead"]
    assert words[7:] == ["7", "(rung", "1,000)", "1,234,567", "(rung", "1,000)"]
    assert "behind" in tables[2].split("\n")[3] and "not counted" in tables[1]
    assert set(places(tmp_path).values()) == {"1", "2"}


@pytest.mark.parametrize(
    "ratios, said",
    [([1.06] * 9, "ahead"), ([1.06] * 8, "undecided"), ([1.06] * 8 + [1.04], "undecided"), ([0.9] * 9, "behind")],
)
def test_faster_is_said_by_one_rule(ratios, said):
    assert verdict_on(ratios) == said


NO_ENTRY = "no entry: it is not as enter writes it"
FORGED = {
    "no number": (entry("eve", ratios=[math.nan] * ROUNDS), NO_ENTRY),
    "without bounds": (entry("eve", ratios=[math.inf] * ROUNDS), NO_ENTRY),
    "a number beyond all bounds": (entry("eve", ratios=[10**400] * ROUNDS), NO_ENTRY),
    "negative": (entry("eve", -1.0), NO_ENTRY),
    "one round": (entry("eve", ratios=[9.0]), NO_ENTRY),
    "a field too few": ({"name": "eve"}, NO_ENTRY),
    "a list": (["eve"], NO_ENTRY),
    "a name of two lines": (entry("Ada\n 1  Eve", 1.0), NO_ENTRY),
    "a name that cannot be seen": (entry("\u200b", 1.0), NO_ENTRY),
    "no name": (entry(7, 1.0), NO_ENTRY),
    "counts that are none": (entry("eve", 1.0, counts={"global_loads": 1}), NO_ENTRY),
    "counts that are texts": (entry("eve", 1.0, counts=dict.fromkeys(COUNTS, "1")), NO_ENTRY),
    "too large": (entry("eve", 1.0, source="x" * 1_000_000), "not readable: a file of 1 MB: an entry is a few kB"),
}


@pytest.mark.parametrize("why", FORGED)
def test_what_is_no_entry_is_refused_by_name(tmp_path, why):
    forged, said = FORGED[why]
    put(tmp_path, entry("ada", 1.0), forged)
    found = board(tmp_path)
    assert [one.name for one in found.entries] == ["ada"] and found.refused == {"entry-01.json": said}
    assert f"refused: entry-01.json: {said}" in str(found)


@pytest.mark.parametrize("text", ["{", "[" * 100_000, "\0", '{"name": "\\ud800"}'])
def test_a_broken_file_is_refused(tmp_path, text):
    (tmp_path / "entry-x.json").write_text(text)
    [why] = board(tmp_path).refused.values()
    assert why.startswith(("not readable: it is not JSON", "no entry: "))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="links and pipes of a POSIX system")
def test_an_entry_that_is_no_file_of_the_folder_is_refused(tmp_path):
    (tmp_path / "class" / "eve").mkdir(parents=True)
    (tmp_path / "entry-mine.json").write_text(json.dumps(entry("ada", 1.0)))
    (tmp_path / "class" / "entry-out.json").symlink_to("../entry-mine.json")
    os.mkfifo(tmp_path / "class" / "eve" / "entry-pipe.json")
    found = board(tmp_path / "class")
    assert not found.entries and {file: why[:30] for file, why in found.refused.items()} == {
        "entry-out.json": "not readable: it is a symbolic",
        "eve/entry-pipe.json": "not readable: it is no file, b",
    }


@pytest.mark.skipif(os.name == "nt", reason="such names are none here")
def test_no_text_of_an_entry_steers_the_screen(tmp_path, monkeypatch, capsys):
    escapes = "\x1b[2J\x1b]0;mine\x07\u202e"
    put(tmp_path, *(entry("eve", 1.0) | {name: escapes} for name in ("name", "machine", "date", "like", "dialect")))
    (tmp_path / f"entry-{escapes}.json").write_text("{")
    monkeypatch.setattr("sys.argv", ["helpers", "board", str(tmp_path)])
    main()
    printed = capsys.readouterr().out
    assert printed.replace("\n", "").isprintable() and "\\x1b[2J" in printed


# A kernel that is wrong in a way of its own: (what is replaced, by what, what is said).
CHEATS = {
    "wrong": (LOOP, LOOP.replace("+=", "+= 1.001f *"), "is wrong"),
    "cached": (SUM, f"if (C[row * N + col] == C[row * N + col]) return; {SUM}", "cached: it keeps what it finds in C"),
    "adds": (SUM, SUM.replace("0.0f", "isnan(C[row * N + col]) ? 0.0f : C[row * N + col]"), "where C held numbers"),
    "no guard": ("if (row >= M || col >= N) return;", "", "out of bounds"),
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_wrong_kernel_does_not_enter(tmp_path, monkeypatch, name):
    old, new, said = CHEATS[name]
    assert old in COALESCED
    monkeypatch.setattr(contest, "SHAPE", (64, 64, 64))
    with pytest.raises(NotEntered, match=said):
        enter(built(COALESCED.replace(old, new)), "Eve", tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def quick(monkeypatch):
    """Small products, a check that finds nothing, and a clock that needs none."""
    compared = []

    def compare(mine, rung, shape):
        compared.append((mine.own, rung.own, rung.step, shape))
        return types.SimpleNamespace(ratios=(1.25,) * ROUNDS)

    def check(k):
        k.checked = True
        return Report(str(k), (), 1)

    for name, small in dict(SHAPE=(64, 64, 64), COUNTED=(8, 8, 2), compare=compare, check=check).items():
        monkeypatch.setattr(contest, name, small)
    return compared


def test_a_kernel_that_is_wrong_only_where_it_is_timed_does_not_enter(tmp_path, quick):
    with pytest.raises(NotEntered, match="wrong at 64 x 64 x 64"):
        enter(built(COALESCED.replace("k < K; k++", "k < (M == 64 ? 60 : K); k++")), "Eve", tmp_path)
    assert not list(tmp_path.iterdir())


def test_only_a_kernel_of_ones_own_enters(tmp_path):
    own = built(OWN)
    for wrong, name, folder, error, said in (
        (opencl_kernel("naive"), "Ada", tmp_path, NotEntered, "is the course's own"),
        (built(COALESCED), "Ada", tmp_path, NotEntered, "is the course's own"),
        (lambda A, B: A @ B, "Ada", tmp_path, TypeError, "is no built kernel"),
        (own, "!?", tmp_path, NotEntered, "no letter"),
        (own, "x" * 41, tmp_path, NotEntered, "40 at most"),
        (own, "Ada", tmp_path / "nowhere", OSError, "nowhere"),
    ):
        with pytest.raises(error, match=said):
            enter(wrong, name, folder)
    k = cuda_kernel("matrix_units")
    with pytest.raises(NotEntered, match=r"rounds A and B to tf32\. The board compares products in float32"):
        enter(cuda_kernel(k.source + "# mine\n", like="matrix_units"), "Ada", tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_right_kernel_enters_and_is_on_the_board(tmp_path, monkeypatch, capsys, quick):
    """In OpenCL with times beside its rung, in CUDA on the PTX machine without."""
    assert enter(built(OWN), "Ada L.", tmp_path).name == "entry-ada-l.json"
    source = cuda_kernel("coalesced").source.replace("acc += ", "acc = acc + ")
    enter(cuda_kernel(source, like="coalesced", BM=2, BN=2), "Bob", tmp_path)
    assert quick == [(True, False, "coalesced", (64, 64, 64))]
    monkeypatch.setattr("sys.argv", ["helpers", "board", str(tmp_path)])
    main()
    text = capsys.readouterr().out
    assert "1.25 to 1.25" in text and "ahead" in text and "not timed" in text and "refused" not in text
    ada = json.loads((tmp_path / "entry-ada-l.json").read_text())
    assert ada["source"] == OWN and ada["counts"] == ada["rung_counts"] == dict(global_loads=256, shared_loads=0)


def test_a_kernel_that_a_cpu_runs_is_not_ranked_by_the_gpu_beside_it(tmp_path, monkeypatch, quick):
    monkeypatch.setattr(results, "main_device", lambda: types.SimpleNamespace(name="Some GPU", kind="GPU"))
    assert "GPU" not in json.loads(enter(built(OWN), "Ada", tmp_path).read_text())["machine"]


def test_ones_next_entry_replaces_the_last_and_nobody_elses(tmp_path, quick):
    enter(built(OWN), "Ada", tmp_path)
    enter(built(OWN), "Ada", tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    for there in (json.dumps(entry("ada", 1.0)), "{", "[]"):
        (tmp_path / "entry-ada.json").write_text(there)
        with pytest.raises(NotEntered, match="is not an entry of Ada"):
            enter(built(OWN), "Ada", tmp_path)
        assert (tmp_path / "entry-ada.json").read_text() == there


@pytest.mark.skipif(os.name == "nt", reason="to make a link takes rights here")
def test_an_entry_is_not_written_through_what_others_put_in_its_place(tmp_path, quick):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "entry-ada.json").symlink_to("mine")
    with pytest.raises(NotEntered, match="is not an entry of Ada"):
        enter(built(OWN), "Ada", tmp_path)
    assert (tmp_path / "mine").read_text() == "mine"


def test_a_name_in_any_script_is_a_file(tmp_path):
    names = ["Ada", "Ada L.", "王小明", "王小朋", "Иван", "José", "字" * 40]
    files = [file_for(shown(name), tmp_path).name for name in names]
    assert len(set(files)) == len(names) and max(len(file.encode()) for file in files) < 240
    assert shown(" Jose\u0301  B. ") == "José B."


def test_where_loads_cannot_be_counted_it_says_so(monkeypatch):
    def none(*_):
        raise KernelError("no Oclgrind")

    monkeypatch.setattr(contest, "traffic", none)
    assert contest.counts_of(built(OWN)) == {}


def test_a_folder_without_entries_says_what_writes_one(tmp_path):
    assert "enter(kernel, name)" in str(board(tmp_path))
    with pytest.raises(FileNotFoundError, match="is no folder"):
        board(tmp_path / "nowhere")
