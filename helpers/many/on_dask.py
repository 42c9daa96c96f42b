"""A product as a graph of tasks, on Dask's workers: processes of this machine, or of a cluster."""

import contextlib
import functools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from .engines import need
from .summa import local_product


@contextlib.contextmanager
def cluster(workers: int) -> Iterator:
    """A `distributed.Client` of so many processes on this machine, one thread each, which end with the context."""
    need("Dask")
    from distributed import Client, LocalCluster

    local = LocalCluster(workers, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50)
    with local, Client(local) as client:
        yield client


def from_file(path: str | Path, chunks: tuple):
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
def kernel():
    """This worker's kernel, built once."""
    from distributed import get_worker

    return local_product(int(get_worker().name))


def block_product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A block of C, by the ladder's kernel: the function that each task calls."""
    return kernel()(np.ascontiguousarray(A), np.ascontiguousarray(B))


def bytes_received(dask_worker) -> int:
    """What that worker has received of others so far. `client.run(bytes_received)` asks all of them."""
    return sum(message["total"] for message in dask_worker.transfer_incoming_log)
