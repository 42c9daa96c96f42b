"""Whether MPI and Dask are installed; where one is not, what adds it."""

from .. import devices, needs
from ..arguments import told
from ..launch import KernelError


class RunFailed(KernelError):
    """A run of several processes that could not begin, or did not end well; the message is theirs."""


def have(*engines: str) -> tuple[bool, ...]:
    """Whether each of these is installed: "MPI", "Dask". One line is printed that adds what is missing.

    Raises ValueError for another engine.
    """
    there = tuple(not missing(engine) for engine in engines)
    if not all(there):
        print(needs.lack("engines"))
    return there


def need(engine: str) -> None:
    """Raise RunFailed, with the line that adds it, unless that engine is installed."""
    if missing(engine):
        raise RunFailed(needs.lack("engines"))


def missing(engine: str) -> str | None:
    """What is missing of an engine; None if nothing is. Raises ValueError for an engine that there is not."""
    engines = devices.engines()
    if not isinstance(engine, str) or engine not in engines:
        raise ValueError(f"there is no engine {told(engine)}; there are: {', '.join(engines)}.")
    return engines[engine]
