"""A product on several processes: MPI's ranks, launched from a notebook, and never left running."""

import contextlib
import importlib.util
import json
import os
import pkgutil
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np
import psutil

from .algorithm import MOST, choose_grid, refuse, sizes_of

LIMIT = 120  # seconds
GRACE = 60  # seconds that mpiexec waits longer than its notebook
BIND = ("--bind-to", "core") if sys.platform == "linux" else ()  # macOS binds no process


class RunFailed(RuntimeError):
    """A run of several processes that did not end well; the message is theirs, and all that Jupyter shows."""

    def _render_traceback_(self):
        return [f"RunFailed: {self}"]


def mpiexec() -> str:
    """The path of MPI's launcher, of this Python's environment or of the system. Raises ImportError without MPI."""
    found = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
    if not found or not importlib.util.find_spec("mpi4py"):
        raise ModuleNotFoundError("MPI is not installed: pip install mpi4py mpich", name="mpi4py")
    return found


def mpirun(ranks: int, *command: str, limit: float = LIMIT) -> str:
    """Run COMMAND on so many ranks, each as `python -m mpi4py COMMAND` does: what they print. All have ended then.

    `ranks`: 1 to 1024. On Linux each has one core; with more ranks than cores, some share one. They import what their
    caller can. `limit`: seconds, after which all are ended. Raises ValueError for a number of ranks or seconds that is
    none, RunFailed, with what the ranks said, where the run fails or takes longer, ImportError where there is no MPI.
    """
    refuse("an integer", MOST, ranks=ranks)
    refuse("a number", limit=limit)
    command = [mpiexec(), *BIND, "-n", str(ranks), sys.executable, "-m", f"{__package__}.rank", *command]
    with tempfile.TemporaryDirectory() as folder:
        errors, output = Path(folder, "errors"), Path(folder, "output")
        errors.mkdir()
        # mpiexec's own limit is for ranks whose notebook is gone. Its exit status need not say that it struck.
        environment = dict(MPIEXEC_TIMEOUT=str(ceil(limit) + GRACE), RANK_ERRORS=str(errors))
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
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
    """End each process with that RANK_ERRORS, after 5 seconds by force: a crashed mpiexec leaves nobody's children."""
    for signal in (psutil.Process.terminate, psutil.Process.kill):
        each = psutil.process_iter(["environ"])  # a process has none for a moment, when it becomes another program
        family = [process for process in each if (process.info["environ"] or {}).get("RANK_ERRORS") == folder]
        for member in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                signal(member)
        psutil.wait_procs(family, timeout=5)


@dataclass(frozen=True)
class Run:
    """A product that several ranks computed.

    C        float32 (M, N)
    size     (M, N, K)
    grid     rows and columns of ranks
    reports  what each rank counted: its `place` in the grid, bytes `received` and `sent`, the `panels` in order as
             (first k, last k + 1, column that owns A's, row that owns B's), and `seconds`
    """

    C: np.ndarray
    size: tuple[int, int, int]
    grid: tuple[int, int]
    reports: list[dict]

    @property
    def seconds(self) -> float:
        """Of the slowest rank, from the moment when all were ready."""
        return max(report["seconds"] for report in self.reports)


def on_ranks(A: np.ndarray, B: np.ndarray, ranks: int, limit: float = LIMIT, multiply: str = "numpy:matmul") -> Run:
    """C = A @ B by SUMMA on so many ranks of this machine.

    `A`, `B`: float32, (M, K) and (K, N). `ranks`, `limit`: as for `mpirun`; C must have a part for each rank.
    `multiply`: "MODULE:FUNCTION" of the local product (a, b) -> a @ b, float32. Each rank imports it, and calls it for
    each shape before its clock starts; the rank's number is in the environment, as SUMMA_RANK.

    Raises TypeError or ValueError for operands that do not fit, and for more ranks than C has parts for; RunFailed
    where a rank fails or takes longer than `limit`; ImportError where there is no MPI, or no such module.
    """
    refuse("an integer", MOST, ranks=ranks)
    pkgutil.resolve_name(multiply)
    size = sizes_of(A, B)
    choose_grid(ranks, *size)
    with tempfile.TemporaryDirectory(prefix="summa-") as folder:
        np.save(Path(folder, "A.npy"), A)
        np.save(Path(folder, "B.npy"), B)
        mpirun(ranks, "-m", __package__, folder, "--multiply", multiply, limit=limit)
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
    of its column, receive. That a broadcast may let them pass it on among themselves changes no sum. A is float32, M x
    K, B is K x N. Raises ValueError for a size, p or q below 1.
    """
    refuse("an integer", M=M, N=N, K=K, p=p, q=q)

    def part(n, parts, at):
        return n * (at + 1) // parts - n * at // parts

    rows, columns = part(M, p, i), part(N, q, j)
    A, B = rows * part(K, q, j), part(K, p, i) * columns
    return 4 * (rows * K - A + K * columns - B), 4 * (A * (q - 1) + B * (p - 1))
