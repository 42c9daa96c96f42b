"""C = A @ B on a grid of MPI ranks: SUMMA, by van de Geijn and Watts. Each rank owns a block of A, of B and of C."""

import numbers
from bisect import bisect_right
from collections.abc import Callable
from itertools import pairwise
from time import perf_counter

import numpy as np

WIDTH = 512  # columns of A and rows of B in a panel, at most
MOST = 1024  # ranks or workers that one machine is asked for


def refuse(kind: str, most: float = 1e300, **values: object) -> None:
    """Raise ValueError for a value, given by name, that is not "a number" or "an integer" above 0, up to the most."""
    kinds = numbers.Integral if kind == "an integer" else numbers.Real
    for name, value in values.items():
        if not isinstance(value, kinds) or isinstance(value, bool) or not 0 < value <= most:
            raise ValueError(f"{name}={value!r} does not do; give {kind} above 0, up to {most:g}.")


def sizes_of(A: np.ndarray, B: np.ndarray) -> tuple[int, int, int]:
    """(M, N, K) of A (M, K) and B (K, N). Raises TypeError or ValueError for what is no float32 product."""
    for name, X in (("A", A), ("B", B)):
        if type(X) not in (np.ndarray, np.memmap) or X.dtype != np.float32 or X.ndim != 2:
            kind = f"an array of {X.dtype}, shape {X.shape}" if isinstance(X, np.ndarray) else f"a {type(X).__name__}"
            raise TypeError(f"{name} is {kind}; give a matrix of float32, such as np.float32({name}).")
    if A.shape[1] != B.shape[0] or 0 in (*A.shape, *B.shape):
        raise ValueError(f"A is {A.shape} and B is {B.shape}; give A (M, K) and B (K, N), no size of them 0.")
    return A.shape[0], B.shape[1], A.shape[1]


def choose_grid(ranks: int, M: int, N: int, K: int) -> tuple[int, int]:
    """The rows and columns of ranks with which the fewest bytes are moved, and each rank has a part of C."""
    grids = [(p, ranks // p) for p in range(1, ranks + 1) if ranks % p == 0 and p <= M and ranks // p <= N]
    if not grids:
        raise ValueError(f"{ranks} ranks make no grid in which each has a part of C, {M} x {N}: take fewer ranks.")
    return min(grids, key=lambda grid: M * K * (grid[1] - 1) + K * N * (grid[0] - 1))


def edges(n: int, parts: int) -> list[int]:
    """Where so many blocks of n elements begin, as even as can be, and where the last one ends."""
    return [n * part // parts for part in range(parts + 1)]


def panels(K: int, p: int, q: int, width: int = WIDTH) -> list[tuple[int, int, int, int]]:
    """Each panel on a grid of p x q, `width` at most: (first k, last k + 1, column that owns A's, row that owns B's).

    No panel crosses a border, so that one of A has one owner in each row of ranks, one of B in each column.
    """
    of_A, of_B = edges(K, q), edges(K, p)
    cuts = sorted({*of_A, *of_B, *range(0, K, width)})
    return [(k0, k1, bisect_right(of_A, k0) - 1, bisect_right(of_B, k0) - 1) for k0, k1 in pairwise(cuts)]


def summa(world: object, A: np.ndarray, B: np.ndarray, multiply: Callable) -> tuple[np.ndarray, dict]:
    """This rank's block of C = A @ B, and its report, as `Run` has it.

    `world`: an MPI communicator, as mpi4py's COMM_WORLD. `A`, `B`: float32 (M, K) and (K, N), whole, of which it reads
    only its blocks. `multiply`: (a, b) -> a @ b, float32, of two panels in this rank's memory.
    """
    M, N, K = sizes_of(A, B)
    p, q = choose_grid(world.size, M, N, K)
    i, j = divmod(world.rank, q)
    row, column = world.Split(i, j), world.Split(j, i)  # the ranks of my row, and of my column
    rows, columns, of_A, of_B = edges(M, p), edges(N, q), edges(K, q), edges(K, p)
    my_A = np.array(A[rows[i] : rows[i + 1], of_A[j] : of_A[j + 1]])
    my_B = np.array(B[of_B[i] : of_B[i + 1], columns[j] : columns[j + 1]])
    C = np.zeros((len(my_A), my_B.shape[1]), np.float32)
    report = {"grid": (p, q), "place": (i, j), "received": 0, "sent": 0, "panels": panels(K, p, q)}
    for depth in {k1 - k0 for k0, k1, _, _ in report["panels"]}:
        multiply(np.zeros((len(C), depth), np.float32), np.zeros((depth, C.shape[1]), np.float32))
    world.Barrier()
    start = perf_counter()
    for k0, k1, left, top in report["panels"]:
        panel_A, panel_B = np.empty((len(C), k1 - k0), np.float32), np.empty((k1 - k0, C.shape[1]), np.float32)
        if j == left:
            panel_A[:] = my_A[:, k0 - of_A[j] : k1 - of_A[j]]
        if i == top:
            panel_B[:] = my_B[k0 - of_B[i] : k1 - of_B[i]]
        for ranks, panel, owner in ((row, panel_A, left), (column, panel_B, top)):
            ranks.Bcast(panel, root=owner)
            mine = ranks.rank == owner
            report["sent" if mine else "received"] += panel.nbytes * (ranks.size - 1 if mine else 1)
        C += multiply(panel_A, panel_B)
    return C, report | {"seconds": perf_counter() - start}
