"""Page 02, both kernels: each thread its own element of C, without the words that give it away."""

import ast
import re

import numpy as np

from kernel_judge import Finding, Report

from ..instruments import trace
from ..launch import Kernel, KernelError
from .loads import check_loads
from .rules import judged, lines_of

SHAPE = 9, 9, 1  # M, N, K: more than one block along each side, and few products, should every thread do all of them


def judge_naive(k: Kernel) -> Report:
    """Check a kernel launched like `naive`, count its loads, and look for words that this exercise does without.

    Returns a `Report`, true when right. No element of C may be stored by two threads.
    """
    if twice := stored_twice(k):
        return Report(k.title, tuple(twice), k.source)
    return judged(k, check_loads(k), not_allowed)


def stored_twice(k: Kernel) -> list[Finding]:
    """An element of C that more than one thread stores, and by how many of them."""
    try:
        stores = trace(k, *SHAPE).where(array="C", writes=True)
    except (KernelError, ValueError):  # check says why
        return []
    who = np.unique(np.column_stack([stores["index"], stores["block"], stores["thread"]]), axis=0)
    elements, times = np.unique(who[:, 0], return_counts=True)
    if times.max(initial=0) < 2:
        return []
    row, col = divmod(elements[times.argmax()].item(), SHAPE[1])
    text = "C[{row}, {col}] is stored by {threads} threads at 9 x 9 (M x N); each thread has an element of its own"
    return [Finding("stored twice", text, lines_of(stores), {"row": row, "col": col, "threads": times.max().item()})]


def not_allowed(k: Kernel) -> list[Finding]:
    """The first word that gives the element away, if its source has any."""
    if k.dialect == "CUDA":
        calls = [ast.unparse(node.func) for node in ast.walk(ast.parse(k.source)) if isinstance(node, ast.Call)]
        used = ["cuda.grid" for name in calls if re.search(r"\bgrid$", name)]
    else:
        code = re.sub(r"//.*", "", k.source)
        used = [word for word in ("get_global_id", "return") if re.search(rf"\b{word}\b", code)]
    return [Finding("not allowed", "this exercise does without {word}", values={"word": word}) for word in used[:1]]
