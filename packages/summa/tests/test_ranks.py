"""SUMMA on MPI: right at any shape on any number of ranks, by the bytes of the formula; and nothing is left running."""

import json
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from summa import Network, RunFailed, bytes_moved, cluster, mpi, mpirun, on_ranks
from summa.algorithm import WIDTH, choose_grid, summa

pytest.importorskip("mpi4py", reason="MPI is not installed: pip install mpi4py mpich")
SHAPES = [(6, 6, 6), (7, 9, 1), (1, 60, 33), (61, 1, 33), (40, 41, 1030), (257, 31, 2)]


def draw(M, N, K):
    """Integers, whose products are exact in float32, in any order."""
    rng = np.random.default_rng()
    return [rng.integers(-9, 10, shape).astype(np.float32) for shape in ((M, K), (K, N))]


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


@pytest.mark.parametrize("ranks", [1, 6])
def test_right_at_ragged_shapes_and_each_rank_moves_what_the_formula_says(ranks, tmp_path):
    folders = {shape: tmp_path / f"FOLDER{number}" for number, shape in enumerate(SHAPES)}
    for shape, folder in folders.items():
        folder.mkdir()
        for name, X in zip("AB", draw(*shape), strict=True):
            np.save(folder / f"{name}.npy", X)
    mpirun(ranks, "-m", "summa", *map(str, folders.values()))  # all of them in one run
    for size, folder in folders.items():
        run = mpi.collected(folder, ranks, size)
        assert (np.load(folder / "A.npy") @ np.load(folder / "B.npy") == run.C).all(), size
        assert len(run.reports) == ranks == run.grid[0] * run.grid[1]
        received = all_received(size, *run.grid)
        for report in run.reports:
            place = tuple(report["place"])
            assert (report["received"], report["sent"]) == bytes_moved(*size, *run.grid, *place), (size, place)
            assert report["received"] == received.pop(place)
        assert not received
        assert sum(r["sent"] for r in run.reports) == sum(r["received"] for r in run.reports)


def multiply(a, b):
    return a @ b * (1 + int(os.environ["SUMMA_RANK"]))


def test_each_rank_multiplies_with_the_function_that_is_named_and_has_its_number():
    A, B = draw(9, 8, 7)
    run = on_ranks(A, B, 2, multiply=f"{__name__}:multiply")
    assert run.grid == (2, 1) and (A @ B * ([[1]] * 4 + [[2]] * 5) == run.C).all()


def test_a_rank_multiplies_panels_of_each_shape_before_its_clock_starts():
    seen = []
    world = SimpleNamespace(rank=0, size=1, Bcast=lambda X, root: None, Barrier=lambda: seen.append("begins"))
    world.Split = lambda colour, key: world
    A, B = draw(5, 6, 2 * WIDTH + 1)
    C, report = summa(world, A, B, lambda a, b: seen.append((a.shape, b.shape)) or a @ b)
    begins = seen.index("begins")
    assert (A @ B == C).all() and len(report["panels"]) == len(seen[begins + 1 :]) == 3
    assert set(seen[:begins]) == set(seen[begins + 1 :])


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


X = np.ones((3, 4), np.float32)
REFUSED = [
    (lambda: on_ranks(X, X.T, 10**6), "ranks=1000000 does not do; give an integer above 0, up to 1024"),
    (lambda: on_ranks(X, X.T, 7), r"7 ranks make no grid in which each has a part of C, 3 x 3: take fewer"),
    (lambda: mpirun(True, "x"), "ranks=True does not do; give an integer above 0, up to 1024"),
    (lambda: mpirun(1, "x", limit=0), "limit=0 does not do; give a number above 0"),
    (lambda: bytes_moved(4, 0, 4, 1, 1, 0, 0), "N=0 does not do; give an integer above 0"),
    (lambda: on_ranks(X, X, 2), r"A is \(3, 4\) and B is \(3, 4\); give A \(M, K\) and B \(K, N\)"),
    (lambda: on_ranks(X[:, :0], X[:0], 2), r"A is \(3, 0\) and B is \(0, 4\).* no size of them 0"),
    (lambda: on_ranks(X.astype(float), X.T, 2), r"A is an array of float64, shape \(3, 4\); .* such as np.float32\(A"),
    (lambda: on_ranks(X, X.tolist(), 2), r"B is a list; give a matrix of float32, such as np.float32\(B"),
    (lambda: on_ranks(np.ma.array(X), X.T, 2), "A is an array of float32"),
    (lambda: cluster(2, blocks=["x"]).__enter__(), r"'x' in blocks= is no size; give \(M, N, K\)"),
    (lambda: Network("none", 1e-6, 0), "bandwidth=0 does not do; give a number above 0"),
]


@pytest.mark.parametrize("call, says", REFUSED, ids=[says for _, says in REFUSED])
def test_a_bad_value_is_refused_with_a_remedy_before_anything_is_begun(call, says, monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", None)
    with pytest.raises((TypeError, ValueError), match=says):
        call()


@pytest.mark.parametrize("module, lacks", [(mpi.importlib.util, "find_spec"), (mpi.shutil, "which")])
def test_without_mpi_one_line_says_what_adds_it(module, lacks, monkeypatch):
    monkeypatch.setattr(module, lacks, lambda *what, path=None: None)
    with pytest.raises(ModuleNotFoundError, match=r"^MPI is not installed: pip install mpi4py mpich$") as raised:
        mpirun(2, "-c", "")
    assert raised.value.name == "mpi4py"  # by which who catches it knows what is missing


AS_ONE = "import os\nfrom mpi4py.MPI import COMM_WORLD as c\n{}\nc.Barrier()"


@pytest.mark.parametrize(
    "ranks, code, said",
    [
        (3, AS_ONE.format("if c.rank == 1: raise ValueError('no such panel')"), "ValueError: no such panel"),
        # MPICH's Hydra was reported to lose such a status (pmodels/mpich 7057), and what a rank said.
        (2, "from mpi4py import MPI; import os; os._exit(3)", "exit status is 3"),
        (2, "import os; os.dup2(os.open(os.devnull, 1), 2); raise ValueError('no panel')", "\nValueError: no panel"),
    ],
    ids=["fails", "leaves without a word", "is not heard"],
)
def test_a_rank_that_fails_ends_all_with_its_own_message(ranks, code, said):
    with pytest.raises(RunFailed, match=rf"the run on {ranks} ranks failed(?s:.*){said}"):
        mpirun(ranks, "-c", code, limit=60)
    assert not left_running()


@pytest.fixture
def mpiexec_of_shell(monkeypatch, tmp_path):
    """A function that puts these lines of shell in mpiexec's place."""

    def put(lines):
        program = tmp_path / "mpiexec"
        program.write_text(f"#!/bin/sh\n{lines}\n")
        program.chmod(0o755)
        monkeypatch.setattr(mpi, "mpiexec", lambda: str(program))

    return put


def test_a_run_without_end_fails_whatever_the_exit_status(mpiexec_of_shell):
    mpiexec_of_shell("trap 'exit 0' TERM; echo begun; while :; do sleep 0.1; done")
    with pytest.raises(
        RunFailed, match=r"the run on 2 ranks failed: it had not ended after 0.5 s, which is its limit="
    ):
        mpirun(2, "-c", "", limit=0.5)
    mpiexec_of_shell("exit 0")
    with pytest.raises(RunFailed, match=r"the run on 2 ranks failed: 2 of them left no report \(rank-0.json"):
        on_ranks(*draw(9, 9, 9), ranks=2)


@pytest.mark.parametrize("crashes", [True, False])
def test_ranks_are_ended_whose_mpiexec_crashes_or_whose_notebook_is_interrupted(
    crashes, mpiexec_of_shell, monkeypatch, tmp_path
):
    file, failure_of = tmp_path / "rank", mpi.failure_of

    def interrupted(process, limit):
        while not file.exists() or not file.read_text():
            assert process.poll() is None
        raise KeyboardInterrupt

    monkeypatch.setattr(mpi, "failure_of", failure_of if crashes else interrupted)
    mpiexec_of_shell(f"setsid sleep 600 & echo $! > {file}; {'exit 1' if crashes else 'wait'}")
    with pytest.raises(RunFailed if crashes else KeyboardInterrupt) as raised:
        mpirun(2, "-c", "")
    assert not crashes or "mpiexec's exit status is 1. All of them have ended" in str(raised.value)
    rank = int(file.read_text())
    assert not psutil.pid_exists(rank) or psutil.Process(rank).status() == psutil.STATUS_ZOMBIE  # nobody's child
    assert not left_running()


@pytest.mark.skipif(sys.platform != "linux", reason="macOS and Windows bind no process to a core")
def test_each_rank_has_one_core_and_they_share_none_that_they_need_not():
    said = mpirun(3, "-c", "import json, os; print(json.dumps(sorted(os.sched_getaffinity(0))))")
    cores = [json.loads(one) for one in re.findall(r"\[[\d, ]+\]", said)]  # two may share a line
    there = len(os.sched_getaffinity(0)) * psutil.cpu_count(logical=False) // psutil.cpu_count()  # or two in each core
    assert len(cores) == 3 and len({tuple(core) for core in cores}) == min(3, there)
