"""Ladders that others measured and published, to hold the model against: float32, GFLOP/s, M = N = K = 4096."""

from dataclasses import dataclass

import numpy as np

from ..launch import cuda_kernel
from ..launch.given import takes
from .gpus import gpu_called
from .prediction import Prediction, predict

SIZE = 4096  # M = N = K of all of them: where an older README says 4092, its program timed 4096, as the last one says
# SGEMM_CUDA's sizes, with our names. Its kernels are others than ours: it has no guards; register_1d and register_2d
# give a thread rows that lie side by side; register_2d reads B 16 bytes at a time; the last is its tiling by warps.
SIZES = {
    "naive": dict(BM=32, BN=32),
    "coalesced": dict(BM=32, BN=32),
    "tiled": dict(TILE=32),
    "register_1d": dict(BM=64, BN=64, BK=8, TM=8),
    "register_2d": dict(BM=128, BN=128, BK=8, TM=8, TN=8),
    "vectorized": dict(BM=128, BN=128, BK=8, TM=8, TN=8),
    "prefetched": dict(BM=128, BN=128, BK=16, TM=8, TN=4, WM=64, WN=64),
}

STEPS = tuple(SIZES)


@dataclass(frozen=True)
class Ladder:
    """What somebody measured on a GPU: `rates`, {step: GFLOP/s}; `library`, cuBLAS there; `note`, what is odd."""

    gpu: str
    source: str
    rates: dict
    library: float
    note: str = ""


def rerun(gpu, source, rates, library, note=""):
    """A run of SGEMM_CUDA's steps, rates in the order of STEPS; None for one that is missing."""
    named = {step: rate for step, rate in zip(STEPS, rates, strict=True) if rate is not None}
    return Ladder(gpu, source, named, library, note)


FORK = "a fork of siboehm/SGEMM_CUDA on GitHub whose name our source does not tell"
OTHER = "a fork of NVIDIA_SGEMM_PRACTICE on GitHub whose name our source does not tell"
LIKE = "a ladder of the same steps on GitHub whose name our source does not tell"
LADDERS = (
    rerun("A6000", "siboehm/SGEMM_CUDA", (309, 1986, 2980, 8475, 15972, 18237, 21779), 23250),
    rerun("RTX 3070", "Sandro295/SGEMM_CUDA", (172.8, 1226, 1701, 5072, 10143, 11559, 12551), 12937),
    rerun("RTX 4090", FORK, (681, 4834, 6552, 19282, 36053, 43326, 46350), 49306),
    rerun("A100", FORK, (292, 3119, 5452, 10369, 14155, 15297, 17807), 19030),
    rerun("A100", "vlejd/MASK_SGEMM_CUDA", (291, 3007, 4860, 9261, 12276, 13034, 13462), 14092, "PCIe, 250 W"),
    rerun("H100", FORK, (499, 6048, 9190, 17153, 25861, None, 36319), 50989),
    rerun("V100", OTHER, (226, 2271, 4248, 8415, 11630, 12639, None), 14220, "other kernels"),
    rerun("T4", "dmalt/SGEMM_CUDA", (61.4, 447, 866, 1927, 3425, 3723, None), 4134, "70 W; its own kernels"),
    rerun("A10", LIKE, (234, 1446, 2033, 5280, 8363, 11676, 12695), 13239, "150 W; its own kernels"),
)


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
    """Hold the model against the published ladders of that GPU, or against all of them. Returns `Comparison`.

    Raises ValueError for a GPU of which no ladder is known.
    """
    gpu = gpu and gpu_called(gpu).name
    ladders = [ladder for ladder in LADDERS if gpu in (None, ladder.gpu)]
    if not ladders:
        raise ValueError(
            f"no published ladder of {gpu!r} is known here; there are those of "
            f"{', '.join(dict.fromkeys(ladder.gpu for ladder in LADDERS))}."
        )
    return Comparison(
        tuple(
            Row(ladder, rate, predict(cuda_kernel(step, **SIZES[step]), ladder.gpu, SIZE, SIZE, SIZE))
            for ladder in ladders
            for step, rate in ladder.rates.items()
        )
    )
