"""`python -m helpers record results`: a machine's scoreboards, measured and kept in a JSON file, and read again."""

import json
import platform
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import strftime

import numpy as np

from .. import devices, files, ladder
from ..launch.dialects import dialects
from .scoreboards import Scoreboard, scoreboard
from .timing import Timing

CHECKOUT = Path(__file__).resolve().parent.parent.parent
# In a checkout, the repository's folder. Where the course is installed, one in the directory where one works.
RESULTS = CHECKOUT / "results" if (CHECKOUT / "pyproject.toml").exists() else Path("results")
PACKAGES = ("numpy", "numba", "numba-cuda", "pyopencl", "torch", "intel-opencl-rt")
STORED = ("dialect", "step", "device", "parameters")  # of a Timing, as a file names them
# There the steps before register_2d would take minutes.
LARGE = {
    "CPU": [2048, 4096, (16, 2048, 2048), (2048, 2048, 16), (2048, 1, 2048)],
    "GPU": [4095, 8192, (16, 4096, 4096), (4096, 4096, 16), (4096, 1, 4096)],
}
SMALL = {"CPU": [128, 256, 512, 1024], "GPU": [512, 1024, 2048, 4096]}  # the last of all is what page 13 draws


@dataclass(frozen=True)
class MachineResults:
    """The scoreboards of one machine, as its file in results/ has them.

    about   {"drivers": {device: driver}, "versions": {package: version}, "system": ..., "cpu": which CPU it has}
    """

    device: str
    date: str
    boards: tuple
    about: dict

    def __repr__(self):
        sizes = ", ".join(f"{b.M} x {b.N} x {b.K}" for b in self.boards)
        return f"{self.device}, recorded on {self.date}: {sizes}"


def record(folder: str | Path = RESULTS) -> Path:
    """Time the ladder beside the libraries, print each scoreboard, and write this machine's file. Returns its path.

    It takes some minutes. The file is called after the GPU, or the CPU and its cores. It is written after each size, in
    place of an older one, and names devices, drivers and versions, never the machine or its user. Raises OSError where
    it cannot be written and ValueError where there is nothing to time.
    """
    found, boards = timed_devices(), []
    gpus = [device.name for device in found if device.kind == "GPU"]
    name = gpus[0] if gpus else devices.cpu_model()
    path = Path(folder) / f"{re.sub('[^A-Za-z0-9]+', '-', name).strip('-')}.json"
    files.try_writing(path, make_folder=True)
    versions = {package: devices.version(package) for package in PACKAGES}
    about = {
        "device": gpus[0] if gpus else found[-1].name,
        "cpu": devices.cpu_model(),
        "date": strftime("%Y-%m-%d"),
        "system": f"{platform.system()} {platform.machine()}",
        "drivers": {f"{d.dialect}: {d.name}": d.driver for d in found},
        "versions": {"python": platform.python_version()} | {name: one for name, one in versions.items() if one},
    }
    for kind in LARGE:
        names = [device.dialect for device in found if (device.kind == "GPU") == (kind == "GPU")]
        rungs = [step for step in ladder.rungs() if kind in ladder.STEPS[step].defaults]
        for size in LARGE[kind] + SMALL[kind] if names else []:
            board = scoreboard(size, names, rungs if size in SMALL[kind] else rungs[rungs.index("register_2d") :])
            print(board, end="\n\n", flush=True)
            boards.append(as_dict(board))
            files.replace_text(path, json.dumps(about | {"boards": boards}, indent=1) + "\n")
    return path


def timed_devices() -> list[devices.Device]:
    """The devices of the dialects that have a clock. Raises ValueError where none has."""
    found = []
    for one in dialects(None):
        with suppress(devices.DeviceError):
            found.append(one.device(None, None))
    found = [device for device in found if device.kind != "PTX machine"]
    if not found:
        raise ValueError("Here nothing has a speed to record. python -m helpers doctor says what would add a device.")
    return found


def as_dict(board: Scoreboard) -> dict:
    """The scoreboard for JSON."""
    contestants = [
        {name: getattr(t, name) for name in (*STORED, "gflops")} | {"seconds": seconds}
        for t, seconds in zip(board.timings, board.seconds, strict=True)
    ]
    about = {"peak_gflops": board.peak / 1e9, "peak_of": board.device, "on_host": board.on_host, "blas": board.blas}
    return {"M": board.M, "N": board.N, "K": board.K, **about, "contestants": contestants}


def from_dict(b: dict) -> Scoreboard:
    """The scoreboard that `as_dict` made this of."""
    timings, seconds = [], [tuple(c["seconds"]) for c in b["contestants"]]
    for c, times in zip(b["contestants"], seconds, strict=True):
        about = {name: c[name] for name in STORED}
        timings.append(Timing(M=b["M"], N=b["N"], K=b["K"], seconds=float(np.median(times)), spread=None, **about))
    probe = 1e9 * b["peak_gflops"], b["peak_of"], b["on_host"]
    return Scoreboard(b["M"], b["N"], b["K"], tuple(timings), tuple(seconds), *probe, blas=b["blas"])


def read_results(folder: str | Path = RESULTS) -> list[MachineResults]:
    """All machines recorded in that folder, a list of `MachineResults`; an empty one where there are none."""
    machines = []
    for path in sorted(Path(folder).glob("*.json")):
        about = json.loads(path.read_text(encoding="utf-8"))
        boards = tuple(map(from_dict, about.pop("boards")))
        machines.append(MachineResults(about.pop("device"), about.pop("date"), boards, about))
    return machines
