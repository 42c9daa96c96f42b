"""A product as a graph of tasks, on Dask's workers: processes of this machine, or of a cluster."""

import contextlib
import functools
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import psutil

from ..arguments import sizes, whole
from .engines import need
from .mpi import MOST
from .summa import local_product


@contextlib.contextmanager
def cluster(workers: int, blocks: Iterable[tuple[int, int, int]] = ()) -> Iterator:
    """A `distributed.Client` of so many processes on this machine, one thread each, which end with the context.

    On Linux each has one core, as `mpirun` gives it to a rank. `blocks`: the sizes (M, N, K) of the products of two
    blocks that their tasks will be. Each worker is ready for them, so that no task that is timed builds a kernel.

    Raises ValueError for a number of workers that is none, `needs.Missing` where there is no Dask.
    """
    whole("workers", workers, 1, MOST)
    blocks = [sizes(block) for block in blocks]
    need("Dask")
    from distributed import Client, LocalCluster

    local = LocalCluster(workers, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50)
    with local, Client(local) as client:
        # Also called of a worker that takes the place of one that died.
        client.register_worker_callbacks(functools.partial(get_ready, blocks=blocks))
        yield client


def from_file(path: str | Path, chunks: tuple) -> object:
    """The matrix of a .npy file as a `dask.array`, of which each task reads its own block; float32."""
    import dask.array as da

    shape = np.load(path, mmap_mode="r").shape
    blocks = da.core.normalize_chunks(chunks, shape, dtype=np.float32)
    return da.map_blocks(read_block, chunks=blocks, meta=np.empty((0, 0), np.float32), path=str(path))


def read_block(path: str, block_info: dict | None = None) -> np.ndarray:
    """The block of that file that Dask says this task is for."""
    rows, columns = block_info[None]["array-location"]
    return np.array(np.load(path, mmap_mode="r")[slice(*rows), slice(*columns)])


@functools.cache
def kernel(worker: str):
    """The kernel of that worker, built once. Workers of a `cluster` are numbered, and take one GPU each."""
    return local_product(int(worker) if worker.isdigit() else 0)


def keep_to_one_core(number):
    """Let this process run on one core; a driver that it loads from now on starts no more threads than that."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        for thread in psutil.Process().threads():
            with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
                os.sched_setaffinity(thread.id, {cores[number % len(cores)]})


def get_ready(dask_worker: object, blocks: Iterable[tuple[int, int, int]]) -> None:
    """Give the worker its core, and make its kernel ready for blocks of these sizes. Dask passes the worker."""
    keep_to_one_core(int(dask_worker.name))
    k = kernel(str(dask_worker.name))
    for block in blocks:
        k.ready(*block)


def block_product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A block of C, by the ladder's kernel: the function that each task calls."""
    from distributed import get_worker

    return kernel(str(get_worker().name))(np.ascontiguousarray(A), np.ascontiguousarray(B))
