"""A product as a graph of tasks, on Dask's workers: processes of this machine, or of a cluster."""

import contextlib
import os
import pkgutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import psutil

from .algorithm import MOST, refuse


@contextlib.contextmanager
def cluster(workers: int, blocks: Iterable[tuple[int, int, int]] = (), multiply: str = "numpy:matmul") -> Iterator:
    """A `distributed.Client` of so many processes on this machine, one thread each, which end with the context.

    `workers`: 1 to 1024. On Linux each has one core, as `mpirun` gives it to a rank. `blocks`: the sizes (M, N, K) of
    the products of two blocks that their tasks will be. Each worker calls `multiply`, "MODULE:FUNCTION", once for
    these, so that no task that is timed builds or loads anything; its number is in the environment, as SUMMA_RANK.
    Raises ValueError for a number of workers or a size that is none, ImportError without Dask, or such a module.
    """
    refuse("an integer", MOST, workers=workers)
    blocks = list(blocks)
    for block in blocks:
        if len(block) != 3:
            raise ValueError(f"{block!r} in blocks= is no size; give (M, N, K).")
        refuse("an integer", M=block[0], N=block[1], K=block[2])
    pkgutil.resolve_name(multiply)
    from distributed import Client, LocalCluster

    def get_ready(dask_worker):
        keep_to_one_core(int(dask_worker.name))
        os.environ["SUMMA_RANK"] = str(dask_worker.name)
        for M, N, K in blocks:
            pkgutil.resolve_name(multiply)(np.zeros((M, K), np.float32), np.zeros((K, N), np.float32))

    local = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
    with local, Client(local) as client:
        client.register_worker_callbacks(get_ready)  # also of a worker that takes the place of one that died
        yield client


def keep_to_one_core(number):
    """Let this process run on one core; a driver that it loads from now on starts no more threads than that."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        for thread in psutil.Process().threads():
            with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
                os.sched_setaffinity(thread.id, {cores[number % len(cores)]})


def from_file(path: str | Path, chunks: tuple) -> object:
    """The matrix of a .npy file as a `dask.array`, of which each task reads its own block; float32."""
    import dask.array as da

    def read(block_info=None):
        rows, columns = block_info[None]["array-location"]
        return np.array(np.load(path, mmap_mode="r")[slice(*rows), slice(*columns)])

    blocks = da.core.normalize_chunks(chunks, np.load(path, mmap_mode="r").shape, dtype=np.float32)
    return da.map_blocks(read, chunks=blocks, meta=np.empty((0, 0), np.float32))
