"""Page 02, both kernels: right, and without the words that give the element away."""

import ast
import re

from ..judge import Report
from ..launch import Kernel
from ..sandbox import Finding
from .loads import check_loads
from .rules import judged


def judge_naive(k: Kernel) -> Report:
    """Check a kernel launched like `naive`, count its loads, and look for words that this exercise does without.

    Returns a `Report`, true when right.
    """
    return judged(k, check_loads(k), not_allowed)


def not_allowed(k: Kernel) -> list[Finding]:
    """The words that give the element away, if its source has any."""
    if k.dialect == "CUDA":
        calls = [ast.unparse(node.func) for node in ast.walk(ast.parse(k.source)) if isinstance(node, ast.Call)]
        used = ["cuda.grid" for name in calls if re.search(r"\bgrid$", name)]
    else:
        code = re.sub(r"//.*", "", k.source)
        used = [word for word in ("get_global_id", "return") if re.search(rf"\b{word}\b", code)]
    return [Finding("not allowed", f"this exercise does without {word}") for word in used[:1]]
