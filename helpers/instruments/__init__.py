"""What does a kernel do that no clock shows? What it touches and moves, what its warps ask for, how it was compiled."""

import lazy_loader

from gpu_model import GPU, GPUS, Prediction
from ptx_machine import SECTOR, WARP

# Loaded when first asked for: who reads the table of GPUs need not wait for Numba.
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "block_run": ["BlockRun", "predict_triton", "run_triton", "side_by_side"],
        "compiler": ["CompilerReport", "compiler_report"],
        "counts": ["counts_of"],
        "gpus": ["gpu_here", "gpu_like", "occupancy"],
        "loads": ["Traffic", "predicted_traffic", "traffic"],
        "prediction": ["predict", "predicted_ladder"],
        "ptx_run": ["CompiledRun", "run_ptx"],
        "published": ["against_published"],
        "traces": ["Trace", "cells", "trace"],
        "warps": ["bank_conflicts", "coalescing"],
    },
)
__all__ += ["GPU", "GPUS", "SECTOR", "WARP", "Prediction"]
