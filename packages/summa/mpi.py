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
from ..arguments import DAY, number, sizes, whole
from ..launch.operands import validate
from . import summa
from .engines import RunFailed, need

LIMIT = 120  # seconds
GRACE = 60  # seconds that mpiexec waits longer than its notebook
MOST = 1024  # ranks that one machine is asked for
BIND = ("--bind-to", "core") if sys.platform == "linux" else ()  # macOS binds no process


def mpirun(ranks: int, *command: str, limit: float = LIMIT) -> str:
    """Run COMMAND on so many ranks, each as `python -m mpi4py COMMAND` does: what they print. All have ended then.

    On Linux each rank has one core, and OpenCL's driver keeps to it; with more ranks than cores, some share one.
    `limit`: seconds, after which all are ended. Raises ValueError for a number of ranks that is none, RunFailed where
    the run fails or takes longer than `limit`, with what the ranks said, `needs.Missing` where there is no MPI.
    """
    whole("ranks", ranks, 1, MOST)
    number("limit", limit, DAY)
    need("MPI")
    command = [devices.mpiexec(), *BIND, "-n", str(ranks), sys.executable, "-m", "helpers.many.rank", *command]
    with tempfile.TemporaryDirectory() as folder:
        errors, output = Path(folder, "errors"), Path(folder, "output")
        errors.mkdir()
        # mpiexec's own limit is for ranks whose notebook is gone. Its exit status need not say that it struck.
        environment = dict(
            PYTHONPATH=devices.python_path(), MPIEXEC_TIMEOUT=str(ceil(limit) + GRACE), RANK_ERRORS=str(errors)
        )
        with output.open("wb") as file:
            process = subprocess.Popen(command, env=os.environ | environment, stdout=file, stderr=subprocess.STDOUT)
        try:
            failure = failure_of(process, limit)
            said = output.read_text("utf-8", "replace")  # before they are ended, on which mpiexec has much to say
        finally:
            end(str(errors))
            process.wait()
        lost = {file.read_text("utf-8", "replace").strip() for file in errors.iterdir()}
    if failure or lost:
        lost = [error for error in sorted(lost) if error and error.splitlines()[-1] not in said]
        lines = [f"the run on {ranks} ranks failed: {failure or 'a rank failed'}. All of them have ended.", *lost, said]
        raise RunFailed("\n".join(lines).strip())
    return said


def failure_of(process: subprocess.Popen, limit: float) -> str:
    """Wait for mpiexec. Returns why its run failed; "" where it did not."""
    try:
        status = process.wait(limit)
    except subprocess.TimeoutExpired:
        return f"it had not ended after {limit:g} s, which is its limit=; a greater one gives it more time"
    return f"mpiexec's exit status is {status}" if status else ""


def end(folder: str) -> None:
    """End each process whose RANK_ERRORS is that folder: politely, and after 5 seconds by force.

    They are found by that, since ranks whose mpiexec has crashed are nobody's children.
    """
    each = psutil.process_iter(["environ"])
    family = [process for process in each if (process.info["environ"] or {}).get("RANK_ERRORS") == folder]
    for signal in (psutil.Process.terminate, psutil.Process.kill):
        for member in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                signal(member)
        _, family = psutil.wait_procs(family, timeout=5)


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


def on_ranks(A: np.ndarray, B: np.ndarray, ranks: int, limit: float = LIMIT) -> Run:
    """C = A @ B by `summa.py` on so many ranks of this machine.

    Raises TypeError or ValueError for operands that do not fit, and for more ranks than C has parts for; RunFailed
    where a rank fails or takes longer than `limit` seconds; `needs.Missing` where there is no MPI.
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
    """The run whose ranks left their blocks and reports in that folder. Raises RunFailed where one left none."""
    files = [folder / f"rank-{rank}.json" for rank in range(ranks)]
    if missing := [file.name for file in files if not file.exists()]:
        raise RunFailed(f"the run on {ranks} ranks failed: {len(missing)} of them left no report ({missing[0]}).")
    reports = [json.loads(file.read_text()) for file in files]
    p, q = reports[0]["grid"]
    C = np.block([[np.load(folder / f"C-{i}-{j}.npy") for j in range(q)] for i in range(p)])
    return Run(C, size, (p, q), reports)


def bytes_moved(M: int, N: int, K: int, p: int, q: int, i: int, j: int) -> tuple[int, int]:
    """What rank (i, j) of a grid of p x q receives and sends, in bytes, by the formula: nothing runs.

    It needs its rows of A and its columns of B whole, and has a part of each. What it has, all others of its row, or
    of its column, receive. That a broadcast may let them pass it on among themselves changes no sum.
    """

    M, N, K = sizes((M, N, K))

    def part(n, parts, at):
        return n * (at + 1) // parts - n * at // parts

    rows, columns = part(M, p, i), part(N, q, j)
    A, B = rows * part(K, q, j), part(K, p, i) * columns
    return 4 * (rows * K - A + K * columns - B), 4 * (A * (q - 1) + B * (p - 1))
