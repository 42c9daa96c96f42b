"""The ladder beside the libraries that one would pick instead, timed in turns."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernel_judge.reference import wrong_for

from .. import devices, ladder
from ..arguments import sizes
from ..checking import launched
from ..launch import Contestant, draw
from .contests import contest, ladder_kernels, numpy_matmul
from .libraries import installed
from .limits import machine_limits
from .timing import Timing, spell_seconds


@dataclass(frozen=True)
class Scoreboard:
    """What came of a contest at one size.

    timings   a tuple of `Timing`, one a contestant, NumPy first: its median round
    seconds   for each contestant its times, round by round, a tuple of tuples
    peak      float32 flop per second of `device`, the one that OpenCL runs on, the most seen; 0 where there is none
    on_host   whether `device` is the CPU that NumPy runs on, too
    missing   who did not take part, and why: a tuple of pairs of texts
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

    def silicon(self, i: int) -> str:
        """The device that contestant i ran on; the host is `device`, too, where both are one CPU."""
        device = self.timings[i].device
        return self.device if device == "host" and self.on_host else device

    def of_peak(self, i: int) -> float | None:
        """The contestant's rate as a share of its device's peak, at most 1; None where that was not measured."""
        t = self.timings[i]
        return None if self.silicon(i) != self.device else 1e9 * t.gflops / self.peak

    def times(self, i: int, j: int) -> tuple[float, float, float]:
        """How many times as fast contestant i is as j: median, least and greatest of the rounds."""
        ratios = [b / a for a, b in zip(self.seconds[i], self.seconds[j], strict=True)]
        return float(np.median(ratios)), min(ratios), max(ratios)

    def library(self, i: int) -> int | None:
        """The number of the fastest library on the silicon of contestant i; None if there is none."""
        libraries = [j for j, t in enumerate(self.timings) if t.step not in ladder.STEPS]
        there = [j for j in libraries if self.silicon(j) == self.silicon(i)]
        return min(there, key=lambda j: self.timings[j].seconds, default=None)

    def __repr__(self):
        rounds = max(map(len, self.seconds))
        title = f"{self.M} x {self.N} x {self.K}, {rounds} round{'s' * (rounds > 1)}"
        head = f"{'time':>9}{'GFLOP/s':>9}{'of peak':>9}{'of NumPy':>10}  of the fastest library, if another"
        lines = [f"{title:28}{head}"]
        for i, t in enumerate(self.timings):
            name = "NumPy" if t.step == numpy_matmul.__name__ else t.label
            share, j = self.of_peak(i), self.library(i)
            against = ""
            if j and j != i:  # NumPy, number 0, has a column of its own
                median, least, most = self.times(i, j)
                against = f"{median:.2f}x {self.timings[j].step}" + f" ({least:.2f} to {most:.2f})" * (rounds > 1)
            lines.append(
                f"{name:28}{spell_seconds(t.seconds):>9}{t.gflops:9.1f}{f'{share:.0%}' if share else '–':>9}"
                f"{self.times(i, 0)[0]:9.2f}x  {against}".rstrip()
            )
        used = dict.fromkeys(f"{t.dialect}: {t.device}" for t in self.timings if t.dialect != "Python")
        lines.append(", ".join([*used, f"NumPy: {self.blas}"]))
        lines += [f"{name:28}{why}" for name, why in self.missing]
        return "\n".join(lines)


def scoreboard(
    size: int | tuple = 1024,
    dialects: Sequence[str] | str | None = None,
    steps: Sequence[str] | str | None = None,
    libraries: bool = True,
    rounds: int = 3,
) -> Scoreboard:
    """Time NumPy, rungs and libraries in turns, each checked at that size first. Returns a `Scoreboard`.

    `size`: an int or (M, N, K). `dialects`, `steps`: by default all for the devices here. `libraries`: with those that
    are installed.
    """
    M, N, K = sizes(size)
    kernels = ladder_kernels(dialects, steps)
    found, missing = installed({k.dialect for k in kernels}) if libraries else ([], [])
    kernels[1:1] = found
    for k in wrong_contestants(kernels, M, N, K):
        kernels.remove(k)
        missing.append((str(k), f"is wrong at {M} x {N} x {K}, and was left out"))
    timings, seconds = [], []
    for row in zip(*contest(kernels, (M, N, K), rounds), strict=True):
        timings.append(sorted(row, key=lambda t: t.seconds)[len(row) // 2])
        seconds.append(tuple(t.seconds for t in row))
    return Scoreboard(M, N, K, tuple(timings), tuple(seconds), *peak(timings), tuple(missing), devices.numpy_blas())


def wrong_contestants(contestants: list[Contestant], M: int, N: int, K: int) -> list[Contestant]:
    """Those whose product is not right within the rounding bound."""
    A, B = draw(M, N, K)
    wrong = {inputs: wrong_for(A, B, inputs) for inputs in {k.inputs for k in contestants}}
    return [k for k in contestants if wrong[k.inputs](launched(k, A, B)).any()]


def peak(timings: list[Timing]) -> tuple[float, str, bool]:
    """The OpenCL device's peak, its name, and whether it is the host's CPU; no peak where there is no such device.

    The peak is what `machine_limits` finds, or the rate of whoever was faster.
    """
    try:
        device = devices.opencl_device()
    except devices.DeviceError:
        return 0.0, "", False
    on_host = device.kind != "GPU"
    there = [1e9 * t.gflops for t in timings if t.device == device.name or (on_host and t.device == "host")]
    return max([machine_limits().flops_per_s, *there]), device.name, on_host
