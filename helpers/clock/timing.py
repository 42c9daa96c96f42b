"""How long did it take, who is faster, and with which parameters? Hard to fool.

Build, idle, warm up, repeat, take the median, show the spread. The process idles, since the threads of OpenBLAS and of
OpenCL's CPU runtimes spin for a while after a call, and slow others down several times over. A CPU is warm after one
launch. A GPU raises its clock after a while of work, and its launches are over before Python asks again: it is timed in
batches. Contestants take turns, each round in the other direction. Equal ones differ, too, by a few per cent always,
several times over on a busy machine. So only who was ahead in each of nine rounds, by a margin, is said to be ahead.
The fastest that a search for parameters finds is taken only if it is ahead of the defaults.
"""

import contextlib
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kernel_judge.reference import wrong_for

from .. import ladder
from ..arguments import integer, sizes, some
from ..launch import Contestant, HostKernel, draw
from ..launch import dialect as dialect_called
from ..launch.dialects import dialects as dialects_called
from ..launch.kernel import Work, contestant
from ..needs import Missing

IDLE_SECONDS = 0.3
LONG_ENOUGH = 0.5  # seconds of repeats that make a median steady
REPEATS = 3  # at least, however long one takes
WARM_SECONDS = 0.2  # until a GPU has raised its clock
BATCH_SECONDS = 0.05  # of a GPU's launches that are timed together: beside it what surrounds them does not count
ROUNDS = 9  # that an order needs
MARGIN = 1.05  # times as fast, in each of them
SEARCHING = 0.7  # of a search's budget; the rest is for the fastest point against the defaults, in turns
NO_SPEED = "not timed, on the PTX machine: {}. It runs on a GPU at speed, or where OpenCL takes SPIR-V."


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
    own: bool = False

    @property
    def gflops(self) -> float:
        """2 M N K / seconds / 1e9."""
        return 2 * self.M * self.N * self.K / self.seconds / 1e9

    @property
    def label(self) -> str:
        """The name as tables and charts show it."""
        inputs = f", {self.parameters['INPUT']}" if "INPUT" in self.parameters else ""  # less exact, so it is said
        return self.step if self.dialect == "Python" else f"{'your ' * self.own}{self.step} ({self.dialect}{inputs})"

    def __repr__(self):
        what = f"{self.label}, {self.M} x {self.N} x {self.K}"
        return f"{what}: {spell_seconds(self.seconds)} (± {50 * self.spread:.0f} %), {self.gflops:.3g} GFLOP/s"


def spell_seconds(seconds: float) -> str:
    """0.00123 -> '1.23 ms'."""
    unit, many = ("s", 1) if seconds >= 1 else ("ms", 1e3) if seconds >= 1e-3 else ("µs", 1e6)
    return f"{many * seconds:.3g} {unit}"


def measure(
    k: Contestant | Callable, size: int | tuple = 1024, seconds: float | None = None, idle: bool = True
) -> Timing:
    """Time a kernel, which must have passed `check` if it is one's own, or any function of (A, B). Returns a `Timing`.

    `size`: an int, or (M, N, K). `seconds`: of repeats, which are at least `REPEATS`; by default `LONG_ENOUGH`. `idle`:
    whether to pause first, as after anything that may spin. Raises ValueError for a kernel on the PTX machine.
    """
    k = contestant(k)
    M, N, K = sizes(size)
    if k.untimed:
        raise NoSpeed(NO_SPEED.format(k))
    k.refuse(M, N, K)
    A, B = draw(M, N, K)
    k = k.ready(M, N, K)
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
    low, median, high = map(float, np.percentile(times, (25, 50, 75)))
    device, transfer = (k.device.name, transfer) if k.device else ("host", 0.0)
    spread = (high - low) / median
    return Timing(k.dialect, k.name, M, N, K, median, spread, device, k.parameters, k.build_seconds, transfer, k.own)


def warm_up(work: Work, on_gpu: bool) -> int:
    """Launch until caches and clocks are ready: on a CPU once. Returns launches to time together: on a CPU one."""
    launches, until = 1, time.perf_counter() + WARM_SECONDS
    seconds = work.launch()
    while on_gpu and time.perf_counter() < until:
        launches = max(1, round(BATCH_SECONDS / max(seconds, 5e-5)))  # a GPU's driver lets about 1000 wait
        seconds = work.timed(launches)
    return launches


def contest(kernels: list, size: int | tuple = 1024, rounds: int = 5) -> list[list[Timing]]:
    """Time kernels, or functions of (A, B), in turns: each round times all of them, in the order opposite to the last.

    Returns a list of rounds, each a list with a `Timing` a kernel, in the order given.
    """
    kernels = list(map(contestant, kernels))
    order, idle, results = list(range(len(kernels))), True, []
    places = {k.device for k in kernels}  # None: the host
    for _ in range(integer("rounds", rounds)):
        order.reverse()
        timed = {}
        for i in order:
            timed[i] = measure(kernels[i], size, LONG_ENOUGH / rounds, idle)  # all rounds together: long enough
            idle = len(places) > 1 or None in places  # on one device, no threads are somebody else's
        results.append([timed[i] for i in range(len(kernels))])
    return results


@dataclass(frozen=True)
class Comparison:
    """How many times as fast the first is as the second: one ratio for each round, of times from that round."""

    first: Timing
    second: Timing
    ratios: tuple

    @property
    def ratio(self) -> float:
        """The median; above 1 the first is faster."""
        return float(np.median(self.ratios))

    @property
    def verdict(self) -> str:
        """ "ahead" or "behind" of the first, where each of `ROUNDS` rounds says so, by `MARGIN`; else "undecided"."""
        if len(self.ratios) >= ROUNDS and min(self.ratios) > MARGIN:
            return "ahead"
        if len(self.ratios) >= ROUNDS and max(self.ratios) < 1 / MARGIN:
            return "behind"
        return "undecided"

    def __repr__(self):
        t, other = self.first, self.second
        names = (t.label, other.label) if t.label != other.label else ("the first", "the second")
        return (
            f"{t.M:5} x {t.N} x {t.K}: {names[0]} {t.gflops:.3g} GFLOP/s, {names[1]} {other.gflops:.3g}: "
            f"{self.ratio:.2f} times as fast (rounds: {min(self.ratios):.2f} to {max(self.ratios):.2f})"
        )


def compare(
    first: Contestant | Callable, second: Contestant | Callable, size: int | tuple = 1024, rounds: int = ROUNDS
) -> Comparison:
    """Time two kernels, or functions of (A, B), in turns. Returns a `Comparison` with the timings of its median round.

    Its `verdict` says who is ahead, if anybody is; fewer rounds than the default are enough for a ratio, not for that.
    """
    pairs = sorted(contest([first, second], size, rounds), key=lambda pair: pair[1].seconds / pair[0].seconds)
    return Comparison(*pairs[len(pairs) // 2], tuple(b.seconds / a.seconds for a, b in pairs))


def numpy_matmul(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """C = A @ B by NumPy: the number to beat."""
    return A @ B


def measure_ladder(
    upto: str | None = None, size: int | tuple | None = None, dialects: Sequence[str] | str | None = None
) -> list[Timing]:
    """Time NumPy, then each rung for the devices here, in all dialects or these. Returns a list of `Timing`.

    `upto`: the last step to measure. `size`: an int or (M, N, K); by default 512, or 2048 when a GPU is at work.
    """
    names = ladder.rungs()
    steps = None if upto is None else names[: names.index(ladder.step(upto).name) + 1]
    kernels = ladder_kernels(dialects, steps)
    return contest(kernels, usual_size(kernels) if size is None else size, rounds=1)[0]


def ladder_kernels(dialects: Sequence[str] | str | None, steps: Sequence[str] | str | None = None) -> list[Contestant]:
    """NumPy, then these steps, or all rungs for the devices here, in every dialect that has a clock, built."""
    kernels = [HostKernel(numpy_matmul)]
    for one in dialects_called(dialects):
        for step in map(ladder.step, some("steps", steps or ladder.rungs())):
            if one.name in step.dialects and (steps or step.defaults_for(one.device())):
                kernels.append(one.build(step.name))
    if untimed := [str(k) for k in kernels if k.untimed]:
        print(NO_SPEED.format(", ".join(untimed)))
    return [k for k in kernels if not k.untimed]


def usual_size(kernels: list[Contestant]) -> int:
    """512, or 2048 when a GPU is at work."""
    return 2048 if any(k.device and k.device.kind == "GPU" for k in kernels) else 512


@dataclass(frozen=True)
class Tuning:
    """What a search found.

    best        the parameters to use: those of the fastest point where it was ahead, else the defaults
    tried       [(parameters, GFLOP/s, or 0 for what failed)], in order, the defaults first
    legal       points that can run on the device, the defaults among them
    comparison  the fastest point against the defaults, in turns; None where these are the fastest
    """

    step: str
    dialect: str
    size: tuple[int, int, int]
    best: dict
    tried: list[tuple[dict, float]]
    legal: int
    seconds: float
    comparison: Comparison | None

    def __repr__(self):
        points = f"{len(self.tried)} of {self.legal} points tried in {self.seconds:.0f} s"
        lines = [
            f"{self.step} ({self.dialect}), {' x '.join(map(str, self.size))}: {points}",
            f"defaults  {ladder.spell(self.tried[0][0])}",
            f"fastest   {ladder.spell(fastest_of(self.tried))}",
        ]
        if self.comparison:
            lines.append(f"in turns  {str(self.comparison).partition(': ')[2]}: {self.comparison.verdict}")
        return "\n  ".join(lines)


def tune(step: str, dialect: str = "OpenCL", size: int | tuple | None = None, seconds: float = 60) -> Tuning:
    """Search for the step's best parameters on this machine. Returns `Tuning`: `opencl_kernel(step, **found.best)`.

    `size`: an int or (M, N, K); by default 512, or 2048 on a GPU. `seconds`: about how long it may take; Ctrl-C ends
    the search, and the fastest so far is compared with the defaults. Raises ValueError for the PTX machine.
    """
    one, start = dialect_called(dialect), time.perf_counter()
    rung = ladder.step(step, one.name)
    k = one.build(rung.name)
    size = sizes(usual_size([k]) if size is None else size)
    k = k.fitted(*size)
    rung, default = ladder.STEPS[k.step], k.parameters
    sizes_of = {name: n for name, n in default.items() if name != "INPUT"}
    space = {name: sorted({*rung.space.get(name, (n // 2, 2 * n)), n}) for name, n in sizes_of.items()}
    points = [default, *(p for p in ladder.points(rung, k.device, space) if p != default)]
    A, B = draw(*size)
    wrong = wrong_for(A, B, k.inputs)
    time.sleep(IDLE_SECONDS)  # NumPy's threads spin for a while

    def rate(p):
        k = one.build(rung.name, **p)
        gflops = measure(k, size, LONG_ENOUGH / 5, idle=False).gflops
        if wrong(k(A, B)).any():
            raise ValueError(f"{k} is wrong with {ladder.spell(p)}.")
        return gflops

    tried = search(points, rate, start + SEARCHING * seconds)
    best, comparison = fastest_of(tried), None
    if best != default:
        comparison = compare(one.build(rung.name, **best), one.build(rung.name, **default), size)
        best = best if comparison.verdict == "ahead" else default
    return Tuning(rung.name, one.name, size, best, tried, len(points), time.perf_counter() - start, comparison)


def search(points: list[dict], rate: Callable[[dict], float], until: float) -> list[tuple[dict, float]]:
    """Try points until the time is over: by turns any one, and one that differs in one parameter from the best so far.

    `points`: the defaults first, which are tried first. `rate`: parameters -> GFLOP/s; what it raises for the defaults
    is raised, and any other point that fails has a rate of 0. `until`: a time of `time.perf_counter`.
    """
    left, tried = random.sample(points[1:], len(points) - 1), [(points[0], rate(points[0]))]
    with contextlib.suppress(KeyboardInterrupt):
        while left and time.perf_counter() < until:
            best = fastest_of(tried)
            near = [p for p in left if sum(p[name] != best[name] for name in best) == 1]
            p = near[0] if near and len(tried) % 2 else left[0]
            left.remove(p)
            try:
                tried.append((p, rate(p)))
            except Exception:  # a point may ask too much of a device in ways that only its driver knows
                tried.append((p, 0.0))
    return tried


def fastest_of(tried: list[tuple[dict, float]]) -> dict:
    """The parameters of the point with the highest rate."""
    return max(tried, key=lambda entry: entry[1])[0]
