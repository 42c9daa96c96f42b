"""Looks for a step's best parameters on this machine, within a budget of seconds.

The space and its restrictions are in `ladder`. OpenCL kernels are built, checked and timed by Kernel Tuner, CUDA
kernels by a short loop; both go through the space in the same order. What seems best is then timed against the
defaults, in turns, and kept only if that comparison's verdict is "ahead".
"""

import functools
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

from .. import ladder
from ..devices import Device
from ..ladder import Step
from ..launch import dialect as dialect_called
from ..launch import kept, sizes
from ..launch.given import takes
from ..sandbox import ProgressBar
from .contests import Comparison, compare
from .kernel_tuner import search_with_kernel_tuner
from .search import Tried, search_with_a_loop

SEARCHING = 0.7  # of the budget; the rest is for timing the best few in turns
FINALISTS = 3  # at most, while the budget lasts


@dataclass(frozen=True)
class Tuning:
    """What a search found.

    size        (M, N, K) of the product
    best        the parameters to use: the winner's, or the defaults
    tried       a tuple of (parameters, GFLOP/s, or None and then why it failed), in order, the defaults first
    legal       points of the space that can run on the device
    comparison  the winner against the defaults, in turns; None if it came to none
    found_on    the date of an earlier search that this one found in the cache, and did not repeat
    not_kept    why `parameters="tuned"` will not find what this search did; "" where it will
    """

    step: str
    dialect: str
    size: tuple[int, int, int]
    best: dict
    tried: tuple = ()
    legal: int = 0
    seconds: float = 0.0
    comparison: Comparison | None = None
    interrupted: bool = False
    found_on: str = ""
    not_kept: str = ""

    def landscape(self, x: str, y: str) -> dict:
        """{(value of parameter x, value of y): the best GFLOP/s of all points tried there}."""
        rates = {}
        for p, rate, _ in self.tried:
            rates[p[x], p[y]] = max(rate or 0, rates.get((p[x], p[y]), 0))
        return rates

    def __repr__(self):
        text = f"{self.step} ({self.dialect}), {' x '.join(map(str, self.size))}: "
        if self.found_on:
            kept_there = f"\n  kept      {ladder.spell(self.best)}\n  To search again, add again=True."
            return f"{text}searched on {self.found_on}{kept_there}"
        failed = [(p, why) for p, rate, why in self.tried if rate is None]
        text += f"{len(self.tried)} of {self.legal} points tried in {self.seconds:.0f} s"
        text += f", {len(failed)} failed" * bool(failed) + ", interrupted" * self.interrupted
        if failed:
            p, why = failed[0]
            text += f"\n  failed    first with {ladder.spell(p)}: {why or 'no reason was given'}"
        default = self.tried[0][0] if self.tried else self.best
        text += f"\n  defaults  {ladder.spell(default)}"
        if failed and len(failed) == len(self.tried):
            text += "\n  No point ran and was right, the defaults included: nothing was found, and nothing is kept."
        elif self.best == default:
            text += "\n  Nothing was ahead of the defaults in every round. They stay."
        else:
            won, ratios = self.comparison, self.comparison.ratios
            text += f"\n  best      {ladder.spell(self.best)}"
            text += f"\n  in turns  {won.first.gflops:.3g} against {won.second.gflops:.3g} GFLOP/s, "
            text += f"{won.ratio:.2f} times ({min(ratios):.2f} to {max(ratios):.2f})"
        return text + f"\n  not kept: {self.not_kept}" * bool(self.not_kept)


SEARCHES = {"CUDA": search_with_a_loop, "OpenCL": search_with_kernel_tuner, "WebGPU": search_with_a_loop}


@dataclass(frozen=True)
class Task:
    """What is searched: a step's parameters, on a device, for one size. `legal`: the points that can run there."""

    rung: Step
    dialect: str
    device: Device
    size: tuple[int, int, int]
    default: dict
    legal: list

    def build(self, p: dict):
        """The kernel with those parameters."""
        return dialect_called(self.dialect).build(self.rung.name, **p)


@takes
def tune(
    step: str,
    dialect: str = "OpenCL",
    size: int | tuple | None = None,
    seconds: float = 60,
    space: dict | None = None,
    again: bool = False,
) -> Tuning:
    """Search for the step's best parameters on this machine, and keep them for `parameters="tuned"`. Returns `Tuning`.

    `size`: an int or (M, N, K); by default 512, or 2048 on a GPU. `seconds`: about how long it may take. `space`:
    {parameter: values} in place of the ladder's. What an earlier call found for that size is returned at once, unless
    `again` is true. Interrupted, it times the best so far against the defaults; interrupted again, it keeps these.
    Raises ValueError for a simulator, where there is no time to compare, and for a space with no point that can run
    here. Where the cache cannot be written, a warning says so once, and the `Tuning` says what was found.
    """
    one = dialect_called(dialect)
    rung = ladder.step(step, one.name)
    device = one.device(rung, None)
    if device.kind == "simulator":
        raise ValueError(
            "in the simulator there is no speed to tune for. Tune OpenCL kernels, or use a machine with an NVIDIA GPU."
        )
    size = sizes((2048 if device.kind == "GPU" else 512) if size is None else size)
    default, source = rung.fitted(rung.defaults_for(device), device, *size), one.source_of(step)
    stored = {} if again or space is not None else kept.entry(rung, device, source)
    if stored.get("size") == list(size):
        date = str(stored.get("date", "an unknown day"))
        return Tuning(step, one.name, size, stored["parameters"], found_on=date)
    legal = ladder.points(rung, device, space)
    one.build(step).refuse(*size)
    start = time.perf_counter()
    task = Task(rung, one.name, device, size, default, legal)
    tried, interrupted = search(task, start, seconds)
    best, comparison, cut = finals(task, tried, start + seconds, interrupted)
    interrupted, took = interrupted or cut, time.perf_counter() - start
    not_kept = ""
    if any(rate is not None for _, rate, _ in tried):
        ratio = round(comparison.ratio, 3) if comparison else None
        about = dict(date=time.strftime("%Y-%m-%d"), times_faster=ratio, interrupted=interrupted)
        try:
            kept.remember(rung, device, source, best, size, **about)
        except OSError as error:  # what was found is worth more than the file
            not_kept = str(error)
            warn_once(kept.path_of(rung, device).parent)
    about = dict(legal=len(legal) + (default not in legal), interrupted=interrupted, not_kept=not_kept)
    return Tuning(step, one.name, size, best, tuple(tried), seconds=took, comparison=comparison, **about)


@functools.cache
def warn_once(folder: Path) -> None:
    """Warn that what a search found is not kept."""
    warnings.warn(f"what was found is not kept: {folder} cannot be written", stacklevel=3)


def search(task: Task, start: float, seconds: float) -> tuple[list[Tried], bool]:
    """What was tried in the search's share of the seconds since `start`, and whether it was interrupted."""
    with ProgressBar(f"tuning {task.rung.name}", round(seconds), patience=0) as progress:

        def each(tried):
            best = max((rate or 0 for _, rate, _ in tried), default=0)
            progress.update(time.perf_counter() - start, f"| {len(tried)} points, best {best:.3g} GFLOP/s")

        return SEARCHES[task.dialect](task, start + SEARCHING * seconds, each)


def finals(task: Task, tried: list[Tried], until: float, interrupted: bool) -> tuple[dict, Comparison | None, bool]:
    """The best of those tried, or the defaults, its `Comparison` with them, and whether an interrupt cut this short."""
    good = sorted((entry for entry in tried if entry[1]), key=lambda entry: -entry[1])
    good = [p for p, _, _ in good[: FINALISTS + 1] if p != task.default][:FINALISTS]
    won, cut = [], False
    try:
        for p in good[: 1 if interrupted else FINALISTS]:
            comparison = compare(task.build(p), task.build(task.default), task.size)
            if comparison.verdict == "ahead":
                won.append((comparison.ratio, p, comparison))
            if time.perf_counter() > until:
                break
    except KeyboardInterrupt:
        cut = True
    best, comparison = max(won, key=lambda entry: entry[0])[1:] if won else (task.default, None)
    return best, comparison, cut
