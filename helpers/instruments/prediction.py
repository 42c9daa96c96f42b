"""How long a CUDA kernel takes on a GPU that is not there, and which part of that GPU is the limit."""

from gpu_model.prediction import (
    LOSSES,
    ON_TOP,
    REQUESTS,
    UNITS,
    Prediction,
    arch_of,
    fetched,
    known,
    predict,
    predicted,
    predicted_ladder,
)

__all__ = [
    "LOSSES",
    "ON_TOP",
    "REQUESTS",
    "UNITS",
    "Prediction",
    "arch_of",
    "fetched",
    "known",
    "predict",
    "predicted",
    "predicted_ladder",
]
