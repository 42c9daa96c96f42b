"""A product on several processes: MPI's ranks, launched from a notebook, and never left running."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np
import psutil

from .. import devices
from ..launch.given import takes, whole
from ..launch.operands import validate
from . import summa
from .engines import RunFailed, need

LIMIT = 120  # seconds
MOST = 1024  # ranks that one machine is asked for
BIND = ("--bind-to", "core") if sys.platform == "linux" else ()  # macOS binds no process


@takes
def mpirun(ranks: int, *command: str, limit: float = LIMIT) -> str:
    """Run COMMAND on so many ranks, each as `python -m mpi4py COMMAND` does: what they print. All have ended then.

    On Linux each rank has one core, and OpenCL's driver keeps to it; with more ranks than cores, some share one.
    `limit`: seconds, after which all are ended. Raises ValueError for a number of ranks that is none, RunFailed where
    there is no MPI, and where the run fails, with what the ranks said.
    """
    whole("ranks", ranks, 1, MOST)
    need("MPI")
    command = [devices.mpiexec(), *BIND, "-n", str(ranks), sys.executable, "-m", "helpers.many.rank", *command]
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(PYTHONPATH=devices.python_path(), MPIEXEC_TIMEOUT=str(ceil(limit)), RANK_ERRORS=folder)
        process = subprocess.Popen(
            command, env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        try:
            said, _ = process.communicate(timeout=limit + 10)
        except subprocess.TimeoutExpired:
            said = f"no end after {limit} s"
        finally:
            end(process)
        errors = {file.read_text(encoding="utf-8").strip() for file in Path(folder).iterdir()}
    if process.returncode:
        lost = [error for error in sorted(errors) if error and error.splitlines()[-1] not in said]
        said = "\n".join([*lost, said.strip()])
        if not said.strip():
            said = f"None of them said why; the exit status is {process.returncode}."
        raise RunFailed(f"the run on {ranks} ranks failed, and all of them have ended.\n{said}")
    return said


def end(process: subprocess.Popen) -> None:
    """End a process with all that it started, if it still runs: politely, and after 5 seconds by force."""
    family = []
    with contextlib.suppress(psutil.NoSuchProcess):
        parent = psutil.Process(process.pid)
        family = [*parent.children(recursive=True), parent]
    for signal in (psutil.Process.terminate, psutil.Process.kill):
        for member in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                signal(member)
        _, family = psutil.wait_procs(family, timeout=5)
    process.wait()


@dataclass(frozen=True)
class Run:
    """A product that several ranks computed.

    C        float32 (M, N)
    size     (M, N, K)
    grid     rows and columns of ranks
    reports  what each rank counted: its `place` in the grid, bytes `received` and `sent`, the `panels` in order as
             (first k, last k + 1, column that owns A's, row that owns B's), `seconds`, and `peak` bytes of memory
    """

    C: np.ndarray
    size: tuple[int, int, int]
    grid: tuple[int, int]
    reports: list[dict]

    @property
    def seconds(self) -> float:
        """Of the slowest rank, from the moment when all were ready."""
        return max(report["seconds"] for report in self.reports)


@takes
def on_ranks(A: np.ndarray, B: np.ndarray, ranks: int, limit: float = LIMIT) -> Run:
    """C = A @ B by `summa.py` on so many ranks of this machine.

    Raises TypeError or ValueError for operands that do not fit, and for more ranks than C has parts for; RunFailed
    where there is no MPI, or a rank fails.
    """
    whole("ranks", ranks, 1, MOST)
    size = validate(A, B)
    if 0 in size:
        raise ValueError(f"a product with sizes M, N, K = {size} has nothing to share.")
    summa.choose_grid(ranks, *size)
    with tempfile.TemporaryDirectory(prefix="summa-") as folder:
        np.save(Path(folder, "A.npy"), A)
        np.save(Path(folder, "B.npy"), B)
        mpirun(ranks, "-m", summa.__name__, folder, limit=limit)
        return collected(Path(folder), ranks, size)


def collected(folder: Path, ranks: int, size: tuple) -> Run:
    """The run whose ranks left their blocks and reports in that folder."""
    reports = [json.loads((folder / f"rank-{rank}.json").read_text()) for rank in range(ranks)]
    p, q = reports[0]["grid"]
    C = np.block([[np.load(folder / f"C-{i}-{j}.npy") for j in range(q)] for i in range(p)])
    return Run(C, size, (p, q), reports)


@takes
def bytes_moved(M: int, N: int, K: int, p: int, q: int, i: int, j: int) -> tuple[int, int]:
    """What rank (i, j) of a grid of p x q receives and sends, in bytes, by the formula: nothing runs.

    It needs its rows of A and its columns of B whole, and has a part of each. What it has, all others of its row, or
    of its column, receive. That a broadcast may let them pass it on among themselves changes no sum.
    """

    def part(n, parts, number):
        return n * (number + 1) // parts - n * number // parts

    rows, columns = part(M, p, i), part(N, q, j)
    A, B = rows * part(K, q, j), part(K, p, i) * columns
    return 4 * (rows * K - A + K * columns - B), 4 * (A * (q - 1) + B * (p - 1))
