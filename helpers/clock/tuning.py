"""Which parameters of a step are best on this machine? The ladder says which are worth trying, and which can run.

The fastest that a search finds is timed against the defaults, in turns, and taken only if it is ahead.
"""

import contextlib
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from kernel_judge.reference import wrong_for

from .. import ladder
from ..arguments import sizes
from ..launch import dialect as dialect_called
from ..launch import draw
from ..progress import ProgressBar
from . import timing
from .timing import Comparison, compare, measure, usual_size

SEARCHING = 0.7  # of the budget; the rest is for the fastest point against the defaults, in turns


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

    def landscape(self, x: str, y: str) -> dict:
        """{(value of parameter x, value of y): the best GFLOP/s of all points tried there}."""
        rates = {}
        for p, rate in self.tried:
            rates[p[x], p[y]] = max(rate, rates.get((p[x], p[y]), 0))
        return rates

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
    time.sleep(timing.IDLE_SECONDS)  # NumPy's threads spin for a while
    with ProgressBar(f"tuning {rung.name}", round(seconds), patience=0) as bar:

        def rate(p):
            bar.update(time.perf_counter() - start, f"| {ladder.spell(p)}")
            k = one.build(rung.name, **p)
            gflops = measure(k, size, timing.LONG_ENOUGH / 5, idle=False).gflops
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
