"""How do many processes, or machines, compute one product of matrices? By SUMMA, on MPI's ranks, or on Dask's workers.

`on_ranks` is what one calls; README.md shows how. On a cluster: python -m mpi4py -m summa FOLDER.
"""

from .model import INFINIBAND_NDR, Network, predicted_seconds, this_machine
from .mpi import Run, RunFailed, bytes_moved, mpirun, on_ranks
from .on_dask import cluster, from_file

__all__ = [
    "INFINIBAND_NDR",
    "Network",
    "Run",
    "RunFailed",
    "bytes_moved",
    "cluster",
    "from_file",
    "mpirun",
    "on_ranks",
    "predicted_seconds",
    "this_machine",
]
