"""Whether MPI and Dask are installed; where one is not, what adds it."""

from .. import devices, needs
from ..launch import KernelError


class RunFailed(KernelError):
    """A run of several processes that did not end well; the message is theirs."""


def need(engine: str) -> None:
    """Do nothing where that engine is installed, "MPI" or "Dask". Raises `needs.Missing` where it is not."""
    if devices.engines()[engine]:
        needs.need("engines")
