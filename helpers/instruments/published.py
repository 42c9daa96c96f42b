"""Holds the model against measured ladders: others', which `gpu_model` has, and one of the course's own kernels.

That one, and what a GPU's counters said of these kernels, is in counters.toml.
"""

import tomllib
from pathlib import Path

import gpu_model
from gpu_model import GPU, Ladder, Prediction, tested_limits
from gpu_model.comparison import Comparison, compare
from gpu_model.published import SIZE, SIZES
from gpu_model.tested_limits import LimitsTested

from ..launch import cuda_kernel
from .prediction import predict

# What a GPU's own counters said of our kernels.
COUNTERS = tomllib.loads(Path(__file__).with_name("counters.toml").read_text(encoding="utf-8"))


class OwnLadder(Ladder):
    """A `Ladder` of the course's own kernels, at a GPU's parameters."""

    def predicted(self, step: str, gpu: GPU | str | None = None) -> Prediction:
        """The `Prediction` for our kernel of that step, on that GPU; on the ladder's own where none is given."""
        return predict(step, gpu or self.gpu, SIZE, SIZE, SIZE)


LADDERS = (*gpu_model.LADDERS, OwnLadder(**COUNTERS["ladder"]))


def against_published(gpu: str | None = None) -> Comparison:
    """Hold the model against the ladders of that GPU that are known, or against all of them. Returns `Comparison`.

    Raises ValueError for a GPU of which no ladder is known.
    """

    def ours(one, step, gpu):
        k = step if isinstance(one, OwnLadder) else cuda_kernel(step, **SIZES[step])
        return predict(k, gpu, SIZE, SIZE, SIZE)

    return compare(gpu, ours, LADDERS)


def limits_tested() -> LimitsTested:
    """Ask the model for the limits that counters name, and for the sign of changes that were measured."""

    def predicted(row):
        return predict(cuda_kernel(row["step"], **row["parameters"]), COUNTERS["gpu"], SIZE, SIZE, SIZE)

    return tested_limits.limits_tested(COUNTERS["kernel"], predicted, LADDERS)
