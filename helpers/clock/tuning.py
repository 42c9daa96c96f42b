"""Looks for a step's best parameters on this machine, within a budget of seconds.

The ladder says which values are worth trying, and which points can run. `search` goes through them, in every dialect
alike. The fastest point is then timed against the defaults, in turns, and taken only if that comparison says "ahead".
"""

import contextlib
import functools
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from kernel_judge.reference import wrong_for

from .. import ladder
from ..arguments import DAY, number, sizes
from ..launch import dialect as dialect_called
from ..launch import draw
from ..sandbox import ProgressBar
from . import timing
from .contests import Comparison, compare
from .timing import NO_SPEED, measure

SEARCHING = 0.7  # of the budget; the rest is for the fastest point against the defaults, in turns
POINT_SECONDS = 0.1  # of launches that a point's rate is the median of
Tried = tuple[dict, float | None, str]  # parameters, GFLOP/s or None, and then why it failed


@dataclass(frozen=True)
class Tuning:
    """What a search found.

    step, dialect   their names
    size            (M, N, K) of the product
    best            the parameters to use: those of the fastest point where it was ahead, else the defaults
    default         the parameters that the step has on this device where none are given
    tried           [(parameters, GFLOP/s, or None and then why it failed)], in order
    legal           points that can run on the device, the defaults among them
    seconds         what the search and the comparison took
    comparison      the fastest point against the defaults, in turns; None where it came to none
    """

    step: str
    dialect: str
    size: tuple[int, int, int]
    best: dict
    default: dict
    tried: list[Tried]
    legal: int
    seconds: float
    comparison: Comparison | None = None

    def landscape(self, x: str, y: str) -> dict:
        """{(value of parameter x, value of y): the best GFLOP/s of all points tried there}."""
        rates = {}
        for p, rate, _ in self.tried:
            rates[p[x], p[y]] = max(rate or 0, rates.get((p[x], p[y]), 0))
        return rates

    def __repr__(self):
        failed = [(p, why) for p, rate, why in self.tried if rate is None]
        lines = [f"{self.step} ({self.dialect}), {' x '.join(map(str, self.size))}: "]
        lines[0] += f"{len(self.tried)} of {self.legal} points tried in {self.seconds:.0f} s"
        if failed:
            lines[0] += f", {len(failed)} failed"
            lines.append(f"failed    first with {ladder.spell(failed[0][0])}: {failed[0][1]}")
        lines.append(f"defaults  {ladder.spell(self.default)}")
        fastest, c = fastest_of(self.tried), self.comparison
        if fastest is None:
            lines.append("No point ran and was right. Nothing was found.")
        elif c is None:
            lines.append("fastest   the defaults. They stay.")
        else:
            ratios = f"{c.ratio:.2f} times as fast (rounds: {min(c.ratios):.2f} to {max(c.ratios):.2f})"
            lines.append(f"fastest   {ladder.spell(fastest)}")
            lines.append(f"in turns  {c.first.gflops:.3g} against {c.second.gflops:.3g} GFLOP/s, {ratios}")
            stay = "It was ahead in every round." if c.verdict == "ahead" else f"It was {c.verdict}: the defaults stay."
            lines.append(stay)
        return "\n  ".join(lines)


def tune(step: str, dialect: str = "OpenCL", size: int | tuple | None = None, seconds: float = 60) -> Tuning:
    """Search for the step's best parameters on this machine. Returns `Tuning`, whose `best` a kernel is built with.

    `step`, `dialect`: names. `size`: an int or (M, N, K); by default 512, or 2048 on a GPU. `seconds`: about how long
    it may take; Ctrl-C ends the search, and the fastest so far is compared with the defaults.
    `opencl_kernel(step, **found.best)` takes what was found.
    Raises ValueError for the PTX machine, where there is no time to compare.
    """
    number("seconds", seconds, DAY)
    one = dialect_called(dialect)
    rung = ladder.step(step, one.name)
    device = one.device(rung, None)
    if device.kind == "PTX machine":
        raise ValueError(NO_SPEED.format(step))
    size = sizes((2048 if device.kind == "GPU" else 512) if size is None else size)
    default = rung.fitted(rung.defaults_for(device), device, *size)
    space = {name: sorted({*values, default[name]}) for name, values in rung.space.items()}
    points = [default, *(p for p in ladder.points(rung, device, space) if p != default)]
    one.build(step).refuse(*size)
    build, start = functools.partial(one.build, rung.name), time.perf_counter()
    with ProgressBar(f"tuning {rung.name}", round(seconds), patience=0) as progress:

        def each(tried):
            best = max((rate or 0 for _, rate, _ in tried), default=0)
            progress.update(time.perf_counter() - start, f"| {len(tried)} points, best {best:.3g} GFLOP/s")

        tried = search(points, rates(build, size, default.get("INPUT", "float32")), start + SEARCHING * seconds, each)
    fastest, best, comparison = fastest_of(tried), default, None
    if fastest not in (None, default):
        comparison = compare(build(**fastest), build(**default), size)
        best = fastest if comparison.verdict == "ahead" else default
    return Tuning(step, one.name, size, best, default, tried, len(points), time.perf_counter() - start, comparison)


def rates(build: Callable, size: tuple[int, int, int], inputs: str) -> Callable:
    """Make the function that `search` calls: parameters -> GFLOP/s. It raises ValueError where the numbers are wrong.

    `build`: parameters -> a kernel. `size`: (M, N, K). `inputs`: the type that the kernel rounds A and B to.
    """
    A, B = draw(*size)
    wrong = wrong_for(A, B, inputs)
    time.sleep(timing.IDLE_SECONDS)  # the threads of NumPy's library spin for a while

    def rate(p):
        k = build(**p)
        if wrong(k(A, B)).any():
            raise ValueError("wrong numbers")
        return measure(k, size, min(POINT_SECONDS, timing.LONG_ENOUGH), idle=False).gflops

    return rate


def search(points: list[dict], rate: Callable, until: float, each: Callable) -> list[Tried]:
    """Try points until the time is over: by turns any one, and one that differs in one parameter from the best so far.

    `points`: the defaults first. `rate`: parameters -> GFLOP/s, or an exception, which says why not. `until`: a time of
    `time.perf_counter`; one point at least is tried. `each` is called with what was tried so far.
    """
    left, tried = [points[0], *random.sample(points[1:], len(points) - 1)], []
    with contextlib.suppress(KeyboardInterrupt):
        while left and (not tried or time.perf_counter() < until):
            best = fastest_of(tried) or points[0]
            near = [p for p in left if sum(p[name] != best[name] for name in best) == 1]
            p = near[0] if near and len(tried) % 2 else left[0]
            left.remove(p)
            try:
                tried.append((p, rate(p), ""))
            except Exception as error:  # a point may ask too much of a device in ways that only its driver knows
                tried.append((p, None, str(error).strip().partition("\n")[0]))
            each(tried)
    return tried


def fastest_of(tried: list[Tried]) -> dict | None:
    """The parameters of the point with the highest rate; None where no point ran and was right."""
    return max((entry for entry in tried if entry[1]), key=lambda entry: entry[1], default=(None,))[0]
