"""What must an answer do? A file for each page with a judge of its own, called like the page; what pages share."""

from .autotuning import judge_search
from .baseline import judge_timing
from .block_compilers import judge_product, triton_product
from .coalescing import judge_transposed
from .cpu_blocking import judge_packing
from .loads import check_loads
from .many_devices import judge_panel_step
from .naive import judge_naive
from .other_dialects import judge_coalesced, judge_fma
from .parts import with_part
from .prefetching import asked_early, double_buffered, judge_prefetching
from .questions import check_answer
from .wide_loads import judge_turned, judge_wide, turned, unturned

__all__ = [
    "asked_early",
    "check_answer",
    "check_loads",
    "double_buffered",
    "judge_coalesced",
    "judge_fma",
    "judge_naive",
    "judge_packing",
    "judge_panel_step",
    "judge_prefetching",
    "judge_product",
    "judge_search",
    "judge_timing",
    "judge_transposed",
    "judge_turned",
    "judge_wide",
    "triton_product",
    "turned",
    "unturned",
    "with_part",
]
