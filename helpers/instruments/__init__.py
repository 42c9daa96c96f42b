"""What does a kernel do that no clock shows? What it touches and moves, what its warps ask for, how it was compiled."""

from .prediction import (
    GPU,
    GPUS,
    BlockRun,
    CompiledRun,
    CompilerReport,
    LimitsTested,
    Prediction,
    against_published,
    compiler_report,
    counts_of,
    gpu_here,
    gpu_like,
    limits_tested,
    occupancy,
    predict,
    predict_beside,
    predict_triton,
    predicted_ladder,
    print_requests,
    run_ptx,
    run_triton,
    side_by_side,
)
from .touches import Trace, Traffic, bank_conflicts, cells, coalescing, predicted_traffic, trace, traffic
