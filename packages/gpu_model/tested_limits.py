"""Holds the limits that the model names against what others saw: a GPU's counters, and changes that were measured."""

import itertools
from dataclasses import dataclass

from .published import COUNTERS, MEASURED, OURS, Ladder, as_it_ran

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
    rows = OURS["kernel"]
    kernels = [(" ".join([row["step"], *map(str, row["parameters"].values())]), row, as_it_ran(row)) for row in rows]
    return LimitsTested((*counters(kernels), *of_others(), *conflicts(), *sizes(kernels)))


def counters(kernels):
    """Which unit is the busiest, or do warps wait for memory? Either is a limit that counters allow."""
    for title, row, p in kernels:
        most = max(row["busy"], key=row["busy"].get)
        stalls = [stall for stall in row["stalls"] if stall != "another warp was chosen"]
        waits = p.limit == "waiting" and stalls[0] in MEMORY
        yield Tested("limits by a GPU's counters, our kernels", p.gpu, title, most, p.limit, p.limit == most or waits)


def of_others():
    """In whose queue do most warps wait, and in which third are the issue slots?"""
    for seen in COUNTERS:
        ladder = Ladder(seen["gpu"], seen["source"], {})
        for step, limit in seen["limit"].items():
            p = ladder.predicted(step)
            yield Tested("limits by others' counters", p.gpu, step, limit, p.limit, limit == p.limit)
    for seen in COUNTERS:
        for step, share in seen["issue"].items():
            p = Ladder(seen["gpu"], seen["source"], {}).predicted(step)
            ours = 100 * p.units["issue"] / p.seconds
            same = min(2, int(3 * share / 100)) == min(2, int(3 * ours / 100))
            question = "issue slots, by others' counters: the same third?"
            yield Tested(question, p.gpu, step, f"{share:.0f}%", f"{ours:.0f}%", same)


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
