"""Holds the limits that the model names against what others saw: a GPU's counters, and changes that were measured."""

import itertools
from dataclasses import dataclass

from .published import MEASURED, OURS, as_it_ran

MEMORY = ("L2 cache or memory", "barrier")  # what warps wait for while the model says that they wait


@dataclass(frozen=True)
class Tested:
    """A question to the model: on which GPU, about what, what was measured and what the model says."""

    question: str
    gpu: str
    what: str
    measured: str
    predicted: str
    agrees: bool


@dataclass(frozen=True)
class LimitsTested:
    """All that was `Tested`. It prints how often the model agrees on each question, and each miss."""

    tests: tuple

    def __repr__(self):
        lines = []
        for question, group in itertools.groupby(self.tests, lambda one: one.question):
            group = list(group)
            lines.append(f"{sum(one.agrees for one in group):2} of {len(group):2}  {question}")
            for one in group:
                if not one.agrees:
                    lines.append(f"      ✗ {one.gpu}, {one.what}: measured {one.measured}, predicted {one.predicted}")
        return "\n".join(lines)


def limits_tested() -> LimitsTested:
    """Ask the model for the limits that counters name, and for the sign of changes that were measured."""
    kernels = counted_kernels()
    units = sorted(counters(kernels), key=lambda one: one.question, reverse=True)
    return LimitsTested((*units, *conflicts(), *sizes(kernels)))


def counted_kernels():
    """[(its step and parameters, what counters said of it, what the model says)] of the kernels of counters.toml."""
    rows = OURS["kernel"]
    return [(" ".join([row["step"], *map(str, row["parameters"].values())]), row, as_it_ran(row)) for row in rows]


def nsight_screen(kernel: str) -> None:
    """Print what counters said of a kernel in Nsight Compute's words, beside the course's words and the model.

    `kernel`: its step and parameters as `limits_tested` writes them, such as "tiled 16".
    """
    [(row, p)] = [(row, p) for title, row, p in counted_kernels() if title == kernel]
    print(f"{'GPU Speed Of Light Throughput; pipelines':46} counted  model")
    for ours, theirs in OURS["nsight"]["busy"].items():
        print(f"  {theirs:27} {ours:16} {row['busy'].get(ours, 0):7}% {p.units.get(ours, 0) / p.seconds:6.0%}")
    print("Memory Workload Analysis, GB")
    print(f"  {'L2 to L1/TEX':27} {'L2 cache':16} {row['l2_bytes'] / 1e9:8.2f} {p.bytes[2] / 1e9:6.2f}")
    print(f"  {'Device Memory':27} {'memory':16} {row['memory_bytes'] / 1e9:8.2f} {p.bytes[1] / 1e9:6.2f}")
    print("Warp State Statistics, cycles of a warp for each instruction")
    for ours, cycles in row["stalls"].items():
        print(f"  {OURS['nsight']['stalls'][ours]:27} {ours:24} {cycles:.2f}")


def counters(kernels):
    """Which unit is the busiest, or do warps wait for memory? Either is a limit that counters allow. Is none busy?"""
    for title, row, p in kernels:
        most = max(row["busy"], key=row["busy"].get)
        stalls = [stall for stall in row["stalls"] if stall != "another warp was chosen"]
        waits = p.limit == "waiting" and stalls[0] in MEMORY
        yield Tested("limits by a GPU's counters, our kernels", p.gpu, title, most, p.limit, p.limit == most or waits)
        most, told = row["busy"][most], p.working / p.seconds
        question = "latency-bound: no unit busy for 60 % of the time?"
        yield Tested(question, p.gpu, title, f"{most}% busy", f"{told:.0%}", (most < 60) == p.latency_bound)


def sign(question, gpu, what, measured, predicted):
    """Whether a change made a kernel faster, or slower, as it was predicted. Both are rates after it, over before."""
    same = (measured - 1) * (predicted - 1) > 0
    return Tested(question, gpu, what, f"x {measured:.2f}", f"x {predicted:.2f}", same)


def conflicts():
    """Was the vectorized kernel of others faster once its stores met no bank conflicts?"""
    for ladder in MEASURED:
        for change, rate in ladder.tried.items():
            before, after = (ladder.predicted(step).gflops for step in ("vectorized", change))
            question = "bank conflicts taken away: faster or slower?"
            yield sign(question, ladder.gpu, change, rate / ladder.rates["vectorized"], after / before)


def sizes(kernels):
    """Of two sizes of a kernel of ours, which was faster?"""
    for (a, first, p), (b, second, q) in itertools.combinations(kernels, 2):
        if first["step"] == second["step"] != "matrix_units":
            what = f"{a} to {b.removeprefix(first['step']).strip()}"
            question = "other sizes of our kernels: faster or slower?"
            yield sign(question, p.gpu, what, first["ms"] / second["ms"], p.seconds / q.seconds)
