"""Whether MPI and Dask are installed; where one is not, what adds it."""

from .. import devices
from ..launch import KernelError
from ..launch.given import takes, told


class RunFailed(KernelError):
    """A run of several processes that could not begin, or did not end well; the message is theirs."""


@takes
def have(engine: str) -> bool:
    """Whether "MPI" or "Dask" is installed; where it is not, print the one line that adds it."""
    if said := problem(engine):
        print(said)
    return not said


def need(engine: str) -> None:
    """Raise RunFailed, with the line that adds it, unless that engine is installed."""
    if said := problem(engine):
        raise RunFailed(said)


def problem(engine: str) -> str:
    """What keeps that engine from running here, and the remedy; empty where nothing does."""
    engines = devices.engines()
    if engine not in engines:
        raise ValueError(f"there is no engine {told(engine)}; there are: {', '.join(engines)}.")
    lacks = engines[engine]
    return f"{engine} is not installed: there is no {lacks}. To add it: {devices.ADD_ENGINES}" if lacks else ""
