# What this room exports, and where it stands. lazy_loader reads it, and so do editors and mypy.

from . import rank as rank
from . import summa as summa
from .engines import RunFailed as RunFailed
from .memory import peak_bytes as peak_bytes
from .model import INFINIBAND_NDR as INFINIBAND_NDR
from .model import Network as Network
from .model import predicted_seconds as predicted_seconds
from .model import this_machine as this_machine
from .mpi import Run as Run
from .mpi import bytes_moved as bytes_moved
from .mpi import mpirun as mpirun
from .mpi import on_ranks as on_ranks
from .on_dask import block_product as block_product
from .on_dask import cluster as cluster
from .on_dask import from_file as from_file
from .streaming import Plan as Plan
from .streaming import Streamed as Streamed
from .streaming import plan as plan
from .streaming import streamed as streamed
