"""Looks for a step's best parameters on this machine, within a budget of seconds.

The space and its restrictions stand in `ladder`. OpenCL kernels are built, checked and timed by Kernel Tuner, CUDA kernels
by a short loop; both go through the space in the same order. What seems best is then timed against the defaults, in turns,
and kept only if it won every round.
"""

import contextlib
import io
import random
import tempfile
import time
from dataclasses import dataclass

import numpy as np
from tqdm.auto import tqdm

from . import cuda, devices, ladder, opencl, tuned
from .check import draw, judge
from .kernel import CANARY, GUARD, KernelError, sizes
from .timing import Comparison, compare

LAUNCHES = 5  # a point; their median counts
SEARCHING = 0.7  # of the budget; the rest is for timing the best few in turns
FINALISTS, ROUNDS = 3, 3


@dataclass(frozen=True)
class Tuning:
    """What a search found.

    tried       a tuple of (parameters, GFLOP/s, or None and then why it failed), in order, the defaults first
    legal       points of the space that can run on the device
    comparison  the winner against the defaults, in turns; None if it came to none
    best        the parameters to use: the winner's, or the defaults
    found_on    the date of an earlier search that this one found in the cache, and did not repeat
    """

    step: str
    dialect: str
    device: str
    M: int
    N: int
    K: int
    tried: tuple
    legal: int
    seconds: float
    comparison: Comparison | None
    best: dict
    interrupted: bool = False
    found_on: str = ""

    def landscape(self, x, y):
        """{(value of parameter x, value of y): the best GFLOP/s of all points tried there}."""
        rates = {}
        for p, rate, _ in self.tried:
            rates[p[x], p[y]] = max(rate or 0, rates.get((p[x], p[y]), 0))
        return rates

    def __repr__(self):
        if self.found_on:
            return (f"{self.step} ({self.dialect}), {self.M} x {self.N} x {self.K}: searched on {self.found_on}\n"
                    f"  kept      {ladder.spell(self.best)}\n  To search again, add again=True.")
        failed = sum(rate is None for _, rate, _ in self.tried)
        text = (f"{self.step} ({self.dialect}), {self.M} x {self.N} x {self.K}: {len(self.tried)} of {self.legal} points tried in "
                f"{self.seconds:.0f} s" + f", {failed} failed" * bool(failed) + ", interrupted" * self.interrupted)
        default = self.tried[0][0] if self.tried else self.best
        text += f"\n  defaults  {ladder.spell(default)}"
        if self.best == default:
            return text + "\n  Nothing beat the defaults in every round. They stay."
        text += f"\n  best      {ladder.spell(self.best)}"
        first, second = self.comparison.first, self.comparison.second
        return text + (f"\n  in turns  {first.gflops:.3g} against {second.gflops:.3g} GFLOP/s, {self.comparison.ratio:.2f} times "
                       f"({min(self.comparison.ratios):.2f} to {max(self.comparison.ratios):.2f})")


def tune(step, dialect="OpenCL", size=None, seconds=60, space=None, again=False):
    """Search for the step's best parameters on this machine's device, and keep them for `parameters="tuned"`. Returns `Tuning`.

    `size`: an int or (M, N, K); by default 512, or 2048 on a GPU. `seconds`: about how long it may take. `space`: {parameter:
    values} in place of the ladder's. What an earlier call found for that size is returned at once, unless `again` is true.
    Interrupted, it times the best so far against the defaults, some seconds, and keeps it if it wins; interrupted again, it
    keeps the defaults.
    Raises ValueError for a simulator, where there is no time to compare, and for a space with no point that can run here.
    """
    if dialect not in ("CUDA", "OpenCL"):
        raise ValueError(f"there is no dialect {dialect!r}; there are: CUDA, OpenCL.")
    rung, build = ladder.step(step, dialect), {"CUDA": cuda, "OpenCL": opencl}[dialect]
    device = devices.cuda_device() if dialect == "CUDA" else devices.opencl_device(None, tuple(rung.defaults))
    if device.kind == "simulator":
        raise ValueError("in the simulator there is no speed to tune for. Tune OpenCL kernels, or use a machine with an NVIDIA GPU.")
    M, N, K = sizes((2048 if device.kind == "GPU" else 512) if size is None else size)
    if isinstance(seconds, str) or not seconds > 0:
        raise ValueError(f"seconds={seconds!r} leaves no time to try anything; give some, such as 60.")
    default, source = rung.defaults_for(device), build.source_of(step)
    kept = {} if again or space else tuned.entry(rung, device, source)
    if kept.get("size") == [M, N, K]:
        return Tuning(step, dialect, device.name, M, N, K, (), 0, 0.0, None, kept["parameters"], found_on=kept["date"])
    legal = ladder.points(rung, device, space)
    build.kernel(step).refuse(M, N, K)
    start = time.perf_counter()
    search = {"CUDA": loop, "OpenCL": kernel_tuner}[dialect]
    with tqdm(total=round(seconds), unit="s", leave=False, desc=f"tuning {step}", bar_format="{desc}: {n:.0f} of {total} s |{bar}| {postfix}") as bar:
        def each(tried):
            bar.n = min(bar.total, time.perf_counter() - start)
            bar.set_postfix_str(f"{len(tried)} points, best {max((rate or 0 for _, rate, _ in tried), default=0):.3g} GFLOP/s")

        tried, interrupted = search(rung, device, legal, default, (M, N, K), start + SEARCHING * seconds, each)
        best, comparison = finals(build, step, default, tried, (M, N, K), start + seconds, interrupted)
    found = Tuning(step, dialect, device.name, M, N, K, tuple(tried), len(legal) + (default not in legal), time.perf_counter() - start, comparison, best, interrupted)
    if tried:
        tuned.remember(rung, device, source, best, size=[M, N, K], date=time.strftime("%Y-%m-%d"),
                       times_faster=round(comparison.ratio, 3) if comparison else None)
    return found


def order(legal, default, tried):
    """Yield points to try: the defaults, then by turns one at random and a neighbour of the best so far.

    A neighbour differs in one parameter. `tried`: the list that the caller fills in the meantime.
    """
    yield default
    left = [p for p in legal if p != default]
    random.shuffle(left)
    while left:
        best = max(tried, key=lambda entry: entry[1] or 0)[0] if tried else default
        near = [p for p in left if sum(p[name] != best[name] for name in best) == 1]
        point = near[0] if near and len(tried) % 2 else left[0]
        left.remove(point)
        yield point


def finals(build, step, default, tried, size, until, interrupted):
    """The best of those tried and its `Comparison` with the defaults; the defaults if it did not win every round."""
    good = sorted((entry for entry in tried if entry[1]), key=lambda entry: -entry[1])
    good = [p for p, _, _ in good[: FINALISTS + 1] if p != default][:FINALISTS]
    if not good:
        return default, None
    won = []
    with contextlib.suppress(KeyboardInterrupt):
        for p in good[: 1 if interrupted else FINALISTS]:
            comparison = compare(build.kernel(step, **p), build.kernel(step), size, ROUNDS)
            if min(comparison.ratios) > 1:
                won.append((comparison.ratio, p, comparison))
            if time.perf_counter() > until:
                break
    return max(won, key=lambda entry: entry[0])[1:] if won else (default, None)


def loop(rung, device, legal, default, size, until, each):
    """Try points with `cuda_kernel` until the time is over. Returns what was tried, and whether it was interrupted."""
    return try_points(lambda p: cuda.kernel(rung.name, **p), legal, default, size, until, each)


def try_points(build, legal, default, size, until, each):
    """As `loop`; `build`: parameters -> kernel."""
    A, B = draw(*size)
    wrong = judge(A, B)

    def attempt(p):
        work = build(p).upload(A, B)
        work.launch()
        if wrong(work.download()).any():
            return None, "wrong numbers"
        return 2 * np.prod(size, dtype=float) / np.median([work.launch() for _ in range(LAUNCHES)]) / 1e9, ""

    return go_through(legal, default, attempt, until, each)


def go_through(legal, default, attempt, until, each):
    """Attempt points in `order` until the time is over; `attempt`: parameters -> (GFLOP/s, or None and then why it failed).

    Returns what was tried, and whether it was interrupted. `each` is called with what was tried so far.
    """
    tried = []
    try:
        for p in order(legal, default, tried):
            try:
                tried.append((p, *attempt(p)))
            except Exception as error:  # a point may ask too much of a device in ways that only its driver knows
                tried.append((p, None, str(error).strip().partition("\n")[0]))
            each(tried)
            if time.perf_counter() > until:
                break
    except KeyboardInterrupt:
        return tried, True
    return tried, False


def restricted(rung, device, points):
    """The space that these points span, and what restricts it, as Kernel Tuner takes them: ({name: values}, [condition]).

    Kernel Tuner takes the block from parameters, so it becomes two more of them, which follow from the others.
    """
    blocks = [rung.block(p) for p in points]
    space = {name: sorted({p[name] for p in points}) for name in points[0]}
    space |= {f"block_size_{axis}": sorted(set(along)) for axis, along in zip("xy", zip(*blocks))}
    x, y = rung.block.split(", ")
    # Not "block_size_x == ...": its parser, python-constraint 2.9, takes some products there for another kind of condition.
    restrictions = [*rung.needs, f"{x} - block_size_x == 0", f"{y} - block_size_y == 0",
                    f"block_size_x * block_size_y <= {device.max_threads}"]
    return space, restrictions + [f"4 * ({rung.staged}) <= {device.shared_bytes}"] * (rung.staged != "0")


def kernel_tuner(rung, device, legal, default, size, until, each):
    """As `loop`, for OpenCL: Kernel Tuner builds, checks and times, and this strategy of ours says what comes next."""
    try:
        from kernel_tuner import tune_kernel
        from kernel_tuner.observers.observer import OutputObserver
        from kernel_tuner.util import RuntimeFailedConfig
    except ImportError:
        raise KernelError("Tuning OpenCL kernels needs Kernel Tuner, which is not installed: pip install kernel_tuner "
                          "(in a notebook: %pip install kernel_tuner).") from None
    import pyopencl as cl

    M, N, K = size
    A, B = draw(M, N, K)
    wrong = judge(A, B)  # once: BLAS's threads would disturb each timing

    class Strategy:
        def tune(self, space, runner, options):
            results = []

            def attempt(p):  # where a source does not build, Kernel Tuner prints, and leaves a file where it stands
                with tempfile.TemporaryDirectory() as here, contextlib.chdir(here), contextlib.redirect_stdout(io.StringIO()):
                    results.extend(runner.run([(*p.values(), *rung.block(p))], options))
                return (None, "wrong numbers") if "__error__" in results[-1] else (results[-1]["GFLOP/s"], "")

            self.outcome = go_through(legal, default, attempt, until, each)
            return results

    class Answer(OutputObserver):
        right = True

        def process_output(self, answer, output):
            C, guard = np.split(output[5], [M * N])
            self.right = not wrong(C.reshape(M, N)).any() and bool((guard == CANARY).all())

        def after_start(self):
            self.dev.event.wait()  # in wait() this thread computes, too; Kernel Tuner would poll, and halve a CPU's speed

        def get_results(self):
            return {} if self.right else {"__error__": RuntimeFailedConfig()}

    behind = [np.concatenate([X.ravel(), np.full(GUARD, value, np.float32)])
              for X, value in ((A, np.nan), (B, np.nan), (np.full((M, N), np.nan, np.float32), CANARY))]
    platform, strategy = device.handle.platform, Strategy()
    space, restrictions = restricted(rung, device, [default, *legal])
    tune_kernel(
        rung.name, opencl.source_of(rung.name), lambda p: rung.grid(p, M, N), [np.int32(M), np.int32(N), np.int32(K), *behind],
        space, restrictions=restrictions, grid_div_x=[], grid_div_y=[],  # the problem is counted in blocks already
        defines={name: name for name in default}, lang="OpenCL", platform=cl.get_platforms().index(platform),
        device=platform.get_devices().index(device.handle), answer=[None] * 5 + [np.empty(0)], observers=[Answer()],
        strategy=strategy, iterations=LAUNCHES, quiet=True, objective="GFLOP/s", objective_higher_is_better=True,
        metrics={"GFLOP/s": lambda result: 2e-6 * M * N * K / float(np.median(result["times"]))})
    return strategy.outcome
