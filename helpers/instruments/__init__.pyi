# What this room exports, and where it stands. lazy_loader reads it, and so do editors and mypy.

from .block_run import BlockRun as BlockRun
from .block_run import predict_triton as predict_triton
from .block_run import run_triton as run_triton
from .block_run import side_by_side as side_by_side
from .compiler import CompilerReport as CompilerReport
from .compiler import compiler_report as compiler_report
from .counts import counts_of as counts_of
from .gpus import GPU as GPU
from .gpus import GPUS as GPUS
from .gpus import gpu_here as gpu_here
from .gpus import gpu_like as gpu_like
from .gpus import occupancy as occupancy
from .loads import Traffic as Traffic
from .loads import predicted_traffic as predicted_traffic
from .loads import traffic as traffic
from .prediction import Prediction as Prediction
from .prediction import predict as predict
from .prediction import predicted_ladder as predicted_ladder
from .ptx_run import CompiledRun as CompiledRun
from .ptx_run import run_ptx as run_ptx
from .published import against_published as against_published
from .traces import Trace as Trace
from .traces import cells as cells
from .traces import trace as trace
from .warps import bank_conflicts as bank_conflicts
from .warps import coalescing as coalescing
