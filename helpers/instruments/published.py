"""Holds the model against ladders that others measured and published; published.toml has them, with their sources."""

from dataclasses import dataclass

import numpy as np

from .. import ladder
from ..launch import Kernel, cuda_kernel
from ..launch.given import takes
from .gpus import gpu_called, read_toml
from .prediction import Prediction, predict

PUBLISHED = read_toml("published.toml")
SIZE = PUBLISHED["size"]  # M = N = K of all of them
SIZES = PUBLISHED["sizes"]  # the parameters of each step's kernel there, with our names
COUNTERS = read_toml("counters.toml")  # what a GPU's own counters said of our kernels


@dataclass(frozen=True)
class Ladder:
    """What somebody measured on a GPU: `rates`, {step: GFLOP/s}; `library`, cuBLAS there; `note`, what is odd.

    `ours`: whether it was measured with the course's own kernels, at a GPU's parameters; otherwise at `SIZES`.
    """

    gpu: str
    source: str
    rates: dict
    library: float
    note: str = ""
    ours: bool = False

    def kernel(self, step: str) -> Kernel:
        """Our kernel of that step, at the sizes of the ladder."""
        return cuda_kernel(step, **ladder.step(step).defaults["GPU"] if self.ours else SIZES[step])


LADDERS = tuple(Ladder(**one) for one in PUBLISHED["ladder"])


@dataclass(frozen=True)
class Row:
    """One rung of a published ladder, beside what the model says of our kernel of that name, at the ladder's sizes."""

    ladder: Ladder
    published: float
    prediction: Prediction

    @property
    def ratio(self) -> float:
        """The predicted rate, as a multiple of the published one."""
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
        lines, last = [f"{'GPU':9} {'step':12} {'published':>9} {'predicted':>9} {'ratio':>5}  limit"], None
        for row in self.rows:
            p, note = row.prediction, f"  ({row.ladder.note})" * bool(row.ladder.note)
            gpu, last = p.gpu if row.ladder is not last else "", row.ladder
            about = f"{gpu:9} {p.kernel.split()[0]:12} {row.published:9,.0f} {p.gflops:9,.0f}"
            lines.append(f"{about} {row.ratio:5.2f}  {p.limit}{note if gpu else ''}")
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
    return Comparison(
        tuple(
            Row(one, rate, predict(one.kernel(step), one.gpu, SIZE, SIZE, SIZE))
            for one in ladders
            for step, rate in one.rates.items()
        )
    )
