"""python -m helpers: what it prints and writes."""

import json
import sys

import pytest

from helpers.__main__ import main


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["helpers", *map(str, arguments)])
    main()


def test_bench_prints_a_table_and_writes_rows(monkeypatch, capsys, tmp_path):
    run(monkeypatch, "bench", "--shape", 32, 48, 64, "--steps", "naive", "tiled", "--json", tmp_path / "rows.json")
    table = capsys.readouterr().out
    assert "32 x 48 x 64" in table and "NumPy" in table and "tiled (OpenCL)" in table
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [r["step"] for r in rows] == ["numpy_matmul", "naive", "tiled", "naive", "tiled"]
    for row in rows:
        assert {"dialect", "step", "M", "N", "K", "seconds", "gflops", "device", "parameters"} <= set(row)
        assert (row["M"], row["N"], row["K"]) == (32, 48, 64)


def test_bench_takes_one_dialect(monkeypatch, capsys):
    run(monkeypatch, "bench", "--dialect", "opencl", "--size", 16, "--steps", "naive")
    assert "CUDA" not in capsys.readouterr().out


def test_tune_says_what_it_found_and_bench_takes_it(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("HELPERS_CACHE", str(tmp_path))
    run(monkeypatch, "tune", "tiled", "naive", "--size", 16, "--seconds", 0.02)
    said = capsys.readouterr().out
    assert "tiled (OpenCL), 16 x 16 x 16: " in said and "naive (OpenCL), 16 x 16 x 16: " in said
    [file] = tmp_path.glob("tuned-*.json")
    stored = json.loads(file.read_text())
    stored["tiled"]["parameters"] = {"TILE": 2}
    file.write_text(json.dumps(stored))
    run(
        monkeypatch,
        "bench",
        "--dialect",
        "opencl",
        "--size",
        16,
        "--steps",
        "tiled",
        "--tuned",
        "--json",
        tmp_path / "rows",
    )
    assert json.loads((tmp_path / "rows").read_text())[1]["parameters"] == {"TILE": 2}


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["bench", "--steps", "tilde"], "unknown step 'tilde'; the steps are"),
        (["bench", "--size", "0"], "1 or more"),
        (["bench", "--size", "1000000"], "Multiply a block of rows"),
        (["bench", "--json", "no/such/folder/x.json"], "No such file"),
        (["bench", "--dialect", "metal"], "invalid choice"),
        (["bench", "--rounds", "0"], "rounds=0: there is nothing to time"),
        (["tune", "tilde"], "unknown step 'tilde'; the steps are"),
        (["tune", "tiled", "--seconds", "0"], "leaves no time"),
        (["tune"], "required: STEP"),
        (["record"], "required: folder"),
    ],
)
def test_bad_arguments_are_named(monkeypatch, capsys, arguments, words):
    with pytest.raises(SystemExit) as exit:
        run(monkeypatch, *arguments)
    assert words in f"{exit.value.code}{capsys.readouterr().err}"


def test_doctor_prints_narrow_lines(monkeypatch, capsys):
    run(monkeypatch, "doctor")
    lines = capsys.readouterr().out.strip().splitlines()
    assert sum(line[0] in "✓·" for line in lines) >= 7
    assert all(line[0] in "✓· " and len(line) <= 110 for line in lines)  # as wide as a page in JupyterLab
