"""What does a kernel do that no clock shows? What it touches and moves, what its warps ask for, how it was compiled."""

from blocks_without_gpu import BlockRun, side_by_side
from gpu_model import GPU, GPUS, Prediction, occupancy
from gpu_model import gpu as gpu_like
from gpu_model.machine_code import CompilerReport
from gpu_model.tested_limits import LimitsTested, limits_tested, nsight_screen

from .prediction import (
    CompiledRun,
    against_published,
    compiler_report,
    counts_of,
    gpu_here,
    predict,
    predict_beside,
    predict_triton,
    predicted_ladder,
    print_requests,
    run_ptx,
    run_triton,
)
from .touches import Trace, Traffic, bank_conflicts, cells, coalescing, predicted_traffic, trace, traffic
