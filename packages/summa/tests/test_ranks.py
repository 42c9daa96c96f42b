"""SUMMA on MPI: right at any shape on any number of ranks, by the bytes of the formula; and nothing is left running."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from helpers import devices, many, needs
from helpers.judge import wrong_elements
from helpers.launch import draw
from helpers.many import RunFailed, bytes_moved, mpirun, on_ranks
from helpers.many.summa import choose_grid

pytestmark = pytest.mark.skipif(
    bool(devices.engines()["MPI"]), reason="MPI is not installed: python3 tools/install.py many"
)

ROOT = Path(__file__).resolve().parents[2]
SHAPES = [(6, 6, 6), (7, 9, 1), (1, 60, 33), (61, 1, 33), (40, 41, 1030), (257, 31, 2)]


def all_received(size, p, q):
    """The formula, from what a rank needs and has, element by element."""
    M, N, K = size
    owner_of_row, owner_of_column = np.zeros(M, int), np.zeros(N, int)
    of_A, of_B = np.zeros(K, int), np.zeros(K, int)
    for owners, parts in ((owner_of_row, p), (owner_of_column, q), (of_A, q), (of_B, p)):
        for part in range(parts):
            owners[len(owners) * part // parts :] = part
    return {
        (i, j): 4 * ((owner_of_row == i).sum() * (of_A != j).sum() + (owner_of_column == j).sum() * (of_B != i).sum())
        for i in range(p)
        for j in range(q)
    }


@pytest.fixture
def operands(tmp_path):
    """{size: a folder with its A.npy and B.npy}"""
    folders = {shape: tmp_path / f"FOLDER{number}" for number, shape in enumerate(SHAPES)}
    for shape, folder in folders.items():
        folder.mkdir()
        for name, X in zip("AB", draw(*shape), strict=True):
            np.save(folder / f"{name}.npy", X)
    return folders


def assert_right(folders, ranks):
    """Each product is right, and each rank has moved what the formula says."""
    for size, folder in folders.items():
        run = many.mpi.collected(folder, ranks, size)
        assert not wrong_elements(run.C, *(np.load(folder / f"{name}.npy") for name in "AB")).any(), size
        assert len(run.reports) == ranks == run.grid[0] * run.grid[1]
        received = all_received(size, *run.grid)
        for report in run.reports:
            place = tuple(report["place"])
            assert (report["received"], report["sent"]) == bytes_moved(*size, *run.grid, *place), (size, place)
            assert report["received"] == received.pop(place)
        assert not received
        assert sum(r["sent"] for r in run.reports) == sum(r["received"] for r in run.reports)


@pytest.mark.bulk
@pytest.mark.parametrize("ranks", [1, 6])
def test_right_at_ragged_shapes_on_one_rank_and_on_six(ranks, operands):
    mpirun(ranks, "-m", "helpers.many.summa", *map(str, operands.values()))  # all of them in one run
    assert_right(operands, ranks)


def test_the_line_that_page_15_shows_for_a_terminal_is_right_at_ragged_shapes(tmp_path, operands):
    page = (ROOT / "notebooks" / "15_many_devices.ipynb").read_text("utf-8")
    [line] = set(re.findall(r"mpiexec .* FOLDER", page))
    (tmp_path / "hosts").write_text("one.cluster\ntwo.cluster\n")  # both are this machine: fork in place of ssh
    (tmp_path / ".venv").symlink_to(sys.prefix)
    bins = [str(Path(program).parent) for program in (sys.executable, devices.mpiexec())]
    paths = dict(PATH=os.pathsep.join([*bins, os.environ["PATH"]]), PYTHONPATH=devices.python_path())
    line = line.replace("FOLDER", shlex.join(folder.name for folder in operands.values()))
    command = shlex.split(re.sub(r"-n \d+", "-n 4", re.sub(r"-ppn \d+", "-ppn 2", line)))
    subprocess.run(command, cwd=tmp_path, env=dict(os.environ, HYDRA_LAUNCHER="fork", **paths), timeout=120, check=True)
    assert_right(operands, 4)


@pytest.mark.parametrize("ranks, size, grid", [(4, (9, 9, 9), (2, 2)), (6, (90, 9, 9), (6, 1)), (6, (9, 9, 9), (3, 2))])
def test_the_grid_with_the_fewest_bytes_is_taken(ranks, size, grid):
    def moved(p, q):
        return sum(bytes_moved(*size, p, q, i, j)[0] for i in range(p) for j in range(q))

    p, q = choose_grid(ranks, *size)
    fits = [(a, ranks // a) for a in range(1, ranks + 1) if ranks % a == 0 and a <= size[0] and ranks // a <= size[1]]
    assert moved(p, q) == moved(*grid) == min(moved(*one) for one in fits)


def left_running():
    """Processes of MPI below this one. (A temporary folder's name may have "mpi" in it, too.)"""
    mpi = re.compile("mpiexec|mpi4py|hydra")
    return [p for p in psutil.Process().children(recursive=True) if mpi.search(" ".join(p.cmdline()))]


def test_ranks_without_work_are_refused(monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", None)  # before anything is begun
    with pytest.raises(ValueError, match=r"7 ranks make no grid in which each has a part of C, 2 x 3: take fewer"):
        on_ranks(*draw(2, 3, 4), ranks=7)
    with pytest.raises(ValueError, match="has nothing to share"):
        on_ranks(np.ones((3, 0), np.float32), np.ones((0, 5), np.float32), ranks=2)


@pytest.mark.parametrize("lacks", ["mpiexec", "mpi4py"])
def test_without_mpi_one_line_says_what_adds_it(lacks, monkeypatch):
    if lacks == "mpiexec":
        monkeypatch.setattr(devices, "mpiexec", lambda: None)
    else:
        version = devices.version
        monkeypatch.setattr(devices, "version", lambda name: None if name == "mpi4py" else version(name))
    with pytest.raises(needs.Missing, match=r"^MPI is not installed\. .*\bmany\b"):
        mpirun(2, "-c", "")


AS_ONE = "import os\nfrom mpi4py.MPI import COMM_WORLD as c\n{}\nc.Barrier()"


@pytest.mark.parametrize(
    "ranks, code, said",
    [
        (3, AS_ONE.format("if c.rank == 1: raise ValueError('no such panel')"), "ValueError: no such panel"),
        (3, AS_ONE.format("if c.rank == 1: os.kill(os.getpid(), 9)"), "signal 9"),
        # MPICH's Hydra was reported to lose such a status (pmodels/mpich 7057), and what a rank said.
        (2, "from mpi4py import MPI; import os; os._exit(3)", "exit status is 3"),
        (2, "import os; os.dup2(os.open(os.devnull, 1), 2); raise ValueError('no panel')", "\nValueError: no panel"),
    ],
    ids=["fails", "is killed", "leaves without a word", "is not heard"],
)
def test_a_rank_that_fails_ends_all_with_its_own_message(ranks, code, said):
    with pytest.raises(RunFailed, match=rf"the run on {ranks} ranks failed(?s:.*){said}"):
        mpirun(ranks, "-c", code, limit=60)
    assert not left_running()


def test_a_run_without_end_is_ended():
    with pytest.raises(RunFailed, match=r"the run on 2 ranks failed: it had not ended after 1 s, which is its limit="):
        mpirun(2, "-c", "while True: pass", limit=1)
    assert not left_running()


@pytest.fixture
def mpiexec_of_shell(monkeypatch, tmp_path):
    """A function that puts these lines of shell in mpiexec's place."""

    def put(lines):
        program = tmp_path / "mpiexec"
        program.write_text(f"#!/bin/sh\n{lines}\n")
        program.chmod(0o755)
        monkeypatch.setattr(devices, "mpiexec", lambda: str(program))

    return put


def test_a_run_without_end_fails_whatever_the_exit_status(mpiexec_of_shell):
    mpiexec_of_shell("trap 'exit 0' TERM; echo begun; while :; do sleep 0.1; done")
    with pytest.raises(RunFailed, match=r"it had not ended after 0.5 s(?s:.*)"):
        mpirun(2, "-c", "", limit=0.5)
    mpiexec_of_shell("exit 0")
    with pytest.raises(RunFailed, match=r"the run on 2 ranks failed: 2 of them left no report \(rank-0.json"):
        on_ranks(*draw(9, 9, 9), ranks=2)


def test_ranks_whose_mpiexec_has_crashed_are_ended(mpiexec_of_shell, tmp_path):
    mpiexec_of_shell(f"setsid sleep 600 & echo $! > {tmp_path}/rank; exit 1")
    with pytest.raises(RunFailed, match=r"mpiexec's exit status is 1. All of them have ended"):
        mpirun(2, "-c", "")
    rank = int((tmp_path / "rank").read_text())
    assert not psutil.pid_exists(rank) or psutil.Process(rank).status() == psutil.STATUS_ZOMBIE  # nobody's child


INTERRUPTED = """
import sys
from helpers.many import mpirun
mpirun(2, "-c", "import os, sys, time; open(sys.argv[1] + '/' + str(os.getpid()), 'w'); time.sleep(600)", sys.argv[1])
"""


@pytest.mark.skipif(os.name == "nt", reason="an interrupt is sent otherwise there")
def test_nothing_is_left_running_after_an_interrupt(tmp_path):
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path)]
    notebook = subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE, text=True)
    try:
        until = time.monotonic() + 120
        while len(list(tmp_path.iterdir())) < 2 and notebook.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        family = psutil.Process(notebook.pid).children(recursive=True)
        ranks = {int(path.name) for path in tmp_path.iterdir()}
        assert len(ranks) == 2 and ranks <= {process.pid for process in family}
        notebook.send_signal(signal.SIGINT)
        _, said = notebook.communicate(timeout=60)
        assert "KeyboardInterrupt" in said
        _, alive = psutil.wait_procs(family, timeout=10)
        assert not alive
    finally:
        notebook.kill()
        notebook.wait()


def test_mpi4pys_benchmark_times_a_short_message_and_a_longer_one():
    here = many.this_machine()
    assert here.latency > 0 and here.bandwidth > 0


@pytest.mark.skipif(sys.platform != "linux", reason="macOS and Windows bind no process to a core")
@pytest.mark.parametrize("ranks", [1, 3])
def test_each_rank_has_one_core_and_they_share_none_that_they_need_not(ranks):
    code = "import json, os; print(json.dumps(sorted(os.sched_getaffinity(0))))"
    said = mpirun(ranks, "-c", code)
    cores = [json.loads(one) for one in re.findall(r"\[[\d, ]+\]", said)]  # two may share a line
    # A core may be two of the system's processors.
    assert len(cores) == ranks and len({tuple(core) for core in cores}) == min(ranks, devices.usable_cores())
