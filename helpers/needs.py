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


def remedy(*extras: str) -> str:
    """The command that adds extras of the course to the Python that runs this, at the versions that were tested.

    It is given in the course's folder. In an environment that is not the course's own .venv, pip of that environment
    installs them.
    """
    if Path(sys.prefix).resolve() == (COURSE / ".venv").resolve():
        words = " ".join(extras)
        return rf"py tools\install.py {words}" if os.name == "nt" else f"python3 tools/install.py {words}"
    python = sys.executable if shutil.which("python") != sys.executable else "python"
    pins = "constraints-cuda12.txt" if "cuda12" in extras else "constraints.txt"
    return f'{shlex.quote(python)} -m pip install -c {pins} -e ".[{",".join(extras)}]"'


def missing_of(what: str) -> list[str]:
    """The names of what is not installed of a need. `what`: a key of `NEEDS`."""
    from . import devices  # so that tools/install.py can read this file before anything is installed

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
    said = f"{', '.join(names)} and {last} are" if names else f"{last} is"
    extras = [devices.cuda_extra() if need is NEEDS["compiler"] else need.extra for need in missing]
    return (
        f"{said} not installed. In the course's folder: {remedy(*extras)} (some "
        f"{sum(need.megabytes for need in missing)} MB; for {[*missing][-1].where}; no GPU is needed). "
        f"Then restart the page's kernel."
    )


def need(*what: str) -> None:
    """Do nothing where everything is installed that a page needs. `what`: as for `lack`.

    Raises Missing, with one line, for all that is not. ValueError: a key that there is not.
    """
    for one in what:
        if not isinstance(one, str) or one not in NEEDS:
            raise ValueError(f"need({one!r}): there is no such need; there are {', '.join(map(repr, NEEDS))}.")
    if text := lack(*what):
        raise Missing(text)
