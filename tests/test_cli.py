"""python -m helpers: what it prints and writes."""

import errno
import json
import os
import signal
import subprocess
import sys

import pytest

from helpers import clock, devices, files
from helpers.__main__ import COMMANDS, main
from helpers.instruments import GPUS


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["helpers", *map(str, arguments)])
    main()


def fails(monkeypatch, capsys, *arguments):
    """The exit status of a command that ends with an error, and what it printed: (status, out, err)."""
    with pytest.raises(SystemExit) as exit:
        run(monkeypatch, *arguments)
    out, err = capsys.readouterr()
    status = exit.value.code
    return (status, out, err) if isinstance(status, int) else (1, out, err + str(status))


def no_room(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def interrupt(*_, **__):
    raise KeyboardInterrupt


SMALL = ("bench", "--dialect", "opencl", "--size", 16, "--steps", "naive")


def test_bench_prints_a_table_and_writes_rows(monkeypatch, capsys, tmp_path):
    run(monkeypatch, "bench", "--shape", 32, 48, 64, "--steps", "naive", "tiled", "--json", tmp_path / "rows.json")
    table = capsys.readouterr().out
    assert "32 x 48 x 64" in table and "NumPy" in table and "tiled (OpenCL)" in table
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [r["step"] for r in rows] == ["numpy_matmul", "naive", "tiled", "naive", "tiled"]
    for row in rows:
        assert {"dialect", "step", "M", "N", "K", "seconds", "gflops", "device", "parameters"} <= set(row)
        assert (row["M"], row["N"], row["K"]) == (32, 48, 64)


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["bench", "--steps", "tilde"], "unknown step 'tilde'. Do you mean tiled? The steps are: naive, "),
        (["bench", "--size", "0"], "1 or more"),
        (["record"], "required: folder"),
        (["benhc"], "unknown command 'benhc'. Do you mean bench? The commands are: doctor, bench, record, "),
        (["bench", "--sise", "5"], "unknown option '--sise'. Do you mean --size? The options are: --dialect, "),
        (["predict", "--gpu", "RTX 4090 Ti"], "unknown GPU 'RTX 4090 Ti'. Do you mean RTX 4090?"),
        (["record", "/dev/null/x"], "cannot be written"),
        (["progress", "no-such"], "no-such is no folder"),
    ],
)
def test_bad_arguments_are_named(monkeypatch, capsys, arguments, words):
    with pytest.raises(SystemExit) as exit:
        run(monkeypatch, *arguments)
    assert words in f"{exit.value.code}{capsys.readouterr().err}"


@pytest.mark.parametrize(
    "arguments, said",
    [
        (
            ("--gpu", "A6000", "--size", 4096, "--steps", "naive", "tiled"),
            "4096 x 4096 x 4096 on A6000, predicted\n"
            "  step          GFLOP/s         ms  limited by\n"
            "  naive             284    483.515  loads and stores\n"
            "  tiled           3,001     45.804  loads and stores\n",
        ),
        (
            ("--gpu", "RTX 4090", "--sms", 70, "--clock", "2.45e9", "--steps", "naive"),
            "on RTX 4090 with 70 multiprocessors, 2.45e+09 cycles a second, predicted\n",
        ),
        (("--gpu", "RTX 4090", "--memory", "504e9", "--steps", "naive"), "on RTX 4090 with 5.04e+11 bytes a second"),
    ],
)
def test_predict_prints_a_ladder(monkeypatch, capsys, arguments, said):
    run(monkeypatch, "predict", *arguments)
    assert said in capsys.readouterr().out


def test_doctor_prints_narrow_lines(monkeypatch, capsys):
    run(monkeypatch, "doctor")
    lines = capsys.readouterr().out.strip().splitlines()
    assert sum(line[0] in "✓·" for line in lines) >= 7
    assert all(line[0] in "✓· " and len(line) <= 110 for line in lines)  # as wide as a page in JupyterLab


def test_an_interrupted_bench_ends_in_one_line_and_leaves_an_older_file_as_it_is(monkeypatch, capsys, tmp_path):
    file = tmp_path / "rows.json"
    file.write_text("good")
    monkeypatch.setattr(clock, "scoreboard", interrupt)
    status, _, err = fails(monkeypatch, capsys, *SMALL, "--json", file)
    assert status == 130 and err.strip().splitlines()[-1] == "interrupted. Nothing was written."
    assert "Traceback" not in err and file.read_text() == "good" and os.listdir(tmp_path) == ["rows.json"]


DEAF = """
import os, sys
from helpers import clock
from helpers.__main__ import main
PIPE = sys.argv.pop()
def deaf(*arguments, **more):
    with open(PIPE) as pipe:  # as a driver's call does, this goes on after a signal
        while True:
            try:
                os.write(1, b"go\\n")
                pipe.read()
            except KeyboardInterrupt:
                pass
clock.scoreboard = deaf
main()
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_ctrl_c_ends_a_command_that_is_deaf_to_it(tmp_path):
    """It waits in a call, as a driver's, that goes on after a signal: for ever, if nobody ended it."""
    os.mkfifo(tmp_path / "pipe")
    writer = os.open(tmp_path / "pipe", os.O_RDWR)
    child = subprocess.Popen(
        [sys.executable, "-c", DEAF, *map(str, SMALL), str(tmp_path / "pipe")],
        env=dict(os.environ, PYTHONPATH=devices.python_path()),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "go\n"
    child.send_signal(signal.SIGINT)
    assert child.wait(60) == 130
    assert child.stderr.read().endswith("\ninterrupted. Nothing was written.\n")
    os.close(writer)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_ctrl_c_while_a_command_is_still_loaded_is_one_line_too(tmp_path):
    """A package that helpers imports first stands in for all of them: it gets the signal as it is imported."""
    (tmp_path / "lazy_loader.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\n")
    path = os.pathsep.join([str(tmp_path), devices.python_path()])
    command = [sys.executable, "-m", "helpers", "predict"]
    done = subprocess.run(command, env=dict(os.environ, PYTHONPATH=path), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "\ninterrupted. Nothing was written.\n")


@pytest.mark.parametrize("words", [(), ("--help",)])
def test_alone_it_greets_with_a_sentence_for_each_command(monkeypatch, capsys, words):
    run(monkeypatch, *words)
    greeting = capsys.readouterr().out
    for name, do in COMMANDS.items():
        assert f"  {name:10}{do.__doc__}\n" in greeting and do.__doc__.count(".") == 1, name
        with pytest.raises(SystemExit) as exit:
            run(monkeypatch, name, "--help")
        assert exit.value.code == 0 and do.__doc__ in " ".join(capsys.readouterr().out.split())


def test_help_lists_the_gpus_and_the_version_is_told(monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, "predict", "--help")
    assert ", ".join(GPUS) in " ".join(capsys.readouterr().out.split())
    run(monkeypatch, "--version")
    assert capsys.readouterr().out == f"matmul-ladder {devices.version('matmul-ladder')}\n"


def test_names_are_taken_as_people_write_them(monkeypatch, capsys):
    said = set()
    for gpu, step in (("A6000", "register_2d"), ("rtx a6000", "Register-2D"), ("NVIDIA RTX A6000", "REGISTER 2d")):
        run(monkeypatch, "Predict", "--gpu", gpu, "--steps", step)
        said.add(capsys.readouterr().out)
    assert len(said) == 1


@pytest.mark.parametrize(
    "words", [("predict", "--gpu", "L5"), ("bench", "--steps", "tilde"), ("bench", "--size", "1000000")]
)
def test_a_bad_value_is_refused_before_anything_is_loaded(words):
    code = "import sys\nfrom helpers.__main__ import main\ntry: main()\nfinally: print(sorted(sys.modules))"
    done = python("-c", code, *words)
    assert done.returncode in (1, 2) and b"helpers" in done.stdout
    assert not [name for name in (b"'numba'", b"'pyopencl'", b"'matplotlib'") if name in done.stdout]


def test_a_full_disk_costs_no_table_and_no_older_file(monkeypatch, capsys, tmp_path):
    file = tmp_path / "rows.json"
    file.write_text("good")
    monkeypatch.setattr(files.os, "fsync", no_room)
    status, out, err = fails(monkeypatch, capsys, *SMALL, "--json", file)
    assert status == 1 and "naive (OpenCL)" in out and file.read_text() == "good"
    assert "rows.json cannot be written" in err and "No space left on device" in err


def test_doctors_status_says_whether_a_machine_is_ready(monkeypatch, capsys):
    doctor = sys.modules["helpers.doctor"]
    rows = [doctor.row("OpenCL CPU", "an EPYC", True, "it ran"), doctor.row("CUDA", "none", False, "a remedy")]
    monkeypatch.setattr("helpers.__main__.diagnosis", lambda: rows)
    run(monkeypatch, "doctor")  # no exit: status 0
    ready = "✓ Ready: OpenCL kernels run on this machine's CPU, an EPYC, CUDA kernels on the PTX machine."
    assert ready in " ".join(capsys.readouterr().out.split())
    rows.append(doctor.row("OpenCL device", "none that works", False, "a remedy", "an OpenCL device that works"))
    status, out, _ = fails(monkeypatch, capsys, "doctor")
    assert status == 1
    last = " ".join(out.split("· Not ready")[-1].split())
    assert "Missing: an OpenCL device that works. The other lines say what adds it." in last


def python(*command, **environment):
    """Run it in a process of its own. Returns what subprocess.run does."""
    made_here = ("OCL_ICD_VENDORS", "NUMBA_ENABLE_CUDASIM")
    clean = {name: value for name, value in os.environ.items() if name not in made_here}
    clean |= {"PYTHONPATH": devices.python_path(), **environment}
    return subprocess.run([sys.executable, *command], env=clean, capture_output=True, timeout=120)


def test_beside_libraries_bench_has_three_rounds(monkeypatch, capsys):
    rounds = []
    monkeypatch.setattr("helpers.clock.scoreboard", lambda *arguments: rounds.append(arguments[4]))
    for more in ((), ("--peers",), ("--peers", "--rounds", 2)):
        run(monkeypatch, "bench", *more)
    assert rounds == [1, 3, 2]


def test_record_says_where_its_file_is(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("helpers.clock.record", lambda folder: tmp_path / folder)
    run(monkeypatch, "record", "mine")
    assert capsys.readouterr().out == f"saved: {tmp_path / 'mine'}\n"
