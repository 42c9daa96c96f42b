"""What some pages need beside the course itself, and the one remedy for each lack: the only place for both."""

import importlib.metadata
import os
import platform
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

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


def remedy(*extras: str) -> str:
    """The command that adds extras of the course to the Python that runs this.

    In the course's own .venv it is given in the course's folder. Elsewhere, as with conda or on Binder, pip of that
    environment installs them, at the versions that were tested. On Colab, where there is no folder of the course, pip
    installs the packages of the extras by name. In a notebook pip is a line of a cell.
    """
    if in_own_venv():
        words = " ".join(extras)
        return rf"py tools\install.py {words}" if os.name == "nt" else f"python3 tools/install.py {words}"
    python = sys.executable if shutil.which("python") != sys.executable else "python"
    in_notebook = "IPython" in sys.modules and sys.modules["IPython"].get_ipython()
    pip = "%pip install" if in_notebook else f"{shlex.quote(python)} -m pip install"
    pins = COURSE / ("constraints-cuda12.txt" if "cuda12" in extras else "constraints.txt")
    if pins.exists():
        return f'{pip} -c "{pins}" -e "{COURSE}[{",".join(extras)}]"'
    return " ".join([pip, *(f'"{package}"' for extra in extras for package in packages(extra))])


def packages(extra: str) -> list[str]:
    """The packages of an extra, with their bounds, as the course's own metadata have them."""
    lines = importlib.metadata.requires("matmul-ladder")
    return [line.partition(";")[0].strip() for line in lines if re.search(rf"extra == [\"']{extra}[\"']", line)]


def missing_of(what: str) -> list[str]:
    """The names of what is not installed of a need. `what`: a key of `NEEDS`."""
    from . import devices  # loaded only where somebody asks

    if what == "compiler":
        return [NEEDS[what].name] * (not devices.has_compiler())
    if what == "engines":
        return [engine for engine, without in devices.engines().items() if without]
    return [name for name, version in devices.block_languages().items() if not version]


def lack(*what: str) -> str | None:
    """One line that says what is missing of some needs, and the one remedy for all; None if nothing is.

    `what`: keys of `NEEDS`, the one that is made for the fewest systems last.
    """
    from . import devices

    missing = {NEEDS[one]: names for one in what if (names := missing_of(one))}
    if not missing:
        return None
    *names, last = [name for names in missing.values() for name in names]
    said = f"{', '.join(names)} and {last} are not installed" if names else f"{last} is not installed"
    where, system = [*missing][-1].where, platform.system().replace("Darwin", "macOS")
    if system not in where:
        return f"{said}: the packages are for {where} only."
    extras = [devices.cuda_extra() if need is NEEDS["compiler"] else need.extra for need in missing]
    how = "In the course's folder" if in_own_venv() else "To add that"
    megabytes = sum(need.megabytes for need in missing)
    return f"{said}. {how}: {remedy(*extras)} (some {megabytes} MB; no GPU is needed). Then restart Python."


def need(*what: str) -> None:
    """Do nothing where everything is installed of some needs. `what`: as for `lack`. Raises Missing for what is not."""
    if text := lack(*what):
        raise Missing(text)


def line_of(error: BaseException) -> str | None:
    """The line that answers an error which comes of something that is not installed; None for another error."""
    if isinstance(error, Missing):
        return str(error)
    if isinstance(error, ModuleNotFoundError):
        for what, need in NEEDS.items():
            if error.name in need.modules:
                return lack(what)
    return None
