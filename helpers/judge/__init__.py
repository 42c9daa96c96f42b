"""Is it right? The verdict on a kernel or on an answer, hard to fool, with the cause and the line when it is wrong."""

from .checking import check, check_also_at
from .early import judge_prefetching
from .exercises import ANSWERS, check_answer
from .packing import judge_packing
from .panels import judge_panel_step
from .parts import CommaIndex, refuse_commas, with_part
from .reference import error_bound, held, right_within_bound, wrong_elements
from .report import Report
from .search import judge_search
from .sums import check_two_sums
from .touched import (
    answered,
    check_loads,
    judge_coalesced,
    judge_naive,
    judge_rounds,
    judge_transposed,
    judge_turned,
    not_turned,
)
from .wgsl import judge_wgsl, wgsl_frame
from .wide import judge_wide, unturned

__all__ = [
    "ANSWERS",
    "CommaIndex",
    "Report",
    "answered",
    "check",
    "check_also_at",
    "check_answer",
    "check_loads",
    "check_two_sums",
    "error_bound",
    "held",
    "judge_coalesced",
    "judge_naive",
    "judge_packing",
    "judge_panel_step",
    "judge_prefetching",
    "judge_rounds",
    "judge_search",
    "judge_transposed",
    "judge_turned",
    "judge_wgsl",
    "judge_wide",
    "not_turned",
    "refuse_commas",
    "right_within_bound",
    "unturned",
    "wgsl_frame",
    "with_part",
    "wrong_elements",
]
