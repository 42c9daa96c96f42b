"""What shows that no clock does? What a kernel touches, moves and makes a warp ask for, and what the compiler made of it."""

from .compiler import CompilerReport, compiler_report
from .gpus import GPUS, WARP, occupancy
from .trace import Trace, trace
from .traffic import Traffic, predicted_traffic, traffic
from .warps import SECTOR, bank_conflicts, coalescing

__all__ = [
    "GPUS",
    "SECTOR",
    "WARP",
    "CompilerReport",
    "Trace",
    "Traffic",
    "bank_conflicts",
    "coalescing",
    "compiler_report",
    "occupancy",
    "predicted_traffic",
    "trace",
    "traffic",
]
