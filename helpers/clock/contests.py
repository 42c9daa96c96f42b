"""Who is faster? Contestants timed in turns, each round in the other direction, so that all meet the same weather.

Equal kernels differ, too: by a few per cent always, several times over on a busy machine. So a word is said only where
one was ahead in each of nine rounds, by a margin. Nine times the same side of a coin comes once in 256 trials.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .. import ladder
from ..arguments import MOST_ROUNDS, sizes, some, whole
from ..launch import Contestant, HostKernel
from ..launch.dialects import dialects as dialects_called
from ..launch.kernel import contestant
from ..sandbox import ProgressBar
from . import timing
from .timing import NO_SPEED, Timing, measure

ROUNDS = 9  # that an order needs
MARGIN = 1.05  # times as fast, in each of them


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
        """What `verdict_on` says of the ratios, of the first."""
        return verdict_on(self.ratios)

    def __repr__(self):
        t, other = self.first, self.second
        names = (t.label, other.label) if t.label != other.label else ("the first", "the second")
        return (
            f"{t.M:5} x {t.N} x {t.K}: {names[0]} {t.gflops:.3g} GFLOP/s, {names[1]} {other.gflops:.3g}: "
            f"{self.ratio:.2f} times as fast (rounds: {min(self.ratios):.2f} to {max(self.ratios):.2f})"
        )


def verdict_on(ratios: Sequence[float]) -> str:
    """Say "ahead", "behind", or "undecided", unless each of `ROUNDS` rounds says the same, by `MARGIN`."""
    if len(ratios) >= ROUNDS and min(ratios) > MARGIN:
        return "ahead"
    if len(ratios) >= ROUNDS and max(ratios) < 1 / MARGIN:
        return "behind"
    return "undecided"


def contest(
    kernels: list, size: int | tuple = 1024, rounds: int = 5, each: Callable[[Contestant], None] = lambda k: None
) -> list[list[Timing]]:
    """Time kernels, or functions of (A, B), in turns: each round times all of them, in the order opposite to the last.

    Returns a list of rounds, each a list with a `Timing` a kernel, in the order given. `each` is called with every
    kernel before it is timed. The process idles before each turn; where all are on one device, whose threads are nobody
    else's, only before the first. Raises ValueError for less than one round.
    """
    kernels, rounds = some("kernels", kernels), whole("rounds", rounds, 1, MOST_ROUNDS)
    results, idle = [], True
    places = {getattr(k, "device", None) for k in kernels}  # None: the host, whose libraries have threads of their own
    for turn in range(rounds):
        timed = {}
        for i in range(len(kernels)) if turn % 2 else reversed(range(len(kernels))):
            each(kernels[i])
            timed[i] = measure(kernels[i], size, timing.LONG_ENOUGH / rounds, idle)  # all rounds together: long enough
            idle = len(places) > 1 or None in places
        results.append([timed[i] for i in range(len(kernels))])
    return results


def compare(
    first: Contestant | Callable, second: Contestant | Callable, size: int | tuple = 1024, rounds: int = ROUNDS
) -> Comparison:
    """Time two kernels, or functions of (A, B), in turns. Returns a `Comparison` with the timings of its median round.

    Its `verdict` says who is ahead, if anybody is; fewer rounds than the default are enough for a ratio, not for that.
    """
    with ProgressBar("timing in turns") as bar:

        def each(k):
            bar.update(time.monotonic() - bar.start, f"| {contestant(k)}")

        pairs = contest((first, second), size, rounds, each)
    pairs.sort(key=lambda pair: pair[1].seconds / pair[0].seconds)
    return Comparison(*pairs[len(pairs) // 2], tuple(b.seconds / a.seconds for a, b in pairs))


def numpy_matmul(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """C = A @ B by NumPy: the number to beat."""
    return A @ B


def measure_ladder(
    upto: str | None = None,
    size: int | tuple | None = None,
    dialects: Sequence[str] | str | None = None,
    steps: list | str | None = None,
) -> list[Timing]:
    """Time NumPy, then each rung in these dialects. Returns a list of `Timing`.

    `upto`: the last step to measure, or give `steps`, a list; by default all that are for the devices here. `size`: an
    int or (M, N, K); by default 512, or 2048 when a GPU is at work. `dialects`: by default CUDA and OpenCL.
    """
    kernels, timings, start = ladder_kernels(upto, size, dialects, steps), [], time.monotonic()
    with ProgressBar("timing", patience=0) as bar:
        for k in kernels:
            bar.update(time.monotonic() - start, f"| {k}")
            timings.append(measure(k, usual_size(kernels) if size is None else size))
    return timings


def ladder_kernels(upto=None, size=None, dialects=None, steps=None, parameters=None) -> list[Contestant]:
    """NumPy, then each rung in every dialect, but on the PTX machine, built; arguments are those of `measure_ladder`.

    `parameters`: {(step, dialect): {name: value}} of those that shall not have the device's defaults. Raises ValueError
    for a step, dialect or list that there is none of, and what `refuse` raises for that size.
    """
    steps = [steps] if isinstance(steps, str) else steps
    names = ladder.rungs()
    last = names[-1] if upto is None else ladder.step(upto).name
    chosen = [ladder.step(name) for name in steps or names[: names.index(last) + 1]]
    kernels = [HostKernel(numpy_matmul)]
    for one in dialects_called(dialects):
        for step in chosen:
            if one.name in step.dialects and (steps or step.suits(one.device(None, None))):
                given = (parameters or {}).get((step.name, one.name), {})
                kernels.append(one.build(step.name, **given))
    if untimed := [str(k) for k in kernels if k.untimed]:
        print(NO_SPEED.format(", ".join(untimed)))
    kernels = [k for k in kernels if not k.untimed]
    for k in kernels[1:]:  # all of them, before any takes its time
        k.refuse(*sizes(usual_size(kernels) if size is None else size))
    return kernels


def usual_size(kernels: list[Contestant]) -> int:
    """512, or 2048 when a GPU is at work."""
    return 2048 if any(k.device and k.device.kind == "GPU" for k in kernels) else 512
