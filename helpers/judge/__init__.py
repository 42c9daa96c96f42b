"""Is it right? The verdict on a kernel or on an answer, hard to fool, with the cause and the line when it is wrong."""

from .checking import check, check_also_at
from .exercises import ANSWERS, check_answer, judge_search
from .parts import with_part
from .reference import error_bound, right_within_bound, wrong_elements
from .report import Report
from .sums import check_two_sums
from .touched import check_loads, judge_prefetching, judge_transposed, judge_turned

__all__ = [
    "ANSWERS",
    "Report",
    "check",
    "check_also_at",
    "check_answer",
    "check_loads",
    "check_two_sums",
    "error_bound",
    "judge_prefetching",
    "judge_search",
    "judge_transposed",
    "judge_turned",
    "right_within_bound",
    "with_part",
    "wrong_elements",
]
