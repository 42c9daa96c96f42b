"""Who is faster? Contestants timed in turns, each round in the other direction, so that all meet the same weather.

Equal kernels differ, too: by a few per cent always, several times over on a busy machine. So a word is said only where
one was ahead in each of nine rounds, by a margin. Nine times the same side of a coin comes once in 256 trials.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .. import ladder
from ..arguments import MOST_ROUNDS, some, whole
from ..launch import Contestant, HostKernel
from ..launch.dialects import dialects as dialects_called
from ..launch.host import contestant
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


def contest(kernels: list, size: int | tuple = 1024, rounds: int = 5) -> list[list[Timing]]:
    """Time kernels, or functions of (A, B), in turns: each round times all of them, in the order opposite to the last.

    Returns a list of rounds, each a list with a `Timing` a kernel, in the order given. The process idles before each
    turn; where all are on one device, whose threads are nobody else's, only before the first. Raises ValueError for no
    kernel, and for less than one round.
    """
    kernels = [contestant(k) for k in some("kernels", kernels)]
    order, idle, results = list(range(len(kernels))), True, []
    places = {k.device for k in kernels}  # None: the host, whose libraries have threads of their own
    with ProgressBar("timing in turns") as bar:
        for _ in range(whole("rounds", rounds, 1, MOST_ROUNDS)):
            order.reverse()
            timed = {}
            for i in order:
                bar.update(time.monotonic() - bar.start, f"| {kernels[i]}")
                timed[i] = measure(kernels[i], size, timing.LONG_ENOUGH / rounds, idle)  # long enough, all together
                idle = len(places) > 1 or None in places
            results.append([timed[i] for i in range(len(kernels))])
    return results


def compare(
    first: Contestant | Callable, second: Contestant | Callable, size: int | tuple = 1024, rounds: int = ROUNDS
) -> Comparison:
    """Time two kernels, or functions of (A, B), in turns. Returns a `Comparison` with the timings of its median round.

    Its `verdict` says who is ahead, if anybody is; fewer rounds than the default are enough for a ratio, not for that.
    """
    pairs = contest([first, second], size, rounds)
    pairs.sort(key=lambda pair: pair[1].seconds / pair[0].seconds)
    return Comparison(*pairs[len(pairs) // 2], tuple(b.seconds / a.seconds for a, b in pairs))


def numpy_matmul(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """C = A @ B by NumPy: the number to beat."""
    return A @ B


def measure_ladder(
    upto: str | None = None, size: int | tuple | None = None, dialects: Sequence[str] | str | None = None
) -> list[Timing]:
    """Time NumPy, then each rung for the devices here, in these dialects. Returns a list of `Timing`.

    `upto`: the last step to measure. `size`: an int or (M, N, K); by default 512, or 2048 when a GPU is at work.
    `dialects`: by default CUDA and OpenCL. Raises ValueError for a step or dialect that there is none of.
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
            if one.name in step.dialects and (steps or step.suits(one.device(None, None))):
                kernels.append(one.build(step.name))
    if untimed := [str(k) for k in kernels if k.untimed]:
        print(NO_SPEED.format(", ".join(untimed)))
    return [k for k in kernels if not k.untimed]


def usual_size(kernels: list[Contestant]) -> int:
    """512, or 2048 when a GPU is at work."""
    return 2048 if any(k.device and k.device.kind == "GPU" for k in kernels) else 512
