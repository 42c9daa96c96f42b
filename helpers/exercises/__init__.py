"""What must an answer do? What several pages share; what only one needs stands in a file called like that page."""

from kernel_judge.answers import ask, judge_wishes

from .rules import check_loads, with_part

__all__ = ["ask", "check_loads", "judge_wishes", "with_part"]
