"""`python -m helpers record results`: a machine's scoreboards, measured and kept in a JSON file, and read again."""

import json
import platform
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import strftime

import numpy as np

from .. import devices, files, ladder
from ..checking import check
from ..launch.dialects import dialect, dialects
from .scoreboards import Scoreboard, scoreboard
from .timing import Timing

CHECKOUT = Path(__file__).resolve().parent.parent.parent
# In a checkout, the repository's folder. Where the course is installed, one in the directory where one works.
RESULTS = CHECKOUT / "results" if (CHECKOUT / "pyproject.toml").exists() else Path("results")
PACKAGES = ("numpy", "numba", "numba-cuda", "pyopencl", "torch", "intel-opencl-rt")
STORED = ("dialect", "step", "device", "parameters")  # of a Timing, as a file names them
SMALL = {"CPU": [128, 256, 512, 1024], "GPU": [512, 1024, 2048, 4096]}
# There the steps before register_2d would take minutes.
LARGE = {
    "CPU": [2048, 4096, (16, 2048, 2048), (2048, 2048, 16), (2048, 1, 2048)],
    "GPU": [4095, 8192, (16, 4096, 4096), (4096, 4096, 16), (4096, 1, 4096)],
}


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
        return f"{self.about.get('cpu', self.device)}, recorded on {self.date}: {sizes}"


def record(folder: str | Path = RESULTS, say: Callable = print) -> Path:
    """Check every step, time the ladder beside the libraries, and write this machine's file. Returns its path.

    It takes some minutes. `say` is called with each verdict and scoreboard; a step that is wrong is left out. The file
    is written after each size, in place of an older one, and names devices, drivers and versions, never the machine or
    its user. Raises OSError where it cannot be written and ValueError where there is nothing to time.
    """
    path, found, boards = results_file(folder), timed_devices(), []
    files.try_writing(path, make_folder=True)
    for kind in dict.fromkeys(kind_of(device) for device in found):
        names = [device.dialect for device in found if kind_of(device) == kind]
        right = []
        for step in ladder.rungs():
            verdicts = [check(dialect(name).build(step)) for name in names if suits(step, name)]
            for verdict in verdicts:
                say(verdict)
            if verdicts and all(verdicts):
                right.append(step)
        upper = [step for step in right if ladder.rungs().index(step) >= ladder.rungs().index("register_2d")]
        for size in SMALL[kind] + LARGE[kind]:
            board = scoreboard(size, names, right if size in SMALL[kind] else upper)
            say(board)
            boards.append(board)
            files.replace_text(path, json.dumps(as_dict(boards, found), indent=1) + "\n")
    say(f"saved: {path.resolve()}")
    return path


def kind_of(device: devices.Device) -> str:
    """Which sizes are for that device."""
    return "GPU" if device.kind == "GPU" else "CPU"


def suits(step: str, name: str) -> bool:
    """Whether the step is written in that dialect, and is for the device that it runs on."""
    return name in ladder.STEPS[step].dialects and ladder.STEPS[step].suits(dialect(name).device(None, None))


def timed_devices() -> list[devices.Device]:
    """The devices of the dialects that have a clock. Raises ValueError where none has."""
    found = []
    for one in dialects(None):
        with suppress(devices.DeviceError):
            found.append(one.device(None, None))
    # Oclgrind, if it was asked for by name, is an interpreter, too.
    found = [d for d in found if d.kind != "PTX machine" and "Oclgrind" not in d.driver]
    if not found:
        raise ValueError("Here nothing has a speed to record. python -m helpers doctor says what would add a device.")
    return found


def results_file(folder: str | Path) -> Path:
    """The machine's file in that folder, which need not exist: called after the GPU, or the CPU and its cores."""
    gpus = [device.name for device in timed_devices() if device.kind == "GPU"]
    name = gpus[0] if gpus else devices.cpu_model()
    return Path(folder) / f"{re.sub('[^A-Za-z0-9]+', '-', name).strip('-')}.json"


def as_dict(boards: list[Scoreboard], found: list[devices.Device]) -> dict:
    """What the file says of these boards and devices."""
    numbers = {package: devices.version(package) for package in PACKAGES}
    return {
        "device": next((d.name for d in found if d.kind == "GPU"), found[-1].name),
        "cpu": devices.cpu_model(),
        "date": strftime("%Y-%m-%d"),
        "system": f"{platform.system()} {platform.machine()}",
        "drivers": {f"{d.dialect}: {d.name}": d.driver for d in found},
        "versions": {"python": platform.python_version()} | {name: one for name, one in numbers.items() if one},
        "boards": [board_as_dict(board) for board in boards],
    }


def board_as_dict(board: Scoreboard) -> dict:
    """The scoreboard for JSON."""
    contestants = [
        {name: getattr(t, name) for name in (*STORED, "gflops")} | {"seconds": seconds}
        for t, seconds in zip(board.timings, board.seconds, strict=True)
    ]
    about = {"peak_gflops": board.peak / 1e9, "peak_of": board.device, "on_host": board.on_host, "blas": board.blas}
    return {"M": board.M, "N": board.N, "K": board.K, **about, "contestants": contestants}


def board_from_dict(b: dict) -> Scoreboard:
    """The scoreboard that `board_as_dict` made this of."""
    timings, seconds = [], [tuple(c["seconds"]) for c in b["contestants"]]
    for c, times in zip(b["contestants"], seconds, strict=True):
        about = {name: c[name] for name in STORED}
        timings.append(Timing(M=b["M"], N=b["N"], K=b["K"], seconds=float(np.median(times)), spread=None, **about))
    probe = 1e9 * b["peak_gflops"], b["peak_of"], b["on_host"]
    return Scoreboard(b["M"], b["N"], b["K"], tuple(timings), tuple(seconds), *probe, blas=b["blas"])


def read_file(path: Path) -> MachineResults:
    """The `MachineResults` of a file. Raises ValueError, with its name, if it is not one of ours."""
    try:
        stored = json.loads(Path(path).read_text(encoding="utf-8"))
        boards = tuple(board_from_dict(board) for board in stored.pop("boards"))
        return MachineResults(stored.pop("device"), stored.pop("date"), boards, stored)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{Path(path).name} is no record of a machine ({type(error).__name__}: {error}).") from None


def read_results(folder: str | Path = RESULTS) -> list[MachineResults]:
    """All machines recorded in that folder, a list of `MachineResults`; an empty one where there are none."""
    return [read_file(path) for path in sorted(Path(folder).glob("*.json"))]
