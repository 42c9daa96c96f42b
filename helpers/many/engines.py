"""Whether MPI and Dask are installed; where one is not, what adds it."""

from .. import devices
from ..launch import KernelError
from ..launch.given import takes, told


class RunFailed(KernelError):
    """A run of several processes that could not begin, or did not end well; the message is theirs."""


@takes
def have(engine: str) -> bool:
    """Whether "MPI" or "Dask" is installed; where it is not, print the one line that adds it."""
    try:
        need(engine)
    except RunFailed as error:
        print(error)
        return False
    return True


def need(engine: str) -> None:
    """Raise RunFailed, with the line that adds it, unless that engine is installed."""
    engines = devices.engines()
    if engine not in engines:
        raise ValueError(f"there is no engine {told(engine)}; there are: {', '.join(engines)}.")
    if lacks := engines[engine]:
        raise RunFailed(f"{engine} is not installed: there is no {lacks}. To add it: {devices.ADD_ENGINES}")
