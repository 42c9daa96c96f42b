"""The command of a rank, for an MPI that somebody else launches, on a cluster, say.

    mpiexec --bind-to core -n 4 python -m mpi4py -m summa FOLDER ... --multiply MODULE:FUNCTION

Each folder has A.npy and B.npy, float32, which all ranks can read. Every rank leaves its C-ROW-COLUMN.npy there, and a
report. `--bind-to core` gives each rank one core. With `-m mpi4py` a rank that fails ends all others, too.
"""

import argparse
import json
import os
import pkgutil
from pathlib import Path

import numpy as np
from mpi4py.MPI import COMM_WORLD

from .algorithm import summa

parser = argparse.ArgumentParser(prog="python -m mpi4py -m summa", description="C = A @ B on a grid of ranks.")
parser.add_argument("folders", metavar="FOLDER", nargs="+", type=Path, help="has A.npy and B.npy")
parser.add_argument("--multiply", default="numpy:matmul", help="MODULE:FUNCTION of the local product; numpy:matmul")
given = parser.parse_args()
os.environ["SUMMA_RANK"] = str(COMM_WORLD.rank)
for folder in given.folders:
    A, B = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in "AB")
    C, report = summa(COMM_WORLD, A, B, pkgutil.resolve_name(given.multiply))
    np.save(folder / "C-{}-{}.npy".format(*report["place"]), C)
    (folder / f"rank-{COMM_WORLD.rank}.json").write_text(json.dumps(report))
