"""What some pages need beside the course itself, and the one remedy for each lack: the only place for both."""

import contextlib
import importlib.metadata
import os
import platform
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .language import ENGLISH, spelled
from .packages import remedy_for

COURSE = Path(__file__).resolve().parent.parent


class Missing(ImportError):
    """Something that a page needs is not installed. Its text is one line: what is missing, and the remedy."""


class Need(NamedTuple):
    """Something that is installed by an extra of pyproject.toml.

    name       as one says it
    extra      the extra
    megabytes  what is downloaded, some
    pages      the numbers of the pages most of whose cells need it
    where      the systems that it is made for
    modules    what one imports of it
    """

    name: str
    extra: str
    megabytes: int
    pages: tuple[str, ...]
    where: str
    modules: tuple[str, ...] = ()


NEEDS = {
    "compiler": Need(
        "NVIDIA's compiler (12.9 or newer)", "cuda13", 231, ("07", "09", "10", "17", "18"), "Linux and Windows"
    ),
    "engines": Need(
        "MPI and Dask", "many", 18, (), "Linux and macOS (Dask: Windows, too)", ("mpi4py", "dask", "distributed")
    ),
    "blocks": Need("Triton and Warp", "blocks", 435, ("18",), "Linux x86-64", ("triton", "warp")),
}


def in_own_venv() -> bool:
    """Whether the Python that runs this is that of the course's own .venv."""
    return Path(sys.prefix).resolve() == (COURSE / ".venv").resolve()


def remedy(extra: str) -> str:
    """The command that adds an extra of the course to the Python that runs this.

    In the course's own .venv it is given in the course's folder. Elsewhere, as with conda or on Binder, pip of that
    environment installs it, at the versions that were tested. On Colab, where there is no folder of the course, pip
    installs the extra's packages by name. In a notebook pip is a line of a cell.
    """
    if in_own_venv():
        return rf"py tools\install.py {extra}" if os.name == "nt" else f"python3 tools/install.py {extra}"
    python = sys.executable if shutil.which("python") != sys.executable else "python"
    in_notebook = "IPython" in sys.modules and sys.modules["IPython"].get_ipython()
    pip = "%pip install" if in_notebook else f"{shlex.quote(python)} -m pip install"
    pins = COURSE / "tools/locks" / ("constraints-cuda12.txt" if extra == "cuda12" else "constraints.txt")
    if pins.exists():
        return f'{pip} -c "{pins}" -e "{COURSE}[{extra}]"'
    lines = importlib.metadata.requires("matmul-ladder")
    packages = [line.partition(";")[0].strip() for line in lines if re.search(rf"extra == .{extra}\b", line)]
    return " ".join([pip, *(f'"{package}"' for package in packages)])


def lack(what: str) -> str | None:
    """One line that says what is missing of a need, and what adds it; None if nothing is. `what`: a key of `NEEDS`."""
    from . import devices  # loaded only where somebody asks

    need, extra = NEEDS[what], NEEDS[what].extra
    if what == "compiler":
        missing, extra = [] if devices.has_compiler() else [need.name], devices.cuda_extra()
    elif what == "engines":
        missing = [engine for engine, without in devices.engines().items() if without]
    else:
        missing = [name for name, version in devices.block_languages().items() if not version]
    if not missing:
        return None
    said = f"{' and '.join(missing)} {'are' if missing[1:] else 'is'} not installed"
    if platform.system().replace("Darwin", "macOS") not in need.where:
        return f"{said}: the packages are for {need.where} only."
    how = "In the course's folder" if in_own_venv() else "To add that"
    return f"{said}. {how}: {remedy(extra)} (some {need.megabytes} MB; no GPU is needed). Then restart Python."


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
        why = spelled(ENGLISH, *remedy_for(str(error), *packages))
        raise Missing(f"{packages[0]} cannot be loaded: {why}") from None


def line_of(error: BaseException) -> str | None:
    """The line that answers an error which comes of something that is not installed; None for another error."""
    if isinstance(error, ModuleNotFoundError):
        return next((lack(what) for what, need in NEEDS.items() if error.name in need.modules), None)
    return str(error) if isinstance(error, Missing) else None
