"""Holds the model against measured ladders; published.toml has them, with their sources, counters.toml has counters.

Most are of one set of kernels, SGEMM_CUDA's. What those ask of a GPU was counted from their code as `counts` does it;
published_counts.json keeps the numbers, not the code.
"""

import tomllib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

import gpu_model

from .. import ladder
from ..launch import Kernel, cuda_kernel
from ..launch.given import takes
from .counts import read_counts
from .gpus import GPU, gpu_called, read_toml
from .prediction import Prediction, arch_of, predict, predicted

PUBLISHED = read_toml("published.toml")
SIZE = PUBLISHED["size"]  # M = N = K of all of them
SIZES = PUBLISHED["sizes"]  # the parameters of each step's kernel there, with our names
# What a GPU's own counters said of our kernels.
COUNTERS = tomllib.loads(Path(__file__).with_name("counters.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Ladder:
    """What somebody measured on a GPU: `rates`, {step: GFLOP/s}; `library`, cuBLAS there; `note`, what is odd.

    `ours`: whether it was measured with the course's own kernels, at a GPU's parameters; otherwise SGEMM_CUDA's are
    predicted, at `SIZES`.
    """

    gpu: str
    source: str
    rates: dict
    library: float | None = None
    note: str = ""
    ours: bool = False

    def kernel(self, step: str) -> Kernel:
        """Our kernel of that step, at the sizes of the ladder."""
        return cuda_kernel(step, **ladder.step(step).defaults["GPU"] if self.ours else SIZES[step])

    def predicted(self, step: str, gpu: GPU) -> Prediction:
        """The `Prediction` for the kernel that ran there, on that GPU."""
        if self.ours:
            return predict(self.kernel(step), gpu, SIZE, SIZE, SIZE)
        return predicted(theirs()[step, arch_of(gpu)], gpu, step == "naive", SIZE, SIZE, SIZE)

    def clock(self) -> float | None:
        """Cycles a second at which its naive rung is predicted as it was measured; None without such a rung."""
        gpu = gpu_called(self.gpu)
        return ("naive" in self.rates and gpu.clock * self.rates["naive"] / self.predicted("naive", gpu).gflops) or None


LADDERS = tuple(Ladder(**one) for one in PUBLISHED["ladder"])


@cache
def theirs():
    """The `Counts` of SGEMM_CUDA's kernels: {(step, arch): Counts}."""
    return read_counts(Path(gpu_model.__file__).with_name("published_counts.json"))


@dataclass(frozen=True)
class Row:
    """One rung of a measured ladder, beside what the model says.

    prediction  of the kernel that ran there, at the data sheet's clock
    at_clock    the same at the clock that the ladder's naive rung shows; None without such a rung
    ours        of our kernel of that name, at the ladder's sizes
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
        return "\n".join([*lines, f"half of the {len(self.rows)} ratios are within {self.error:.0%} of 1"])


@takes
def against_published(gpu: str | None = None) -> Comparison:
    """Hold the model against the ladders of that GPU that are known, or against all of them. Returns `Comparison`.

    Raises ValueError for a GPU of which no ladder is known.
    """
    gpu = gpu and gpu_called(gpu).name
    ladders = [one for one in LADDERS if gpu in (None, one.gpu)]
    if not ladders:
        raise ValueError(
            f"no published ladder of {gpu!r} is known here; there are those of "
            f"{', '.join(dict.fromkeys(one.gpu for one in LADDERS))}."
        )
    return Comparison(tuple(row for one in ladders for row in rows_of(one)))


def rows_of(one):
    """The `Row` of each rung of a ladder."""
    gpu, clock = gpu_called(one.gpu), one.clock()
    for step, rate in one.rates.items():
        yield Row(
            one,
            step,
            rate,
            one.predicted(step, gpu),
            one.predicted(step, replace(gpu, clock=clock)) if clock else None,
            predict(one.kernel(step), gpu, SIZE, SIZE, SIZE),
        )
