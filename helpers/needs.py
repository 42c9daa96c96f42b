"""What some pages need beside the course itself, and the one remedy for each lack: the only place for both."""

import contextlib
import shlex
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from . import devices
from .drivers import version

PINS = Path(__file__).resolve().parent.parent / "tools/locks"  # not there on Colab, which has the package alone


class Missing(ImportError):
    """Something that a page needs is not installed. Its text is one line: what is missing, and the remedy."""


class Need(NamedTuple):
    """Something that is installed by an extra of pyproject.toml."""

    name: str
    extra: str
    megabytes: int  # of downloads, some
    pages: tuple[str, ...]  # that have cells which need it
    modules: tuple[str, ...] = ()  # what one imports of it; nothing of the compiler

    def missing(self) -> bool:
        """Whether something of it is not installed."""
        return not (all(map(find_spec, self.modules)) if self.modules else devices.has_compiler())


NEEDS = {
    "compiler": Need("NVIDIA's compiler", "cuda13", 231, ("07", "09", "10", "17", "18")),
    "engines": Need("MPI and Dask", "many", 18, ("15",), ("mpi4py", "dask", "distributed")),
    "blocks": Need("Triton and Warp", "blocks", 435, ("18",), ("triton", "warp")),
}


def remedy(extra: str) -> str:
    """The command that adds an extra of the course to the Python that runs this; in a notebook it is a cell's line."""
    extra = devices.cuda_extra() if extra == "cuda13" else extra
    in_notebook = "IPython" in sys.modules and sys.modules["IPython"].get_ipython()
    pip = "%pip install" if in_notebook else f"{shlex.quote(sys.executable)} -m pip install"
    pins = PINS / ("constraints-cuda12.txt" if extra == "cuda12" else "constraints.txt")
    return f'{pip} -c "{pins}" "matmul-ladder[{extra}]"' if pins.exists() else f'{pip} "matmul-ladder[{extra}]"'


def remedy_for(problem: str, *packages: str) -> str:
    """The pip command that adds those packages; where the first is there, the problem, and the one that mends them."""
    if not version(packages[0]):
        return f"pip install {' '.join(packages)}"
    pins = [f"{package}=={version(package)}" if version(package) else package for package in packages]
    return f"{problem.rstrip('.')}. To mend it: pip install --force-reinstall {' '.join(pins)}"


def lack(what: str) -> str | None:
    """One line that says what is missing of a need, a key of `NEEDS`, and what adds it; None if nothing is."""
    one = NEEDS[what]
    if not one.missing():
        return None
    add = f"To add that: {remedy(one.extra)} (some {one.megabytes} MB; no GPU is needed). Then restart Python."
    return f"{one.name}: not installed. {add}"


def need(what: str) -> None:
    """Do nothing where everything is installed of a need. `what`: as for `lack`. Raises Missing for what is not."""
    if text := lack(what):
        raise Missing(text)


@contextlib.contextmanager
def loading(*packages: str) -> Iterator[None]:
    """Within it, whatever loading the first of those packages raises is raised as `Missing`, with pip's command."""
    try:
        yield
    except Exception as error:  # a broken one may raise anything
        raise Missing(f"{packages[0]} cannot be loaded: {remedy_for(str(error), *packages)}") from None


def line_of(error: BaseException) -> str | None:
    """The line that answers an error which comes of something that is not installed; None for another error."""
    if isinstance(error, ModuleNotFoundError):
        return next((lack(what) for what, one in NEEDS.items() if error.name in one.modules), None)
    return str(error) if isinstance(error, Missing) else None
