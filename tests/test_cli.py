"""python -m helpers: what it prints and writes."""

import pytest

from helpers import clock, devices, needs
from helpers.__main__ import COMMANDS, main

SMALL = ("bench", "--dialect", "opencl", "--size", "16", "--steps", "naive")


def test_bench_prints_a_table(capsys):
    main([*SMALL])
    out = capsys.readouterr().out
    assert "16 x 16 x 16" in out and "NumPy" in out and "naive (OpenCL)" in out


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["bench", "--steps", "tilde"], "unknown step 'tilde'. Do you mean tiled? The steps are: naive, "),
        (["bench", "--size", "0"], "M=0 does not do"),
        (["record"], "required: folder"),
        (["record", "/dev/null/x"], "/dev/null"),
        (["progress", "no-such"], "'no-such'"),
    ],
)
def test_bad_arguments_are_named(capsys, arguments, words):
    with pytest.raises(SystemExit) as exit:
        main(arguments)
    assert words in f"{exit.value.code}{capsys.readouterr().err}"


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_an_interrupted_bench_ends_in_one_line(monkeypatch, capsys):
    monkeypatch.setattr(clock, "scoreboard", interrupt)
    assert main([*SMALL]) == 130
    assert capsys.readouterr().err.strip().splitlines()[-1].startswith("interrupted.")


def test_alone_it_greets_with_a_sentence_for_each_command(capsys):
    main([])
    greeting = " ".join(capsys.readouterr().out.split())
    for name, do in COMMANDS.items():
        assert f"{name} {' '.join(do.__doc__.split())}" in greeting and do.__doc__.count(".") == 1, name
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"matmul-ladder {devices.version('matmul-ladder')}\n"


def test_doctor_prints_narrow_lines_and_its_status_says_whether_a_machine_is_ready(monkeypatch, capsys):
    assert not main(["doctor"])
    lines = capsys.readouterr().out.strip().splitlines()
    assert sum(line[0] in "✓·" for line in lines) >= 7 and lines[-2][:8] == "✓ Ready:"
    assert all(line[0] in "✓· " and len(line) <= 110 for line in lines)  # as wide as a page in JupyterLab
    rows = [needs.Row("OpenCL device", "none that works", False, "a remedy", "an OpenCL device that works")]
    monkeypatch.setattr("helpers.__main__.diagnosis", lambda: rows)
    assert main(["doctor"]) == 1


@pytest.mark.parametrize("more, rounds", [((), 1), (("--peers",), 3)])
def test_what_is_set_beside_libraries_is_timed_in_three_rounds(more, rounds, monkeypatch):
    asked = []
    monkeypatch.setattr("helpers.clock.scoreboard", lambda *arguments: asked.append(arguments[4]) or interrupt())
    assert main(["bench", *more]) == 130 and asked == [rounds]
