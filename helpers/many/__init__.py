"""How is a product computed that is too large for one device, or for one machine?"""

from .mpi import Run, RunFailed, bytes_moved, mpirun, summa, summa_all
from .sharing import Together, together
from .streaming import Plan, Streamed, plan, streamed

__all__ = [
    "Plan",
    "Run",
    "RunFailed",
    "Streamed",
    "Together",
    "bytes_moved",
    "mpirun",
    "plan",
    "streamed",
    "summa",
    "summa_all",
    "together",
]
