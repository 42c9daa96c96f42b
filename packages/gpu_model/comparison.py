"""Holds the model against measured ladders: how far off it is, and how often it has two kernels in the wrong order."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median

from .gpus import known
from .prediction import Prediction
from .published import LADDERS, LOCKED, Ladder


@dataclass(frozen=True)
class Row:
    """One rung of a measured ladder, beside what the model says.

    prediction  of the kernel that ran there, at the data sheet's clock
    at_clock    the same at the clock that the ladder's naive rung shows; None without such a rung
    ours        of a kernel of one's own of that name; None where none was given
    """

    ladder: Ladder
    step: str
    published: float
    prediction: Prediction
    at_clock: Prediction | None
    ours: Prediction | None

    @property
    def ratio(self) -> float:
        """The predicted rate, as a multiple of the measured one."""
        return self.prediction.gflops / self.published


@dataclass(frozen=True)
class Comparison:
    """Rows of ladders, and how far off the model is."""

    rows: tuple

    @property
    def error(self) -> float:
        """The median of how far the ratios are from 1."""
        return median(abs(row.ratio - 1) for row in self.rows)

    def __repr__(self):
        head = f"{'GPU':9} {'step':12} {'measured':>8} {'predicted':>9} {'ratio':>5}"
        lines, last = [f"{head} {'at its clock':>12} {'ours':>7}  limit"], None
        for row in self.rows:
            p, note = row.prediction, f"  ({row.ladder.note})" * bool(row.ladder.note)
            gpu, last = p.gpu if row.ladder is not last else "", row.ladder
            clock = f"{row.at_clock.gflops / row.published:.2f}" if row.at_clock else ""
            about = f"{gpu:9} {row.step:12} {row.published:8,.0f} {p.gflops:9,.0f} {row.ratio:5.2f} {clock:>12}"
            ours = f"{row.ours.gflops:,.0f}" if row.ours else ""
            lines.append(f"{about} {ours:>7}  {p.limit}{note if gpu else ''}")
        return "\n".join([*lines, f"half of the {len(self.rows)} ratios are within {self.error:.0%} of 1", self.table])

    @property
    def table(self) -> str:
        """How far off the model is by each way of holding it against ladders, and by those it was not fitted to."""
        counted = [row for row in self.rows if row.ladder.counted]
        gpus = {row.ladder.gpu for row in self.rows}
        locked = [row for one in LOCKED if one.gpu in gpus for row in rows_of(one)]
        ways = {
            "the code that ran, the data sheet's clock": [(row, row.prediction) for row in counted],
            "the code that ran, the ladder's own clock": [
                (row, row.at_clock) for row in counted if row.at_clock and row.step != "naive"
            ],
            "much the same code, a locked clock": [(row, row.prediction) for row in locked],
            "our kernels of that name, the data sheet's clock": [(row, row.ours) for row in self.rows if row.ours],
        }
        lines = [f"{'':52} rungs median worst wrong order  in 10%  in a third"]
        for way, pairs in ways.items():
            unseen = [pair for pair in pairs if not pair[0].ladder.fitted]
            lines.append(told(way, pairs))
            if len(unseen) < len(pairs):
                lines.append(told("  of these, ladders that LOSSES was not chosen by", unseen))
        return "\n".join(filter(None, lines))


def told(way, pairs):
    """A line about (`Row`, `Prediction`) of many rungs: how far off, and how many pairs are out of order."""
    if not pairs:
        return ""
    off = [abs(p.gflops / row.published - 1) for row, p in pairs]
    order = [
        (a.published - b.published) * (p.gflops - q.gflops) < 0
        for (a, p), (b, q) in itertools.combinations(pairs, 2)
        if a.ladder is b.ladder
    ]
    return (
        f"{way:52} {len(pairs):5} {median(off):6.1%} {max(off):5.0%} {sum(order):4} of {len(order):3} "
        f"{fmean(one <= 0.1 for one in off):7.0%} {fmean(one <= 1 / 3 for one in off):7.0%}"
    )


def compare(gpu: str | None = None, ours: Callable | None = None, ladders: Sequence[Ladder] = LADDERS) -> Comparison:
    """Hold the model against the ladders of that GPU, or against all of them. Returns `Comparison`.

    ours     a function of (ladder, step, gpu): the `Prediction` for a kernel of one's own, to stand beside
    ladders  those that are compared
    Raises ValueError for a GPU of which there is no ladder.
    """
    gpu = gpu and known(gpu).name
    chosen = [one for one in ladders if gpu in (None, one.gpu)]
    if not chosen:
        raise ValueError(
            f"no published ladder of {gpu!r} is known here; there are those of "
            f"{', '.join(dict.fromkeys(one.gpu for one in ladders))}."
        )
    return Comparison(tuple(row for one in chosen for row in rows_of(one, ours)))


def rows_of(one, ours=None):
    """The `Row` of each rung of a ladder."""
    gpu, clock = known(one.gpu), one.clock()
    for step, rate in one.rates.items():
        at_clock = one.predicted(step, replace(gpu, clock=clock)) if clock else None
        yield Row(one, step, rate, one.predicted(step, gpu), at_clock, ours(one, step, gpu) if ours else None)
