"""Entries and the board: who is ranked, who is refused and by which name, and that machines are never mixed."""

import json
import math
import os
import re
import sys
import time
import types
import warnings
import zlib

import pytest
from IPython.core.interactiveshell import InteractiveShell

from helpers import cuda_kernel, devices, opencl_kernel, webgpu_kernel
from helpers.__main__ import main
from helpers.classroom import NotEntered, board, enter, entries, ranking, ranking_chart
from helpers.classroom.entries import ANSWER, file_for, operands, run_again, seal, shown, timed_again, wrong_with
from helpers.classroom.ranking_chart import board_chart
from helpers.classroom.tokens import tokens_of
from helpers.judge import Report
from helpers.judge.shapes import shapes_for
from helpers.launch import KernelError

COALESCED = opencl_kernel("coalesced").source
OWN = COALESCED.replace("float acc = 0.0f;", "float acc = 0.0f;  const int unused = {};")
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


def row_of(gflops, of_numpy=0.5):
    """The times of one size."""
    return {"shape": [1024] * 3, "gflops": gflops, "of_numpy": of_numpy, "of_rung": 1.0}


def entry(name, machine="Some-CPU-2-cores", of_numpy=0.5, source=None, **changes):
    """An entry as `enter` writes it, made up but for its source and its answer."""
    source = source or OWN.replace("{}", str(zlib.crc32(name.encode()) % 10**9))
    A, B = operands()
    row = row_of(100.0 * of_numpy, of_numpy)
    said = {
        "name": name,
        "machine": machine,
        "date": "2026-11-20 08:00:00",
        "versions": {},
        "dialect": "OpenCL",
        "like": "coalesced",
        "parameters": {"BM": 4, "BN": 8},
        "source": source,
        "tokens": changes.get("tokens") or len(tokens_of(source, changes.get("dialect", "OpenCL"))),
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
    lean = COALESCED.replace("float acc = 0.0f", "float acc = 0").replace("const size_t col", "size_t col")
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
        "fewest tokens": "dan",
        "fewest loads per flop": "cyd",
    }
    text = str(board(tmp_path))
    assert text.index("ada") < text.index("bob") and "simulator" in text


NAN_ROW = row_of(math.nan, math.nan)
FORGED = {
    "edited": {**entry("eve"), "name": "Eve"},
    "no number": entry("eve", times={"square": NAN_ROW, "thin": NAN_ROW, "peak_gflops": 400.0}),
    "no number: its answer": entry("eve", answer=[math.nan] * ANSWER[1]),
    "faster than its machine": entry("eve", of_numpy=4.5),
    "faster than its machine: more": entry("eve", times=entry("eve")["times"] | {"thin": row_of(601.0)}),
    "not your own": entry("eve", source=COALESCED + "\n// mine\n"),
    "no number: a rate": entry("eve", of_numpy=-1.0),
    "no number: one of its numbers": entry("eve", loads_per_flop=10**400, answer=[10**400] * ANSWER[1]),
    "too few loads": entry("eve", loads_per_flop=0.001),
    "miscounted": entry("eve", tokens=1),
    "not the kernel alone: it includes": entry("eve", source='#include "mine.cl"'),
    "not readable: its source is no Python": entry("eve", dialect="CUDA", source="def k(:", tokens=1),
    "no entry: its field 'loads_per_flop'": entry("eve", loads_per_flop="0.1"),
    "no entry: its name": entry("Ada\n 1  Eve"),
    "no entry: name=": entry("\u200b"),
    "timed in a simulator": entry("eve", "simulator"),
    "no entry: there is no": entry("eve", like="magic"),
    "no entry: its field 'answer'": entry("eve", answer="42"),
    "no entry: its times": entry("eve", times={"square": 3}),
    "no entry: its machine": entry("eve", "a CPU\x1b[2J"),
    "no entry: its machine is": entry("eve", "$\\frac{}$"),
    "no entry: its parameters": entry("eve", parameters={"BM": 4, "device": 7}),
    "no entry: its parameters are": entry("eve", parameters={"BM": "4"}),
    "no number: its loads": entry("eve", loads_per_flop=math.inf),
    "no number: one": entry("eve", loads_per_flop=10**400),
    "not readable: its source is no": entry("eve", dialect="CUDA", source="-" * 9000 + "1", tokens=1),
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
        "entry-01.json": "copied: ada entered this source earlier",
        "entry-98.json": "not readable: a file of 1 MB: an entry is a few kB",
        "entry-99.json": "not readable: it is not JSON",
    }


def test_an_entry_that_is_nested_at_the_edge_of_what_can_be_read_is_refused(tmp_path):
    """Wherever it is too deep: for JSON, for its seal, for Python."""
    decorated = "from numba import cuda\n@other({})\ndef k(A, B, C):\n    pass\n"
    for number, depth in enumerate(range(20, sys.getrecursionlimit() + 100, 7)):
        text = json.dumps(entry("eve")).replace('"versions": {}', '"versions": ' + "[" * depth + "]" * depth)
        (tmp_path / f"entry-{number}.json").write_text(text)
    for depth in (150, 190, 900):
        one = entry("eve", dialect="CUDA", source=decorated.format("-" * depth + "1"))
        (tmp_path / f"entry-python-{depth}.json").write_text(json.dumps(one))
    put(tmp_path, entry("ada"))
    found = board(tmp_path)
    assert [e["name"] for [e] in found.machines.values()] == ["ada"]
    assert {why.split(":")[0] for why in found.refused.values()} <= {
        "edited", "no entry", "not readable", "not the kernel alone",
    }  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="links and pipes of a POSIX system")
def test_an_entry_that_is_no_file_of_the_folder_is_refused(tmp_path):
    (tmp_path / "class" / "eve").mkdir(parents=True)
    (tmp_path / "entry-mine.json").write_text(json.dumps(entry("ada")))
    for name, leads in (("out", "../entry-mine.json"), ("passwd", "/etc/passwd"), ("nothing", "nowhere")):
        (tmp_path / "class" / f"entry-{name}.json").symlink_to(leads)
    os.mkfifo(tmp_path / "class" / "eve" / "entry-pipe.json")
    (tmp_path / "class" / "all").symlink_to(tmp_path)
    found = board(tmp_path / "class")
    assert not found.machines
    link, pipe = "not readable: it is a symbolic link", "not readable: it is no file, but a "
    said = {file: why[: len(link)] for file, why in found.refused.items()}
    assert said.pop("eve/entry-pipe.json") == pipe
    [path] = (tmp_path / "class").glob("all/entry-*.json")
    assert ranking.looked_at(path, tmp_path / "class").startswith(link)
    assert said == dict.fromkeys(("entry-nothing.json", "entry-out.json", "entry-passwd.json"), link)


@pytest.mark.skipif(os.name == "nt", reason="to make a link takes rights here")
def test_an_entry_is_not_written_through_what_others_put_in_its_place(tmp_path, monkeypatch):
    (tmp_path / "mine").write_text("mine")
    for name in ("entry-ada.json", file_for("Ada", tmp_path).name, file_for("ada l.", tmp_path).name):
        (tmp_path / name).unlink(missing_ok=True)
        (tmp_path / name).symlink_to("mine")
    for what, found in (("times_of", {}), ("wrong_with", None), ("loads_per_flop", 1.0), ("answer_of", [])):
        monkeypatch.setattr(entries, what, lambda *_, found=found: found)
    for name in ("Ada", "ada", "ada l."):
        path = enter(built(OWN.replace("{}", "1")), name, tmp_path)
        assert not path.is_symlink() and entries.name_in(path) == name
    assert (tmp_path / "mine").read_text() == "mine"


@pytest.mark.skipif(os.name == "nt", reason="such names are none here")
def test_no_text_of_an_entry_steers_the_screen(tmp_path, monkeypatch, capsys):
    escapes = "\x1b[2J\x1b]0;mine\x07\u202e<script>alert(1)<script>"
    names = ["name", "machine", "date", "dialect", "like", "source", "seal"]
    put(tmp_path, entry("<b>ada</b>"), *(entry("eve") | {name: escapes} for name in names))
    for number, name in enumerate(names):
        forged = entry("eve") | {name: escapes}  # and sealed anew
        (tmp_path / f"entry-{escapes.replace('/', '')}-{number}.json").write_text(
            json.dumps(forged | {"seal": seal(forged)})
        )
    monkeypatch.setattr(ranking, "run_again", lambda one, trust: f"error: {escapes}\nfastest: eve")
    monkeypatch.setattr("sys.argv", ["helpers", "board", str(tmp_path), "--again"])
    main()
    printed = capsys.readouterr()
    for text in (printed.out, printed.err.replace("\r", "").replace("\x1b[A", "")):
        assert text.replace("\n", "").isprintable(), ascii(text)
    assert printed.out.count("refused: ") == printed.out.count("\n") >= 8 and "\\x1b[2J" in printed.out
    shown, _ = InteractiveShell.instance().display_formatter.format(board(tmp_path))
    assert set(shown) == {"text/plain"}  # which a notebook shows as it is, tags and all


@pytest.mark.parametrize(
    "said, why",
    [
        (1e-9, "too few loads"),
        (10**400, "no number: one"),
        ({"name": "ada"}, "no entry: its field 'loads_per_flop'"),
        (0.5, ""),
        (None, ""),
    ],
)
def test_what_a_source_makes_its_judge_say_is_looked_at_too(tmp_path, monkeypatch, said, why):
    monkeypatch.setattr(ranking, "run_again", lambda one, trust: said)
    put(tmp_path, entry("eve"))
    found = board(tmp_path, again=True)
    assert [reason[: len(why)] for reason in found.refused.values()] == [why] * bool(why)
    assert [e["name"] for ranked in found.machines.values() for e in ranked] == ["eve"] * (not why)


@pytest.mark.parametrize("times", [[], {"square": 3}, {"square": {"gflops": 1}}])
def test_times_that_a_source_makes_up_are_looked_at_too(tmp_path, monkeypatch, times):
    monkeypatch.setattr(ranking, "run_again", lambda one, trust: 0.5)
    monkeypatch.setattr(ranking, "machine_here", lambda: "Some-CPU-2-cores")
    monkeypatch.setattr(ranking, "timed_again", lambda one, trust: times)
    put(tmp_path, entry("eve"))
    assert [why[:9] for why in board(tmp_path, again=True).refused.values()] == ["no entry:"]


@pytest.mark.parametrize("name", CHEATS)
def test_a_wrong_kernel_does_not_enter_and_is_refused_when_it_is_run_again(tmp_path, name):
    kind = CHEATS[name][2]
    with pytest.raises(NotEntered, match=kind):
        enter(built(cheat(name)), "Eve", tmp_path)
    assert not list(tmp_path.iterdir())
    if name == "cached":
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
    endless = "from numba import cuda\n\n\ndef build():\n    while True:\n        pass\n"  # when it is built
    put(tmp_path, entry("eve", source=endless, dialect="CUDA", times={}, machine="simulator"))
    [why] = board(tmp_path, again=True).refused.values()
    assert why.startswith("hang")


def test_only_a_kernel_of_ones_own_enters(tmp_path):
    for wrong, error, said in (
        (opencl_kernel("naive"), NotEntered, "is the course's own"),
        (lambda A, B: A @ B, TypeError, "is no built kernel"),
    ):
        with pytest.raises(error, match=said):
            enter(wrong, "Ada", tmp_path)
    own = built(OWN.replace("{}", "1"))
    with pytest.raises(NotEntered, match="no letter"):
        enter(own, "!?", tmp_path)
    with pytest.raises(OSError, match="nowhere"):
        enter(own, "Ada", tmp_path / "nowhere")
    for source in (COALESCED + "// mine\n", COALESCED.replace("0.0f;", "0.0f;;"), COALESCED.replace("acc", "mine")):
        with pytest.raises(NotEntered, match="the course's coalesced, but for"):
            enter(built(source), "Ada", tmp_path)
    with pytest.raises(NotEntered, match="it has a string"):
        enter(built(COALESCED.replace("float acc", 'printf("eve"); float acc')), "Ada", tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_kernel_that_is_less_exact_than_float32_does_not_enter(tmp_path):
    k = cuda_kernel("matrix_units")
    with pytest.raises(NotEntered, match=r"rounds A and B to tf32\. The board compares products in float32"):
        enter(cuda_kernel(k.source + "# mine\n", like="matrix_units"), "Ada", tmp_path)
    assert not [*tmp_path.iterdir()]


def test_a_right_kernel_enters_and_is_on_the_board(tmp_path, monkeypatch, capsys):
    """In OpenCL with times, as small as they can be, in CUDA's simulator without; each judged again."""
    monkeypatch.setattr(entries, "SIZES", {"square": (64, 64, 64), "thin": (64, 4, 64)})
    monkeypatch.setattr(entries, "ROUNDS", 1)
    for module in (entries, ranking):
        monkeypatch.setattr(module, "COUNTED", (8, 8, 2))
    enter(built(COALESCED.replace("acc += ", "acc = acc + ")), "Ada L.", tmp_path)
    own = cuda_kernel("coalesced").source.replace("acc += ", "acc = acc + ")
    enter(cuda_kernel(own, like="coalesced", BM=2, BN=2), "Bob", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [file_for("Ada L.", "").name, "entry-bob.json"]
    monkeypatch.setattr("sys.argv", ["helpers", "board", str(tmp_path), "--again", "--chart", str(tmp_path / "b.png")])
    main()
    text = capsys.readouterr().out
    assert "Ada L." in text and "Bob" in text and "refused" not in text and "timed again, Ada L." in text
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.skipif(not devices.webgpu_adapters(), reason="no WebGPU adapter: wgpu and a Vulkan driver")
def test_a_kernel_in_wgsl_enters_and_is_judged_again(tmp_path, monkeypatch, capsys):
    """Its source enters as it is, and the jail lets it reach its driver."""
    monkeypatch.setattr(entries, "SIZES", {"square": (64, 64, 64), "thin": (64, 4, 64)})
    monkeypatch.setattr(entries, "ROUNDS", 1)
    own = webgpu_kernel("coalesced").source.replace("acc += ", "acc = acc + ")
    path = enter(webgpu_kernel(own, like="coalesced"), "Eve", tmp_path)
    assert json.loads(path.read_text())["source"] == own
    monkeypatch.setattr("sys.argv", ["helpers", "board", str(tmp_path), "--again"])
    main()
    text = capsys.readouterr().out
    assert "WebGPU, like coalesced" in text and "timed again, Eve" in text and "refused" not in text


def test_the_times_of_an_entry_are_the_medians_of_what_each_round_says(monkeypatch):
    def timed(seconds):
        return types.SimpleNamespace(seconds=seconds, gflops=12 / seconds)

    rounds = [list(map(timed, row)) for row in ((4.0, 2.0, 1.0), (9.0, 3.0, 3.0), (10.0, 8.0, 5.0))]  # NumPy, rung, own
    peaks = iter([2e9, 5e9, 4e9])
    monkeypatch.setattr(entries, "contest", lambda kernels, shape, many: rounds)
    monkeypatch.setattr(entries, "machine_limits", lambda: types.SimpleNamespace(flops_per_s=next(peaks)))
    found = entries.times_of(built(OWN.replace("{}", "1")), entries.SIZES, entries.ROUNDS)
    said = {"gflops": 4.0, "of_numpy": 3.0, "of_rung": 1.6}
    assert found["square"] == said | {"shape": (1024, 1024, 1024)} and found["peak_gflops"] == 6.0  # by the rung
    assert found["thin"] == said | {"shape": (2048, 16, 2048)}


def test_an_entry_is_checked_at_shapes_drawn_anew(monkeypatch):
    seen, k = [], built(OWN.replace("{}", "1"))
    right = Report("a kernel", (), 1)
    monkeypatch.setattr(entries, "check", lambda k, shapes: seen.append(list(map(tuple, shapes))) or right)
    assert wrong_with(k) is None and wrong_with(k) is None
    suits = shapes_for(k)
    assert [shapes[: len(suits)] for shapes in seen] == [suits] * 2 and seen[0] != seen[1]
    assert [len(shapes) - len(suits) for shapes in seen] == [6, 6]


def test_a_multiply_add_is_two_flop(monkeypatch):
    monkeypatch.setattr(entries, "traffic", lambda k, M, N, K: types.SimpleNamespace(global_loads=3 * M * N * K))
    assert entries.loads_per_flop(built(COALESCED)) == 1.5

    def none(*_):
        raise KernelError("no Oclgrind")

    monkeypatch.setattr(entries, "traffic", none)
    assert entries.loads_per_flop(built(COALESCED)) is None


def test_the_chart_has_a_panel_a_machine_and_a_bar_an_entry(tmp_path):
    put(tmp_path, entry("ada", "CPU-1", 0.9), entry("bob", "CPU-2", 0.2), entry("cyd", "CPU-2", 0.4))
    picture = board_chart(board(tmp_path))
    assert "on CPU-1: ada 0.90; on CPU-2: cyd 0.40, bob 0.20" in picture.text
    with pytest.raises(ValueError, match="no bar to draw"):
        board_chart(board(tmp_path / "..", again=False).__class__({}, {}))


def test_the_chart_draws_each_ratio_in_its_dialects_colour_beside_numpys_line(tmp_path, monkeypatch):
    monkeypatch.setattr(ranking_chart, "Picture", lambda figure, text: figure)
    own = "from numba import cuda\n\n\n@cuda.jit\ndef k(A, B, C):\n    C[0, 0] = 1\n"
    put(
        tmp_path,
        entry("ada", "CPU-1", 0.9),
        entry("bob", "CPU-2", 0.2),
        entry("cyd", "CPU-2", 0.4, own, dialect="CUDA"),
    )
    one, two = board_chart(board(tmp_path)).axes
    for ax, machine, names, ratios in ((one, "CPU-1", ["ada"], [0.9]), (two, "CPU-2", ["cyd", "bob"], [0.4, 0.2])):
        assert ax.get_title(loc="left") == machine and [label.get_text() for label in ax.get_yticklabels()] == names
        assert [bar.get_width() for bar in ax.patches] == ratios and ax.yaxis_inverted()  # the best is on top
        assert [text.get_text() for text in ax.texts] == [f" {ratio:.2f}" for ratio in ratios]
        assert [list(line.get_xdata()) for line in ax.lines] == [[1, 1]]
    assert two.patches[0].get_facecolor() != two.patches[1].get_facecolor() == one.patches[0].get_facecolor()
    assert one.get_gridspec().get_height_ratios() == pytest.approx([1.5, 1.9])  # as many bars as entries, each as thick


def test_a_folder_without_entries_says_what_writes_one(tmp_path):
    assert "enter(kernel, name)" in str(board(tmp_path))
    with pytest.raises(FileNotFoundError, match="is no folder"):
        board(tmp_path / "nowhere")


def test_the_guard_against_caching_lets_a_right_kernel_pass():
    assert wrong_with(built(COALESCED)) is None


def times(square, thin=1.0, peak=400.0):
    """What an entry says of its speed."""
    rows = {"square": square, "thin": thin}
    return {what: {"gflops": 50.0, "of_numpy": ratio} for what, ratio in rows.items()} | {"peak_gflops": peak}


@pytest.mark.parametrize("size", ["square", "thin", "row"])
def test_the_peak_holds_every_shape_with_little_above_it(tmp_path, size):
    fast = [times(1.0) | {size: {"gflops": 400.0 * share, "of_numpy": 1.0}} for share in (1.09, 1.11)]
    put(tmp_path, entry("ada", times=fast[0]), entry("eve", times=fast[1]))
    assert [why[:25] for why in board(tmp_path).refused.values()] == ["faster than its machine: "]
    put(tmp_path, entry("ada", times=times(1.0, peak=None)), *(entry("eve", times=times(1.0, peak=p)) for p in (0, -1)))
    assert list(board(tmp_path).refused) == ["entry-01.json", "entry-02.json"]  # None: no probe for such a device


def test_the_fewest_loads_that_there_can_be_are_taken(tmp_path):
    M, N, K = entries.COUNTED
    least = (M * K + K * N) / (2 * M * N * K)
    put(tmp_path, entry("ada", loads_per_flop=least), entry("eve", loads_per_flop=0.999 * least))
    said = "too few loads: each number of A and of B must be loaded once"
    assert board(tmp_path).refused == {"entry-01.json": said}


def test_of_two_equal_sources_the_earlier_entry_stays_whatever_its_file_is_called(tmp_path):
    source = entry("ada")["source"]
    put(tmp_path, entry("eve", source=source.replace("acc", "sum")), entry("ada", date="2026-11-20 07:59:59"))
    found = board(tmp_path)
    assert found.refused == {"entry-00.json": "copied: ada entered this source earlier"}
    assert [e["name"] for [e] in found.machines.values()] == ["ada"]


def test_a_tie_between_prizes_is_decided_by_a_count_and_shared_where_counts_are_equal(tmp_path):
    longer = OWN.replace("{}", "1, more = 2")
    put(
        tmp_path,
        entry("fast", of_numpy=0.9, source=longer, loads_per_flop=0.25),
        entry("ada", of_numpy=0.4, loads_per_flop=0.25),
        entry("bob", of_numpy=0.4, loads_per_flop=0.5),
        entry("cyd", of_numpy=0.2, loads_per_flop=0.25),
    )
    prizes = board(tmp_path).prizes()
    assert prizes["fewest loads per flop"] == prizes["fewest tokens"] == "ada and cyd"
    put(tmp_path, *(entry(name, times=times(9.0, 9.0), source=text) for name, text in (("ada", longer), ("bob", None))))
    assert {board(tmp_path).prizes()[f"{prize} on Some-CPU-2-cores"] for prize in ranking.PRIZES} == {"bob"}


def test_a_renewed_seal_brings_nothing_when_it_is_timed_again(tmp_path, monkeypatch):
    """Who leads is timed until those lead that were timed; who does not lead, and another machine, is left as it is."""
    said = {"ada": times(2.0), "eve": times(9.0), "bob": times(1.0, 3.0), "cyd": times(0.5), "dan": times(3.0)}
    here = {"ada": times(1.9), "eve": times(1.1, 1.2), "bob": times(0.9, 2.5), "dan": "not timed: it ended"}
    timed = []
    monkeypatch.setattr(ranking, "run_again", lambda one, trust: 0.5)
    monkeypatch.setattr(ranking, "timed_again", lambda one, trust: timed.append(one["name"]) or here[one["name"]])
    monkeypatch.setattr(ranking, "machine_here", lambda: "Some-CPU-2-cores")
    put(tmp_path, *(entry(n, times=said[n], loads_per_flop=0.01) for n in said), entry("fay", "Another"))
    found = board(tmp_path, again=True)
    assert timed == ["eve", "dan", "ada", "bob"] and found.refused == {"entry-04.json": "not timed: it ended"}
    assert [e["name"] for e in found.machines["Some-CPU-2-cores"]] == ["ada", "eve", "bob", "cyd"]
    assert {e["loads_per_flop"] for entries in found.machines.values() for e in entries} == {0.5}  # as counted here
    assert "timed again, eve: in the file and now, 9.00x and 1.10x at the square shape, 1.00x and 1.20x" in str(found)
    assert "not timed again, since this is another machine: Another" in str(found)
    here |= {"eve": times(1.1, peak=1.0)}
    assert board(tmp_path, again=True).refused["entry-01.json"].startswith("faster than its machine")
    assert not board(tmp_path).notes


def test_an_entry_is_timed_again_in_a_process_of_its_own(monkeypatch):
    assert timed_again(entry("eve", source="__kernel void k(")).startswith("not timed: its process ended with status 1")
    monkeypatch.setattr(entries, "TIMING_SECONDS", 0.01)
    assert timed_again(entry("eve")).startswith("not timed: it was still running after 0.01 s")


def test_a_name_in_any_script_has_a_file_of_its_own(tmp_path):
    names = ["Ada", "Ada!", "Ada L.", "Ada-L", "王小明", "王小朋", "Иван", "José", "x" * 60, "字" * 60]
    files = [file_for(shown(name), tmp_path).name for name in names]
    assert len({file.lower() for file in files}) == len(names) and max(len(file.encode()) for file in files) < 255
    assert files[0] == "entry-ada.json" and files[4] == "entry-王小明.json" and files[6] == "entry-иван.json"
    assert shown(" Jose\u0301  B. ") == "José B."
    for wrong in ("", "!?", "Ada\u202eevE", "x" * 61):
        with pytest.raises(NotEntered, match=r"no letter or number|at most"):
            shown(wrong)
    with pytest.raises(TypeError, match="is no text"):
        shown(7)


def test_nobodys_entry_is_overwritten(tmp_path):
    plain = tmp_path / "entry-ada.json"
    assert file_for("Ada", tmp_path) == plain
    for there in (json.dumps(entry("ada")), json.dumps(entry("Ada!")), "{", "[]"):
        plain.write_text(there)
        assert file_for("Ada", tmp_path) != plain
    plain.write_text(json.dumps(entry("Ada")))
    assert file_for("Ada", tmp_path) == plain  # one's own, to be replaced


def test_a_table_and_a_chart_show_names_of_any_script(tmp_path, monkeypatch):
    put(tmp_path, entry("王小明", of_numpy=0.9), entry("Иван", of_numpy=0.8), entry(r"Ada $\frac{$", of_numpy=0.7))
    rows = str(board(tmp_path)).splitlines()[2:5]
    assert len({ranking.width(row[: row.index("OpenCL")]) for row in rows}) == 1
    assert ranking_chart.fonts_for("Ada") == ["DejaVu Sans"]
    usual = [font for font in ranking_chart.fontManager.ttflist if font.name == "DejaVu Sans"]
    monkeypatch.setattr(ranking_chart.fontManager, "ttflist", usual)
    assert ranking_chart.fonts_for("Ada 王") == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "王小明 0.90, Иван 0.80" in board_chart(board(tmp_path)).text


def test_every_launch_that_is_timed_is_told(monkeypatch):
    told = []

    class Bar:
        def __init__(self, what):
            told.append(what)

        def __enter__(self):
            return self

        def update(self, done, note):
            told.append(note)

        def __exit__(self, *_):
            pass

    def contest(kernels, shape, rounds):
        for k in kernels:
            k.each()
        return [[types.SimpleNamespace(seconds=1.0, gflops=1.0)] * 3]

    monkeypatch.setattr(entries, "ProgressBar", Bar)
    monkeypatch.setattr(entries, "contest", contest)
    monkeypatch.setattr(entries, "probed", lambda k: 2.0)
    entries.times_of(built(OWN.replace("{}", "1")), entries.SIZES, 3)
    assert told == [f"{built(OWN.replace('{}', '1'))} is timed", *["(square)"] * 3, *["(thin)"] * 3]


def test_a_kernel_that_is_wrong_only_where_it_is_timed_does_not_enter(tmp_path, monkeypatch):
    monkeypatch.setattr(entries, "SIZES", {"square": (64, 64, 64)})
    monkeypatch.setattr(entries, "ROUNDS", 1)
    monkeypatch.setattr(entries, "wrong_with", lambda k: setattr(k, "checked", True))
    with pytest.raises(NotEntered, match="gives wrong numbers: seen where it is timed, at 64 x 64 x 64"):
        enter(built(COALESCED.replace("k < K; k++", "k < (M == 64 ? 60 : K); k++")), "Eve", tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_kernel_that_is_made_for_the_size_that_is_counted_gains_little():
    once = """if (M == 128 && N == 128 && K == 2) {
        for (int i = 0; row + col == 0 && i < M; i++) {
            const float2 a = vload2(i, A);
            for (int j = 0; j < N; j++) C[i * N + j] = a.x + a.y;
        }
        return;
    } float acc = 0.0f;"""
    assert entries.loads_per_flop(built(COALESCED.replace("float acc = 0.0f;", once))) == 2 / 3  # of one


def test_whole_tiles_are_counted_as_the_formula_has_them():
    """Two strips of 64 rows, four patches of 32 columns."""
    k = opencl_kernel("packed", BM=64, BN=128, BK=64, TM=8, TN=2, VW=16, STRIPS=1)
    assert entries.loads_per_flop(k) == (1 / 64 + 1 / 32) / 2


def test_a_chart_that_cannot_be_written_is_refused_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr("helpers.classroom.ranking.board", lambda *_: pytest.fail("it was worked before"))
    monkeypatch.setattr(sys, "argv", ["helpers", "board", str(tmp_path), "--chart", str(tmp_path / "no" / "b.png")])
    with pytest.raises(SystemExit, match=r"b\.png"):
        main()
