"""C = A @ B on a grid of MPI ranks: SUMMA, by van de Geijn and Watts. Each rank owns a block of A, of B and of C.

    mpiexec --bind-to core -n 4 python -m mpi4py -m helpers.many.summa FOLDER ...

Each folder has A.npy and B.npy, float32, which all ranks can read. Every rank leaves its C-ROW-COLUMN.npy there, and a
report. `--bind-to core` gives each rank one core. With `-m mpi4py` a rank that fails ends all others, too.
"""

import json
import sys
from bisect import bisect_right
from itertools import pairwise
from pathlib import Path
from time import perf_counter

import numpy as np

from helpers import devices, opencl_kernel
from helpers.launch.operands import validate
from helpers.many.memory import peak_bytes

WIDTH = 512  # columns of A and rows of B in a panel, at most


def choose_grid(ranks, M, N, K):
    """The rows and columns of ranks with which the fewest bytes are moved, and each rank has a part of C."""
    grids = [(p, ranks // p) for p in range(1, ranks + 1) if ranks % p == 0 and p <= M and ranks // p <= N]
    if not grids:
        raise ValueError(f"{ranks} ranks make no grid in which each has a part of C, {M} x {N}: take fewer ranks.")
    return min(grids, key=lambda grid: M * K * (grid[1] - 1) + K * N * (grid[0] - 1))


def edges(n, parts):
    """Where so many blocks of n elements begin, as even as can be, and where the last one ends."""
    return [n * part // parts for part in range(parts + 1)]


def local_product(rank):
    """The ladder's kernel on a GPU of this rank's own, where there are any, or on the cores that it may use."""
    device = devices.opencl_device()
    if device.kind == "GPU":
        gpus = [one for one in devices.opencl_devices() if one.kind == "GPU" and devices.problem_of(one) is None]
        return opencl_kernel("register_2d", gpus[rank % len(gpus)])
    return opencl_kernel("packed", device)


def summa(world, A, B, k):
    """This rank's block of C = A @ B, and a report. A, B: whole, of which it reads only its blocks. `k`: its kernel."""
    M, N, K = validate(A, B)
    p, q = choose_grid(world.size, M, N, K)
    i, j = divmod(world.rank, q)
    row, column = world.Split(i, j), world.Split(j, i)  # the ranks of my row, and of my column
    rows, columns, of_A, of_B = edges(M, p), edges(N, q), edges(K, q), edges(K, p)
    my_A = np.array(A[rows[i] : rows[i + 1], of_A[j] : of_A[j + 1]])
    my_B = np.array(B[of_B[i] : of_B[i + 1], columns[j] : columns[j + 1]])
    C = np.zeros((len(my_A), my_B.shape[1]), np.float32)
    report = {"grid": (p, q), "place": (i, j), "received": 0, "sent": 0, "panels": []}
    # No panel crosses a border, so that one of A has one owner in each row of ranks, one of B in each column.
    cuts = sorted({*of_A, *of_B, *range(0, K, WIDTH)})
    for depth in {k1 - k0 for k0, k1 in pairwise(cuts)}:
        k.ready(*C.shape, depth)
    world.Barrier()
    start = perf_counter()
    for k0, k1 in pairwise(cuts):
        left, top = bisect_right(of_A, k0) - 1, bisect_right(of_B, k0) - 1  # the owners
        panel_A, panel_B = np.empty((len(C), k1 - k0), np.float32), np.empty((k1 - k0, C.shape[1]), np.float32)
        if j == left:
            panel_A[:] = my_A[:, k0 - of_A[j] : k1 - of_A[j]]
        if i == top:
            panel_B[:] = my_B[k0 - of_B[i] : k1 - of_B[i]]
        for ranks, panel, owner in ((row, panel_A, left), (column, panel_B, top)):
            ranks.Bcast(panel, root=owner)
            mine = ranks.rank == owner
            report["sent" if mine else "received"] += panel.nbytes * (ranks.size - 1 if mine else 1)
        C += k(panel_A, panel_B)
        report["panels"].append((k0, k1, left, top))
    return C, report | {"seconds": perf_counter() - start, "peak": peak_bytes()}


def main(world, folders):
    """The products of all folders, one after the other."""
    k = local_product(world.rank)
    for folder in map(Path, folders):
        A, B = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in "AB")
        C, report = summa(world, A, B, k)
        np.save(folder / "C-{}-{}.npy".format(*report["place"]), C)
        (folder / f"rank-{world.rank}.json").write_text(json.dumps(report))


if __name__ == "__main__":
    from mpi4py import MPI

    main(MPI.COMM_WORLD, sys.argv[1:])
