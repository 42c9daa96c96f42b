"""What does a kernel do that no clock shows? What it touches and moves, what its warps ask for, how it was compiled."""

from ptx_machine import SECTOR, WARP

from .block_run import BlockRun, predict_triton, run_triton, side_by_side
from .compiler import CompilerReport, compiler_report
from .counts import counts_of
from .gpus import GPU, GPUS, gpu_here, occupancy
from .loads import Traffic, predicted_traffic, traffic
from .prediction import Prediction, predict, predicted_ladder
from .ptx_run import CompiledRun, run_ptx
from .published import against_published
from .traces import Trace, cells, trace
from .warps import bank_conflicts, coalescing

__all__ = [
    "GPU",
    "GPUS",
    "SECTOR",
    "WARP",
    "BlockRun",
    "CompiledRun",
    "CompilerReport",
    "Prediction",
    "Trace",
    "Traffic",
    "against_published",
    "bank_conflicts",
    "cells",
    "coalescing",
    "compiler_report",
    "counts_of",
    "gpu_here",
    "occupancy",
    "predict",
    "predict_triton",
    "predicted_ladder",
    "predicted_traffic",
    "run_ptx",
    "run_triton",
    "side_by_side",
    "trace",
    "traffic",
]
