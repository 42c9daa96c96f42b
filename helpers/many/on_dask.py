"""A product as a graph of tasks, on Dask's workers: processes of this machine, or of a cluster."""

import contextlib
import functools
from collections.abc import Iterator

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
