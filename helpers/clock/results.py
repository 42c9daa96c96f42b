"""What was recorded of machines, a JSON file each in results/: devices, drivers, versions, date and scoreboards."""

import json
import os
import platform
import re
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from time import strftime

import numpy as np

from .. import devices
from .scoreboard import Scoreboard
from .timing import Timing

RESULTS = Path(__file__).resolve().parent.parent.parent / "results"
PACKAGES = ("numpy", "numba", "numba-cuda", "pyopencl", "torch", "mkl", "intel-opencl-rt")


@dataclass(frozen=True)
class MachineResults:
    """The scoreboards of one machine, as its file in results/ has them.

    about   {"drivers": {device: driver}, "versions": {package: version}, "system": ..., whatever else was said of it}
    """

    device: str
    date: str
    boards: tuple
    about: dict

    def __repr__(self):
        sizes = ", ".join(f"{b.M} x {b.N} x {b.K}" for b in self.boards)
        return f"{self.device}, recorded on {self.date}: {sizes}"


def write_results(boards: list[Scoreboard], folder: str | Path = RESULTS, **about: object) -> Path:
    """Write scoreboards into the machine's file in that folder, over older ones of the same sizes. Returns its path.

    `about`: what else to say of the run. The file names devices, drivers and versions, never the machine or its user.
    """
    boards = list(boards)
    # A machine is called after its GPU if one took part, else after the CPU that OpenCL ran on.
    used = [d for d in (devices.cuda_device(), devices.opencl_device()) if d.kind != "simulator"]
    name = next((d.name for d in used if d.kind == "GPU"), used[-1].name)
    path = Path(folder) / f"{re.sub('[^A-Za-z0-9]+', '-', name).strip('-')}.json"
    kept = (
        [b for b in read_file(path).boards if (b.M, b.N, b.K) not in {(b.M, b.N, b.K) for b in boards}]
        if path.exists()
        else []
    )
    everything = {
        "device": name,
        "date": strftime("%Y-%m-%d"),
        "system": f"{platform.system()} {platform.machine()}",
        "drivers": {f"{d.dialect}: {d.name}": d.driver for d in used},
        "versions": versions(),
        **about,
        "boards": [as_dict(b) for b in sorted([*kept, *boards], key=lambda b: (b.M * b.N * b.K, b.M))],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")
    os.replace(part, path)  # whole, or not at all
    return path


def versions() -> dict:
    """{package: version} of what a result depends on, as far as it is installed."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def as_dict(board: Scoreboard) -> dict:
    """The scoreboard for JSON."""
    contestants = [
        {
            "dialect": t.dialect,
            "step": t.step,
            "device": t.device,
            "parameters": t.parameters,
            "gflops": t.gflops,
            "seconds": list(seconds),
        }
        for t, seconds in zip(board.timings, board.seconds, strict=True)
        if not t.simulated
    ]
    return {
        "M": board.M,
        "N": board.N,
        "K": board.K,
        "peak_gflops": board.peak / 1e9,
        "peak_of": board.device,
        "on_host": board.on_host,
        "blas": board.blas,
        "contestants": contestants,
        "missing": [m.name for m in board.missing],
    }


def read_file(path: Path) -> MachineResults:
    """The `MachineResults` of one file. Raises ValueError, naming the file, if it is not one of ours."""
    try:
        stored = json.loads(Path(path).read_text())
        boards = []
        for b in stored.pop("boards"):
            size = b["M"], b["N"], b["K"]
            timings = [
                Timing(
                    c["dialect"], c["step"], *size, float(np.median(c["seconds"])), None, c["device"], c["parameters"]
                )
                for c in b["contestants"]
            ]
            boards.append(
                Scoreboard(
                    *size,
                    tuple(timings),
                    tuple(tuple(c["seconds"]) for c in b["contestants"]),
                    1e9 * b["peak_gflops"],
                    b["peak_of"],
                    b["on_host"],
                    blas=b["blas"],
                )
            )
        return MachineResults(stored.pop("device"), stored.pop("date"), tuple(boards), stored)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{Path(path).name} is no record of a scoreboard ({type(error).__name__}: {error}). "
            f"Delete it, or write it again: python -m helpers bench --save"
        ) from None


def read_results(folder: str | Path = RESULTS) -> list[MachineResults]:
    """All machines recorded in that folder, a list of `MachineResults`."""
    return [read_file(path) for path in sorted(Path(folder).glob("*.json"))]
