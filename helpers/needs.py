"""What some pages need beside what `make lab` installs, and the one remedy for each lack: the only place for both."""

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

COURSE = Path(__file__).resolve().parent.parent


class Missing(Exception):
    """Something that a page needs is not installed. Its text is one line: what is missing, and the remedy."""


class Need(NamedTuple):
    """Something that is installed by an extra of pyproject.toml.

    name       as one says it
    extra      the extra
    megabytes  what is downloaded, some
    pages      the numbers of the pages that stop at their first cell without it
    where      the systems that it is made for
    """

    name: str
    extra: str
    megabytes: int
    pages: tuple[str, ...]
    where: str


NEEDS = {
    "compiler": Need("NVIDIA's compiler", "cuda13", 220, ("07", "09", "10", "17", "18"), "Linux and Windows"),
    "engines": Need("MPI and Dask", "many", 18, (), "Linux and macOS (Dask: everywhere)"),
    "blocks": Need("Triton and Warp", "blocks", 435, ("18",), "Linux x86-64"),
}


def remedy(extra: str) -> str:
    """The command that adds an extra of the course to the Python that runs this, at the versions that were tested.

    It is given in the course's folder. In an environment that is not the course's own .venv, pip of that environment
    installs the extra.
    """
    if Path(sys.prefix).resolve() == (COURSE / ".venv").resolve():
        return rf"py tools\install.py {extra}" if os.name == "nt" else f"python3 tools/install.py {extra}"
    python = sys.executable if shutil.which("python") != sys.executable else "python"
    pins = "constraints-cuda12.txt" if extra == "cuda12" else "constraints.txt"
    return f'{shlex.quote(python)} -m pip install -c {pins} -e ".[{extra}]"'


def lack(what: str) -> str | None:
    """One line that says what is missing of a need, and the remedy; None if nothing is. `what`: a key of `NEEDS`."""
    from . import devices  # so that tools/install.py can read this file before anything is installed

    need, extra = NEEDS[what], NEEDS[what].extra
    if what == "compiler":
        missing, extra = [need.name] * (not devices.has_compiler()), devices.cuda_extra()
    elif what == "engines":
        missing = [engine for engine, without in devices.engines().items() if without]
    else:
        missing = [name for name, version in devices.block_languages().items() if not version]
    if not missing:
        return None
    are = "are" if len(missing) > 1 else "is"
    return (
        f"{' and '.join(missing)} {are} not installed. In the course's folder: {remedy(extra)} (some "
        f"{need.megabytes} MB; for {need.where}; no GPU is needed). Then restart the page's kernel."
    )


def need(*what: str) -> None:
    """Do nothing where everything is installed that a page needs. `what`: keys of `NEEDS`, such as "compiler".

    Raises Missing, with one line, for the first that is not. ValueError: a key that there is not.
    """
    for one in what:
        if one not in NEEDS:
            raise ValueError(f"need({one!r}): there is no such need; there are {', '.join(map(repr, NEEDS))}.")
        if text := lack(one):
            raise Missing(text)
