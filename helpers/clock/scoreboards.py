"""How good is that? The ladder beside the libraries that one would pick instead, what a device can do, and records.

The libraries are PyTorch on the host, and CuPy on the NVIDIA GPU, which calls cuBLAS. The course needs none of them.
"""

import contextlib
import functools
import json
import platform
import re
import time
from collections import namedtuple
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pyopencl as cl

from kernel_judge import wrong_elements

from .. import devices, files, ladder
from ..arguments import sizes
from ..cpu_sizes import vector
from ..launch import Contestant, HostKernel, draw
from ..launch.dialects import dialects as dialects_called
from ..launch.on_opencl import OpenCLBackend
from . import timing
from .timing import Timing, contest, ladder_kernels, spell_seconds

SUMS = 12  # vectors of the probe in limits.cl: enough to keep a core busy, few enough for 16 registers
COPIED = 1 << 28  # bytes in each of two buffers: more than most caches hold
RESULTS = Path(__file__).resolve().parents[2] / "results"
PACKAGES = ("numpy", "numba", "numba-cuda", "pyopencl", "torch", "intel-opencl-rt")
# There the steps before register_2d would take minutes.
LARGE = {
    "CPU": [2048, 4096, (16, 2048, 2048), (2048, 2048, 16), (2048, 1, 2048)],
    "GPU": [4095, 8192, (16, 4096, 4096), (4096, 4096, 16), (4096, 1, 4096)],
}
SMALL = {"CPU": [128, 256, 512, 1024], "GPU": [512, 1024, 2048, 4096]}  # page 13 shows a GPU's last one


@dataclass(frozen=True)
class Limits:
    """The most that a device was seen to do: float32 arithmetic and memory traffic."""

    device: str
    flops_per_s: float
    bytes_per_s: float

    @property
    def ridge(self) -> float:
        """The arithmetic intensity, flop per byte, from which on arithmetic is what limits."""
        return self.flops_per_s / self.bytes_per_s

    def __repr__(self):
        return (
            f"{self.device}: {self.flops_per_s / 1e9:.0f} GFLOP/s and {self.bytes_per_s / 1e9:.0f} GB/s, the greatest "
            f"seen, so arithmetic is the limit from {self.ridge:.0f} flop per byte on"
        )


def machine_limits() -> Limits:
    """Measure the OpenCL device: flop of multiply-adds in registers, and bytes that a copy reads and writes."""
    device = devices.opencl_device()
    on, lanes = OpenCLBackend(device), vector(device)
    source = Path(__file__).with_name("limits.cl").read_text(encoding="utf-8")
    program = cl.Program(on.context, source).build(f"-DLANES={lanes}")
    # A GPU wants many threads; a CPU one work-item a group, so that each vector is one register.
    groups, threads, rounds = (32, 256, 4000) if device.kind == "GPU" else (8, 1, 400_000)
    items = device.handle.max_compute_units * groups * threads
    out, *both = (cl.Buffer(on.context, cl.mem_flags.READ_WRITE, size) for size in (4 * lanes * items, COPIED, COPIED))
    peak, copy = cl.Kernel(program, "peak"), cl.Kernel(program, "copy")
    peak.set_args(out, np.int32(rounds), np.float32(0.999))
    copy.set_args(*both)
    time.sleep(timing.IDLE_SECONDS)
    flops_per_s = 2 * lanes * SUMS * rounds * items / fastest(on, peak, items, threads)
    bytes_per_s = 2 * COPIED / fastest(on, copy, COPIED // 16, 256)  # a work-item copies 16 bytes
    return Limits(device.name, flops_per_s, bytes_per_s)


def fastest(on: OpenCLBackend, kernel: cl.Kernel, items: int, group: int) -> float:
    """Seconds of the fastest of launches that go on for `LONG_ENOUGH`."""
    times, until = [], time.perf_counter() + timing.LONG_ENOUGH
    while not times or time.perf_counter() < until:
        times.append(on.timed(lambda: cl.enqueue_nd_range_kernel(on.queue, kernel, (items,), (group,)), 1))
    return min(times)


def pytorch(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """C = A @ B by PyTorch's CPU build, which multiplies with MKL on x86-64."""
    import torch  # only now: it takes seconds

    return torch.matmul(torch.from_numpy(A), torch.from_numpy(B)).numpy()


class CuBLAS(Contestant):
    """C = A @ B by NVIDIA's own, as CuPy calls it: in the default stream, as Numba's events do, and with no TF32."""

    dialect, name = "CUDA", "cuBLAS"

    def __init__(self):
        from ..launch.on_cuda import CudaBackend

        self.device, self.backend = devices.cuda_device(), CudaBackend

    def launcher(self, work):
        """What asks for the product once."""
        import cupy

        A, B, C = map(cupy.asarray, work.matrices())  # which share Numba's memory
        return functools.partial(cupy.dot, A, B, out=C)


def installed(dialects: Collection[str]) -> list[Contestant]:
    """The libraries that multiply here, on the host and on these dialects' GPU."""
    torch = HostKernel(pytorch)
    torch.name, found = "PyTorch", []
    on_gpu = "CUDA" in dialects and devices.cuda_device().kind == "GPU"
    for library in [torch, CuBLAS()] if on_gpu else [torch]:
        with contextlib.suppress(ImportError):
            library(*draw(5, 7, 3))
            found.append(library)
    return found


@dataclass(frozen=True)
class Scoreboard:
    """What came of a contest at one size.

    timings   a `Timing` a contestant, NumPy first: its median round
    seconds   for each contestant its times, round by round
    peak      float32 flop per second of `device`, the one that OpenCL runs on, the most seen
    blas      the library behind NumPy's product, and the CPU it was told to serve
    """

    M: int
    N: int
    K: int
    timings: Sequence[Timing]
    seconds: Sequence[Sequence[float]]
    peak: float
    device: str
    blas: str = ""

    def of_peak(self, i: int) -> float | None:
        """The contestant's rate as a share of its device's peak, at most 1; None where that was not measured."""
        t = self.timings[i]
        return 1e9 * t.gflops / self.peak if t.device == self.device else None

    def times(self, i: int, j: int) -> tuple[float, float, float]:
        """How many times as fast contestant i is as j: median, least and greatest of the rounds."""
        ratios = [b / a for a, b in zip(self.seconds[i], self.seconds[j], strict=True)]
        return float(np.median(ratios)), min(ratios), max(ratios)

    def library(self, i: int) -> int | None:
        """The number of the fastest library on the device of contestant i; None if there is none."""
        there = [j for j, t in enumerate(self.timings) if t.device == self.timings[i].device]
        libraries = [j for j in there if self.timings[j].step not in ladder.STEPS]
        return min(libraries, key=lambda j: self.timings[j].seconds, default=None)

    def __repr__(self):
        rounds = len(self.seconds[0])
        title = f"{self.M} x {self.N} x {self.K}, {rounds} round{'s' if rounds > 1 else ''}"
        head = f"{'time':>9}{'GFLOP/s':>9}{'of peak':>9}{'of NumPy':>10}  of the fastest library, if another"
        lines = [f"{title:28}{head}"]
        for i, t in enumerate(self.timings):
            share, j, against = self.of_peak(i), self.library(i), ""
            if j and j != i:  # NumPy, number 0, has a column of its own
                median, least, most = self.times(i, j)
                against = f"{median:.2f}x {self.timings[j].step} ({least:.2f} to {most:.2f})"
            lines.append(
                f"{t.label if i else 'NumPy':28}{spell_seconds(t.seconds):>9}{t.gflops:9.1f}"
                f"{f'{share:.0%}' if share else '–':>9}{self.times(i, 0)[0]:9.2f}x  {against}".rstrip()
            )
        used = dict.fromkeys(f"{t.dialect}: {t.device}" for t in self.timings if t.dialect != "Python")
        lines.append(", ".join([*used, f"NumPy: {self.blas}"]))
        return "\n".join(lines)


def scoreboard(
    size: int | tuple = 1024,
    dialects: Sequence[str] | str | None = None,
    steps: Sequence[str] | str | None = None,
    libraries: bool = True,
    rounds: int = 3,
    mine: Sequence[Contestant] = (),
) -> Scoreboard:
    """Time NumPy, rungs and libraries in turns, each checked at that size first. Returns a `Scoreboard`.

    `size`: an int or (M, N, K). `dialects`, `steps`: by default all for the devices here. `libraries`: with those that
    are installed. `mine`: more kernels, such as a learner's own. Raises ValueError where one of them is wrong.
    """
    numpy, *rungs = ladder_kernels(dialects, steps)
    kernels = [numpy, *(installed({k.dialect for k in rungs}) if libraries else []), *rungs, *mine]
    M, N, K = sizes(size)
    A, B = draw(M, N, K)
    for k in kernels:
        if wrong_elements(k(A, B), A, B, k.inputs).any():
            raise ValueError(f"{k} is wrong at {M} x {N} x {K}; check it alone.")
    device, timings, seconds = devices.opencl_device(), [], []
    for row in zip(*contest(kernels, size, rounds), strict=True):
        t = sorted(row, key=lambda t: t.seconds)[len(row) // 2]
        # NumPy runs there, too, if it is a CPU.
        timings.append(replace(t, device=device.name) if t.device == "host" and device.kind != "GPU" else t)
        seconds.append(tuple(t.seconds for t in row))
    rates = [1e9 * t.gflops for t in timings if t.device == device.name]
    peak = max([machine_limits().flops_per_s, *rates])
    return Scoreboard(M, N, K, timings, seconds, peak, device.name, devices.numpy_blas())


# The scoreboards of one machine, and their date, as its file in results/ has them.
MachineResults = namedtuple("MachineResults", "device date boards")


def record(folder: str | Path) -> Path:
    """Time the ladder beside the libraries, print each scoreboard, and write this machine's file. Returns its path.

    The file is called after the GPU, or else the CPU, and written after each size, in place of an older one. It names
    devices, drivers and versions, never the machine or its user. Raises OSError where it cannot be written.
    """
    found = [one.device(None, None) for one in dialects_called(None)]
    found = [device for device in found if device.kind != "PTX machine"]
    name = min(found, key=lambda device: device.kind != "GPU").name
    path = Path(folder) / f"{re.sub('[^A-Za-z0-9]+', '-', name).strip('-')}.json"
    files.try_writing(path)
    about = {
        "device": name,
        "date": time.strftime("%Y-%m-%d"),
        "system": f"{platform.system()} {platform.machine()}",
        "drivers": {f"{d.dialect}: {d.name}": d.driver for d in found},
        "versions": {"python": platform.python_version()} | {name: devices.version(name) for name in PACKAGES},
        "boards": [],
    }
    for kind in LARGE:
        names = [device.dialect for device in found if (device.kind == "GPU") == (kind == "GPU")]
        rungs = [step for step in ladder.rungs() if kind in ladder.STEPS[step].defaults]
        for size in LARGE[kind] + SMALL[kind] if names else []:
            board = scoreboard(size, names, rungs if size in SMALL[kind] else rungs[rungs.index("register_2d") :])
            print(board, end="\n\n", flush=True)
            about["boards"].append(asdict(board))
            files.replace_text(path, json.dumps(about, indent=1) + "\n")
    return path


def read_results(folder: str | Path = RESULTS) -> list[MachineResults]:
    """All machines recorded in that folder, a list of `MachineResults`; an empty one where there are none."""
    machines = []
    for path in sorted(Path(folder).glob("*.json")):
        about = json.loads(path.read_text(encoding="utf-8"))
        boards = [Scoreboard(**b | {"timings": [Timing(**t) for t in b["timings"]]}) for b in about["boards"]]
        machines.append(MachineResults(about["device"], about["date"], boards))
    return machines
