"""Holds the model against measured ladders: others', which `gpu_model` has, and one of the course's own kernels.

That one, and what a GPU's counters said of these kernels, is in counters.toml. They are the kernels of that day, and
held against them is what was counted of their code, not of the ladder's as it is now.
"""

import itertools
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import gpu_model
from gpu_model import GPU, Ladder, Prediction
from gpu_model.gpus import known
from gpu_model.published import LOCKED, SIZE, SIZES, on_h200

from .. import ladder
from ..launch import cuda_kernel
from .prediction import predict

# What a GPU's own counters said of our kernels.
COUNTERS = tomllib.loads(Path(__file__).with_name("counters.toml").read_text(encoding="utf-8"))


def as_it_ran(row: dict, gpu: GPU | str = COUNTERS["gpu"]) -> Prediction:
    """What the model says of a kernel of counters.toml, `row`, as it was when the GPU ran it."""
    counts = on_h200()[f"{row['step']} with {ladder.spell(row['parameters'])}"]
    return gpu_model.predict(counts, gpu, SIZE, SIZE, SIZE, by_rows=row["step"] == "naive")


LADDERS = (*gpu_model.LADDERS, Ladder(**COUNTERS["ladder"]))


@dataclass(frozen=True)
class Row:
    """One rung of a measured ladder, beside what the model says.

    prediction  of the kernel that ran there, at the data sheet's clock
    at_clock    the same at the clock that the ladder's naive rung shows; None without such a rung
    ours        of our kernel of that name, at the ladder's sizes; of a ladder of ours, of the kernel that ran
    """

    ladder: Ladder
    step: str
    published: float
    prediction: Prediction
    at_clock: Prediction | None
    ours: Prediction

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
        return float(np.median([abs(row.ratio - 1) for row in self.rows]))

    def __repr__(self):
        head = f"{'GPU':9} {'step':12} {'measured':>8} {'predicted':>9} {'ratio':>5}"
        lines, last = [f"{head} {'at its clock':>12} {'ours':>7}  limit"], None
        for row in self.rows:
            p, note = row.prediction, f"  ({row.ladder.note})" * bool(row.ladder.note)
            gpu, last = p.gpu if row.ladder is not last else "", row.ladder
            clock = f"{row.at_clock.gflops / row.published:.2f}" if row.at_clock else ""
            about = f"{gpu:9} {row.step:12} {row.published:8,.0f} {p.gflops:9,.0f} {row.ratio:5.2f} {clock:>12}"
            lines.append(f"{about} {row.ours.gflops:7,.0f}  {p.limit}{note if gpu else ''}")
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
            "our kernels of that name, the data sheet's clock": [(row, row.ours) for row in self.rows],
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
    off = np.array([abs(p.gflops / row.published - 1) for row, p in pairs])
    order = [
        (a.published - b.published) * (p.gflops - q.gflops) < 0
        for (a, p), (b, q) in itertools.combinations(pairs, 2)
        if a.ladder is b.ladder
    ]
    return (
        f"{way:52} {len(pairs):5} {np.median(off):6.1%} {off.max():5.0%} {sum(order):4} of {len(order):3} "
        f"{(off <= 0.1).mean():7.0%} {(off <= 1 / 3).mean():7.0%}"
    )


def against_published(gpu: str | None = None) -> Comparison:
    """Hold the model against the ladders of that GPU that are known, or against all of them. Returns `Comparison`.

    Raises ValueError for a GPU of which no ladder is known.
    """
    gpu = gpu and known(gpu).name
    ladders = [one for one in LADDERS if gpu in (None, one.gpu)]
    if not ladders:
        raise ValueError(
            f"no published ladder of {gpu!r} is known here; there are those of "
            f"{', '.join(dict.fromkeys(one.gpu for one in LADDERS))}."
        )
    return Comparison(tuple(row for one in ladders for row in rows_of(one)))


def rows_of(one):
    """The `Row` of each rung of a ladder."""
    gpu, clock = known(one.gpu), one.clock()
    for step, rate in one.rates.items():
        yield Row(
            one,
            step,
            rate,
            one.predicted(step, gpu),
            one.predicted(step, replace(gpu, clock=clock)) if clock else None,
            one.predicted(step) if one.ran else predict(cuda_kernel(step, **SIZES[step]), gpu, SIZE, SIZE, SIZE),
        )
