"""python -m helpers: what it prints and writes."""

import json
import os
import sys

import pytest

from helpers import clock, devices
from helpers.__main__ import COMMANDS, main

SMALL = ("bench", "--dialect", "opencl", "--size", "16", "--steps", "naive")


def test_bench_prints_a_table_and_writes_rows(capsys, tmp_path):
    main([*SMALL, "--json", str(tmp_path / "rows.json")])
    out = capsys.readouterr().out
    assert "16 x 16 x 16" in out and "NumPy" in out and "naive (OpenCL)" in out
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [r["step"] for r in rows] == ["numpy_matmul", "naive"]
    for row in rows:
        assert {"dialect", "step", "M", "N", "K", "seconds", "gflops", "device", "parameters"} <= set(row)


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["bench", "--steps", "tilde"], "unknown step 'tilde'. Do you mean tiled? The steps are: naive, "),
        (["bench", "--size", "0"], "M=0 does not do"),
        (["record"], "required: folder"),
        (["bench", "--json", "/dev/null/x"], "/dev/null"),
        (["predict", "--gpu", "RTX 4090 Ti"], "unknown GPU 'RTX 4090 Ti'. Do you mean RTX 4090?"),
        (["record", "/dev/null/x"], "/dev/null"),
        (["progress", "no-such"], "no-such is no folder"),
    ],
)
def test_bad_arguments_are_named(capsys, arguments, words):
    with pytest.raises(SystemExit) as exit:
        main(arguments)
    assert words in f"{exit.value.code}{capsys.readouterr().err}"


@pytest.mark.parametrize(
    "arguments, said",
    [
        (
            ("--gpu", "A6000"),
            "4096 x 4096 x 4096 on A6000, predicted\n"
            "  step          GFLOP/s         ms  limited by\n"
            "  naive             284    483.515  loads and stores\n",
        ),
        (
            ("--gpu", "RTX 4090", "--sms", "70", "--clock", "2.45e9", "--memory", "504e9"),
            "on RTX 4090 with 70 multiprocessors, 2.45e+09 cycles a second, 5.04e+11 bytes a second",
        ),
    ],
)
def test_predict_prints_a_ladder(capsys, arguments, said):
    main(["predict", *arguments])
    assert said in capsys.readouterr().out


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_an_interrupted_bench_ends_in_one_line_and_leaves_an_older_file_as_it_is(monkeypatch, capsys, tmp_path):
    file = tmp_path / "rows.json"
    file.write_text("good")
    monkeypatch.setattr(clock, "scoreboard", interrupt)
    assert main([*SMALL, "--json", str(file)]) == 130
    assert capsys.readouterr().err.strip().splitlines()[-1].startswith("interrupted.")
    assert file.read_text() == "good" and os.listdir(tmp_path) == ["rows.json"]


def test_alone_it_greets_with_a_sentence_for_each_command(capsys):
    main([])
    greeting = " ".join(capsys.readouterr().out.split())
    for name, do in COMMANDS.items():
        assert f"{name} {' '.join(do.__doc__.split())}" in greeting and do.__doc__.count(".") == 1, name
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"matmul-ladder {devices.version('matmul-ladder')}\n"


def test_doctor_prints_narrow_lines_and_its_status_says_whether_a_machine_is_ready(monkeypatch, capsys):
    doctor = sys.modules["helpers.doctor"]
    assert not main(["doctor"])
    lines = capsys.readouterr().out.strip().splitlines()
    assert sum(line[0] in "✓·" for line in lines) >= 7 and lines[-2][:8] == "✓ Ready:"
    assert all(line[0] in "✓· " and len(line) <= 110 for line in lines)  # as wide as a page in JupyterLab
    rows = [doctor.Row("OpenCL device", "none that works", False, "a remedy", "an OpenCL device that works")]
    monkeypatch.setattr("helpers.__main__.diagnosis", lambda: rows)
    assert main(["doctor"]) == 1
    last = " ".join(capsys.readouterr().out.split("· Not ready")[-1].split())
    assert "Missing: an OpenCL device that works. The other lines say what adds it." in last


@pytest.mark.parametrize("more, rounds", [((), 1), (("--peers",), 3)])
def test_what_is_set_beside_libraries_is_timed_in_three_rounds(more, rounds, monkeypatch):
    asked = []
    monkeypatch.setattr("helpers.clock.scoreboard", lambda *arguments: asked.append(arguments[4]) or interrupt())
    assert main(["bench", *more]) == 130 and asked == [rounds]
