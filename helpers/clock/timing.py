"""How long did it take? Hard to fool.

Build, warm up, repeat, take the median, show the spread. GPU time comes from the device's own events, CPU time from
the wall, as NumPy's does. Building is over before any clock starts; transfers are told apart. Before a measurement the
process idles: the threads of OpenBLAS and of OpenCL's CPU runtimes spin for a while after a call, and timed back to
back they slow each other down several times over.

A CPU is warm after one launch, and each launch is timed. A GPU raises its clock only after a while of work, and a short
launch is over before Python has asked for the next: so it is warmed up for a time, and timed by batches of launches.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..arguments import DAY, number, sizes
from ..launch import Contestant, Kernel, draw
from ..launch.kernel import Work, contestant
from ..launch.operands import refuse_beyond_host
from ..needs import Missing

IDLE_SECONDS = 0.3
LONG_ENOUGH = 0.5  # seconds of repeats that make a median steady
REPEATS = 3  # at least, however long one takes
WARM_SECONDS = 0.2  # until a GPU has raised its clock
NO_SPEED = "not timed, on the PTX machine: {}. It runs on a GPU at speed, or where OpenCL takes SPIR-V."
BATCH_SECONDS = 0.05  # of a GPU's launches that are timed together: beside it what surrounds them does not count
BATCH = 1000  # launches in it at most: about as many as a GPU's driver lets wait
MOST = {}  # (device, "flop" or "byte") -> how many a second, the most that this process has seen there


class NoSpeed(ValueError, Missing):
    """A kernel on the PTX machine is not timed; a page's cell then shows what is stored of it."""


@dataclass(frozen=True)
class Timing:
    """A measured product of M x K times K x N.

    seconds          median of the repeats
    spread           the middle half of the repeats, as a share of the median; a repeat is a launch, on a GPU a batch
    build_seconds    compiling, once a kernel
    transfer_seconds A and B to the device and C back, once a call of k(A, B)
    """

    dialect: str
    step: str
    M: int
    N: int
    K: int
    seconds: float
    spread: float | None
    device: str
    parameters: dict
    build_seconds: float | None = None
    transfer_seconds: float | None = None

    @property
    def gflops(self) -> float:
        """2 M N K / seconds / 1e9."""
        return 2 * self.M * self.N * self.K / self.seconds / 1e9

    @property
    def label(self) -> str:
        """The name as tables and charts show it."""
        inputs = f", {self.parameters['INPUT']}" if "INPUT" in self.parameters else ""  # less exact, so it is said
        return self.step if self.dialect == "Python" else f"{self.step} ({self.dialect}{inputs})"

    def __repr__(self):
        what = f"{self.label}, {self.M} x {self.N} x {self.K}"
        return f"{what}: {spell_seconds(self.seconds)} ({spell_spread(self.spread)}), {self.gflops:.3g} GFLOP/s"


def spell_spread(spread: float) -> str:
    """0.08 -> '± 4 %'; beyond ± 100 % the number means nothing, so the machine is called busy in its place."""
    return f"± {50 * spread:.0f} %" if spread <= 2 else "a busy machine"


def spell_seconds(seconds: float) -> str:
    """0.00123 -> '1.23 ms'."""
    for unit, scale in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale or unit == "µs":
            return f"{seconds / scale:.3g} {unit}"


def most_seen(device: str, what: str, a_second: float = 0.0) -> float:
    """Note a rate of "flop" or "byte"; returns the most that the device was seen to do, so that no share is above 1."""
    MOST[device, what] = max(a_second, MOST.get((device, what), 0.0))
    return MOST[device, what]


def measure(
    k: Contestant | Callable, size: int | tuple = 1024, seconds: float | None = None, idle: bool = True
) -> Timing:
    """Time a kernel, or any function of (A, B). `size`: an int, or (M, N, K). Returns a `Timing`.

    Only kernels that may run here are timed: a learner's kernel must have passed `check`. `seconds`: of repeats, which
    are at least `REPEATS`; by default `LONG_ENOUGH`. `idle`: whether to pause first, as after anything that may spin.
    Raises ValueError for a kernel on the PTX machine.
    """
    k = contestant(k)
    M, N, K = sizes(size)
    if seconds is not None:
        number("seconds", seconds, DAY)
    if k.untimed:
        raise NoSpeed(NO_SPEED.format(k))
    refuse_beyond_host(M, N, K)
    k.refuse(M, N, K)
    k = k.ready(M, N, K)
    device = k.device.name if k.device else "host"
    about = dict(dialect=k.dialect, step=k.name, M=M, N=N, K=K, parameters=k.parameters, device=device)
    A, B = draw(M, N, K)
    if idle:
        time.sleep(IDLE_SECONDS)
    start = time.perf_counter()
    work = k.upload(A, B)
    transfer = time.perf_counter() - start
    launches = warm_up(work, k.device is not None and k.device.kind == "GPU")
    times, until = [], time.perf_counter() + (LONG_ENOUGH if seconds is None else seconds)
    while len(times) < REPEATS or time.perf_counter() < until:
        times.append(work.timed(launches))
    start = time.perf_counter()
    work.download()
    transfer += time.perf_counter() - start
    low, median, high = np.percentile(times, (25, 50, 75))
    # A rung: what somebody else wrote may be fast and wrong, and the peak is that of float32.
    if isinstance(k, Kernel) and not k.own and k.inputs == "float32":
        most_seen(device, "flop", 2 * M * N * K / median)
    return Timing(
        seconds=float(median),
        spread=float((high - low) / median),
        build_seconds=k.build_seconds,
        transfer_seconds=transfer if k.device else 0.0,
        **about,
    )


def warm_up(work: Work, on_gpu: bool) -> int:
    """Launch until caches and clocks are ready: on a CPU once. Returns launches to time together: on a CPU one."""
    until = time.perf_counter() + WARM_SECONDS
    seconds = work.launch()
    if not on_gpu:
        return 1
    while time.perf_counter() < until:
        seconds = work.timed(batch(seconds))
    return batch(seconds)


def batch(seconds: float) -> int:
    """How many launches of so many seconds each are timed together on a GPU: from 1 to BATCH."""
    return max(1, round(BATCH_SECONDS / max(seconds, BATCH_SECONDS / BATCH)))
