"""The ladder beside the libraries that one would pick instead, timed in turns, and kept in results/, a file a machine."""

import json
import platform
import re
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from time import strftime

import numpy as np

from . import devices, ladder
from .check import draw, judge, run
from .kernel import sizes
from .peers import Missing, peers
from .timing import Timing, contest, ladder_kernels, machine_limits, spell_seconds, usual_size

RESULTS = Path(__file__).resolve().parent.parent / "results"
PEAKS = {}  # device -> flop per second, the most that this process has measured
PACKAGES = ("numpy", "numba", "numba-cuda", "pyopencl", "torch", "mkl", "intel-opencl-rt")


@dataclass(frozen=True)
class Scoreboard:
    """What came of a contest at one size.

    timings   a tuple of `Timing`, one a contestant, NumPy first: the median of its rounds
    seconds   for each contestant its times, round by round, a tuple of tuples; () in the simulator
    peak      measured float32 flop per second of `device`, the one that OpenCL runs on
    on_host   whether `device` is the CPU that NumPy runs on, too
    missing   a tuple of `Missing`: libraries that are not here
    blas      the library behind NumPy's product, and the CPU it was told to serve
    """

    M: int
    N: int
    K: int
    timings: tuple
    seconds: tuple
    peak: float
    device: str
    on_host: bool
    missing: tuple = ()
    blas: str = ""

    def of_peak(self, i):
        """The contestant's rate as a share of its device's measured peak; None where that was not measured."""
        t = self.timings[i]
        mine = t.device == self.device or (t.device == "host" and self.on_host)
        return None if t.simulated or not mine else 1e9 * t.gflops / self.peak

    def times(self, i, j):
        """How many times as fast contestant i is as j: the median of the rounds' ratios, the least and the greatest of them."""
        ratios = [b / a for a, b in zip(self.seconds[i], self.seconds[j])]
        return (float(np.median(ratios)), min(ratios), max(ratios)) if ratios else None

    def library(self, i):
        """The number of the fastest library on the silicon of contestant i; None if there is none."""
        def silicon(t):
            return self.device if t.device == "host" and self.on_host else t.device

        there = [j for j, t in enumerate(self.timings)
                 if t.step not in ladder.STEPS and not t.simulated and silicon(t) == silicon(self.timings[i])]
        return min(there, key=lambda j: self.timings[j].seconds, default=None)

    def __repr__(self):
        rounds = max(map(len, self.seconds))
        title = f"{self.M} x {self.N} x {self.K}, {rounds} round{'s' * (rounds > 1)}"
        lines = [f"{title:28}{'time':>9}{'GFLOP/s':>9}{'of peak':>9}{'of NumPy':>10}  of the fastest library, if another"]
        for i, t in enumerate(self.timings):
            name = "NumPy" if t.step == "numpy_matmul" else t.label
            if t.simulated:
                lines.append(f"{name:28}{'simulated':>9}")
                continue
            share, j = self.of_peak(i), self.library(i)
            against = ""
            if j and j != i:  # NumPy, number 0, has a column of its own
                median, least, most = self.times(i, j)
                against = f"{median:.2f}x {self.timings[j].step}" + f" ({least:.2f} to {most:.2f})" * (rounds > 1)
            lines.append(f"{name:28}{spell_seconds(t.seconds):>9}{t.gflops:9.1f}{f'{share:.0%}' if share else '–':>9}"
                         f"{self.times(i, 0)[0]:9.2f}x  {against}".rstrip())
        used = dict.fromkeys(f"{t.dialect}: {t.device}" for t in self.timings if t.dialect != "Python")
        return "\n".join(lines + [", ".join([*used, f"NumPy: {self.blas}"])] + [f"{f'{m.name} ({m.dialect})' if m.dialect != 'Python' else m.name:28}{m.remedy}" for m in self.missing])


def scoreboard(size=None, dialects=("CUDA", "OpenCL"), steps=None, libraries=True, rounds=3, parameters=None, each=lambda k: None):
    """Time NumPy, the rungs, and the libraries that are installed, in turns; each is checked at that size first. Returns a `Scoreboard`.

    `size`: an int or (M, N, K); by default 512, or 2048 when a GPU is at work. `steps`: a list; by default all for the
    devices here. `parameters`: "tuned" for those that `tune` found. `each` is called with every contestant's turn.
    """
    kernels = ladder_kernels(None, size, dialects, steps, parameters)
    M, N, K = sizes(usual_size(kernels) if size is None else size)
    found = peers(dialects) if libraries else []
    contestants = kernels[:1] + [k for k in found if not isinstance(k, Missing)] + kernels[1:]
    wrong = wrong_contestants(contestants, M, N, K)
    contestants = [k for k in contestants if k not in wrong]
    found += [Missing(str(k), k.dialect, f"is wrong at {M} x {N} x {K}, and was left out") for k in wrong]
    results = contest(contestants, (M, N, K), rounds, each)
    device = devices.opencl_device().name
    best = max((t.gflops or 0 for row in results for t in row), default=0)
    raise_peak(device, 1e9 * best)
    timings, seconds = [], []
    for row in zip(*results):
        timings.append(sorted(row, key=lambda t: t.seconds or 0)[len(row) // 2])
        seconds.append(() if row[0].simulated else tuple(t.seconds for t in row))
    on_host = not any(k.device and k.device.kind == "GPU" and k.device.name == device for k in contestants)
    return Scoreboard(M, N, K, tuple(timings), tuple(seconds), PEAKS[device], device, on_host,
                      tuple(k for k in found if isinstance(k, Missing)), devices.numpy_blas())


def raise_peak(device, seen):
    """Measure the device's peak, the first time twice; and again while it is below the rate `seen`, for then the moment was bad."""
    if device not in PEAKS:
        PEAKS[device] = max(machine_limits().flops_per_s for _ in range(2))
    for _ in range(2):
        if PEAKS[device] < seen:
            PEAKS[device] = max(PEAKS[device], machine_limits().flops_per_s)


def wrong_contestants(contestants, M, N, K):
    """Those whose product is not right within the rounding bound; a list. What is simulated is not run."""
    A, B = draw(M, N, K)
    wrong = judge(A, B)
    return [k for k in contestants if not (k.device and k.device.kind == "simulator") and wrong(run(k, A, B, np.nan)).any()]


@dataclass(frozen=True)
class Recorded:
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


def save(boards, folder=RESULTS, **about):
    """Write scoreboards into the machine's file in that folder, in place of older ones of the same sizes. Returns its path.

    `about`: what else to say of the run. The file names devices, drivers and versions, never the machine or its user.
    """
    boards = list(boards)
    # A machine is called after its GPU if one took part, else after the CPU that OpenCL ran on.
    used = [d for d in (devices.cuda_device(), devices.opencl_device()) if d.kind != "simulator"]
    name = next((d.name for d in used if d.kind == "GPU"), used[-1].name)
    path = Path(folder) / f"{re.sub('[^A-Za-z0-9]+', '-', name).strip('-')}.json"
    kept = [b for b in read(path).boards if (b.M, b.N, b.K) not in {(b.M, b.N, b.K) for b in boards}] if path.exists() else []
    everything = {
        "device": name, "date": strftime("%Y-%m-%d"), "system": f"{platform.system()} {platform.machine()}",
        "drivers": {f"{d.dialect}: {d.name}": d.driver for d in used}, "versions": versions(), **about,
        "boards": [as_dict(b) for b in sorted([*kept, *boards], key=lambda b: (b.M * b.N * b.K, b.M))],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(everything, indent=1) + "\n")
    return path


def versions():
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def as_dict(board):
    contestants = [{"dialect": t.dialect, "step": t.step, "device": t.device, "parameters": t.parameters, "gflops": t.gflops,
                    "seconds": list(seconds)} for t, seconds in zip(board.timings, board.seconds) if not t.simulated]
    return {"M": board.M, "N": board.N, "K": board.K, "peak_gflops": board.peak / 1e9, "peak_of": board.device,
            "on_host": board.on_host, "blas": board.blas, "contestants": contestants, "missing": [m.name for m in board.missing]}


def read(path):
    """The `Recorded` of one file. Raises ValueError, naming the file, if it is not one of ours."""
    try:
        stored = json.loads(Path(path).read_text())
        boards = []
        for b in stored.pop("boards"):
            size = b["M"], b["N"], b["K"]
            timings = [Timing(c["dialect"], c["step"], *size, float(np.median(c["seconds"])), None, c["device"], c["parameters"])
                       for c in b["contestants"]]
            boards.append(Scoreboard(*size, tuple(timings), tuple(tuple(c["seconds"]) for c in b["contestants"]),
                                     1e9 * b["peak_gflops"], b["peak_of"], b["on_host"], blas=b["blas"]))
        return Recorded(stored.pop("device"), stored.pop("date"), tuple(boards), stored)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{Path(path).name} is no record of a scoreboard ({type(error).__name__}: {error}). "
                         f"Delete it, or write it again: python -m helpers bench --save") from None


def recorded(folder=RESULTS):
    """All machines recorded in that folder, a list of `Recorded`."""
    return [read(path) for path in sorted(Path(folder).glob("*.json"))]
