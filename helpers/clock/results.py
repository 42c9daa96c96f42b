"""What was recorded of machines, a JSON file each in results/: devices, drivers, versions, date and scoreboards."""

import json
import platform
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import strftime

import numpy as np

from .. import devices, files
from ..arguments import sizes
from ..launch.dialects import dialects
from .scoreboards import Scoreboard
from .timing import Timing

CHECKOUT = Path(__file__).resolve().parent.parent.parent
# In a checkout, the repository's folder. Where the course is installed, one in the directory where one works.
RESULTS = CHECKOUT / "results" if (CHECKOUT / "pyproject.toml").exists() else Path("results")
LARGEST = 10_000_000  # bytes of a file
STORED = ("dialect", "step", "device", "parameters")  # of a Timing, as a file names them
PACKAGES = ("numpy", "numba", "numba-cuda", "pyopencl", "torch", "intel-opencl-rt")


@dataclass(frozen=True)
class MachineResults:
    """The scoreboards of one machine, as its file in results/ has them.

    about   {"drivers": {device: driver}, "versions": {package: version}, "system": ..., "cpu": which CPU it has,
            whatever else was said of it}
    made    for each of the boards {"date", "drivers", "versions", "run"}: when and with what it was measured
    """

    device: str
    date: str
    boards: tuple
    about: dict
    made: tuple = ()

    def __repr__(self):
        sizes = ", ".join(dict.fromkeys(f"{b.M} x {b.N} x {b.K}" for b in self.boards))
        cpu = self.about.get("cpu", "")
        name = cpu if cpu.startswith(self.device) else self.device
        return f"{name}, recorded on {self.date}: {sizes}"


def write_results(boards: list[Scoreboard], folder: str | Path = RESULTS, run: str = "", **about: object) -> Path:
    """Write scoreboards into the machine's file in that folder, over older ones of the same sizes and dialects.

    Returns its path. `run`: what measured them. `about`: what else to say of the machine. The file names devices,
    drivers and versions, never the machine or its user. Raises
    ValueError where nothing was timed, or a file there is damaged, OSError where it cannot be written.
    """
    path = results_file(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    everything = merged(read_file(path), boards, made_now(run), about)
    files.replace_text(path, json.dumps(everything, indent=1) + "\n")
    return path


def made_now(run: str) -> dict:
    """When and with what boards are measured now, as `MachineResults.made` has it."""
    drivers = {f"{d.dialect}: {d.name}": d.driver for d in used_devices()}
    return {"date": strftime("%Y-%m-%d"), "drivers": drivers, "versions": versions(), "run": run}


def merged(old: MachineResults | None, boards: list, made: dict, about: dict) -> dict:
    """What the file says from now on: these boards, the older ones that they do not replace, and the machine."""
    rows = {key(b): (b, then) for b, then in zip(old.boards, old.made, strict=True)} if old else {}
    rows |= {key(b): (b, made) for b in boards}
    rows = sorted(rows.values(), key=lambda row: (row[0].M * row[0].N * row[0].K, row[0].M, sorted(key(row[0])[1])))
    everything = {
        "device": main_device().name,
        "cpu": devices.cpu_model(),
        "date": made["date"],
        "system": f"{platform.system()} {platform.machine()}",
        "drivers": made["drivers"],
        "versions": made["versions"],
    }
    about = (old.about if old else {}) | everything | about
    return everything | about | {"boards": [as_dict(b) | {"made": then} for b, then in rows]}


def results_file(folder: str | Path) -> Path:
    """The machine's file in that folder, which need not exist: called after the GPU, or the CPU and its cores."""
    device = main_device()
    name = device.name
    if device.kind != "GPU":
        cpu = devices.cpu_model()
        name = cpu if cpu.startswith(name) else f"{name} {cpu}"
    slug = re.sub("[^A-Za-z0-9]+", "-", name).strip("-")
    return Path(folder) / f"{slug}.json"


def used_devices() -> list[devices.Device]:
    """The devices of the usual dialects, but for the PTX machine and Oclgrind, whose times mean nothing."""
    found = []
    for one in dialects(None):
        with suppress(devices.DeviceError):
            found.append(one.device(None, None))
    # An interpreter is none, either: Oclgrind, if it was asked for by name.
    return [d for d in found if d.kind != "PTX machine" and "Oclgrind" not in d.driver]


def main_device() -> devices.Device:
    """The device that this machine's results are called after."""
    used = used_devices()
    if not used:
        raise ValueError(
            "Here CUDA runs on the PTX machine and OpenCL on Oclgrind, so there are no times to record. "
            "python -m helpers doctor says what would add a device."
        )
    return next((d for d in used if d.kind == "GPU"), used[-1])


def prepare(folder: str | Path) -> Path:
    """Find out that this machine's file can be written there, and read. Returns its path."""
    path = results_file(folder)
    files.try_writing(path)
    read_file(path)
    return path


def key(board: Scoreboard) -> tuple:
    """What a later board replaces an earlier one by: the size, and the dialects that were timed beside the host."""
    return (board.M, board.N, board.K), frozenset(t.dialect for t in board.timings) - {"Python"}


def versions() -> dict:
    """{package: version} of what a result depends on, as far as it is installed."""
    found = {package: devices.version(package) for package in PACKAGES}
    return {"python": platform.python_version()} | {package: number for package, number in found.items() if number}


def as_dict(board: Scoreboard) -> dict:
    """The scoreboard for JSON."""
    contestants = [
        {name: getattr(t, name) for name in (*STORED, "gflops")} | {"seconds": seconds}
        for t, seconds in zip(board.timings, board.seconds, strict=True)
    ]
    about = {"peak_gflops": board.peak / 1e9, "peak_of": board.device, "on_host": board.on_host, "blas": board.blas}
    missing = [m.name for m in board.missing]
    return {"M": board.M, "N": board.N, "K": board.K, **about, "contestants": contestants, "missing": missing}


def from_dict(b: dict) -> Scoreboard:
    """The scoreboard that `as_dict` made this of."""
    M, N, K = sizes((b["M"], b["N"], b["K"]))
    timings, seconds = [], [tuple(c["seconds"]) for c in b["contestants"]]
    for c, times in zip(b["contestants"], seconds, strict=True):
        about = {name: c[name] for name in STORED}
        timings.append(Timing(M=M, N=N, K=K, seconds=float(np.median(times)), spread=None, **about))
    probe = 1e9 * b["peak_gflops"], b["peak_of"], b["on_host"]
    return Scoreboard(M, N, K, tuple(timings), tuple(seconds), *probe, blas=b["blas"])


def read_file(path: Path) -> MachineResults | None:
    """The `MachineResults` of a file, if it is there, fit for a screen. Raises ValueError if it is not one of ours."""
    if not Path(path).exists():
        return None
    try:
        stored = files.plain(files.read_json(path, LARGEST, "a machine's file has some 100 kB"))
        boards = stored.pop("boards")
        # Files of version 1.0 say this once, for all of their boards.
        all_of_them = {"date": stored["date"], "drivers": stored.get("drivers"), "versions": stored.get("versions")}
        made = tuple(dict(b.get("made", all_of_them)) for b in boards)
        return MachineResults(stored.pop("device"), stored.pop("date"), tuple(map(from_dict, boards)), stored, made)
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(
            f"{files.plain(Path(path).name)} is no record of a scoreboard ({type(error).__name__}: {error}). "
            f"Give it another ending, such as .old, and the next record begins a new one."
        ) from None


def read_results(folder: str | Path = RESULTS) -> list[MachineResults]:
    """All machines recorded in that folder, a list of `MachineResults`; an empty one where there are none."""
    return [read_file(path) for path in sorted(Path(folder).glob("*.json"))]
