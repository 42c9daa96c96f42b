"""How fast is a product of matrices on a GPU that is not there, and what limits it? A model, and measured ladders.

`predict` is what one calls, with a kernel's `Counts`; README.md shows how. The package needs Python and nothing else.
"""

from .counts import Counts, Work
from .gpus import GPU, GPUS, Occupancy, gpu, occupancy
from .prediction import UNITS, Prediction, predict
from .published import LADDERS, Ladder

__all__ = [
    "GPU",
    "GPUS",
    "LADDERS",
    "UNITS",
    "Counts",
    "Ladder",
    "Occupancy",
    "Prediction",
    "Work",
    "gpu",
    "occupancy",
    "predict",
]
