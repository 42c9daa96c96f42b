"""Page 02, both kernels: each thread computes its own element, from the numbers of its block and itself."""

import ast
import re

import numpy as np

from ..instruments.accesses import grouped
from ..instruments.traces import Trace
from ..judge.other_sizes import code_of
from ..judge.report import Report
from ..launch import Kernel
from ..sandbox import Finding
from .loads import check_loads
from .rules import judged, lines_of, right_with, traced


def judge_naive(k: Kernel) -> Report:
    """Check a kernel launched like `naive`: each thread its own element, from the numbers of its block and itself.

    It has to be right with blocks of other shapes, too, and without the words that give the element away.
    """
    seen = traced(k, 9, 9, 1)  # more than one block along each side, and few products, should all do all of them
    if seen and (several := stored_by_several(k, seen)):
        return Report(str(k), (several,), 1, k.source)
    return judged(k, right_with(k, check_loads(k), dict(BM=3, BN=5), dict(BM=6, BN=2)), not_allowed)


def not_allowed(k: Kernel) -> list[Finding]:
    """The words that give the element away, if its source has any."""
    if k.dialect == "CUDA":
        calls = [ast.unparse(node.func) for node in ast.walk(ast.parse(k.source)) if isinstance(node, ast.Call)]
        used = ["cuda.grid"] * any(re.search(r"\bgrid$", name) for name in calls)
    else:
        used = [word for word in ("get_global_id", "return") if re.search(rf"\b{word}\b", code_of(k))]
    return [Finding("not allowed", f"this exercise does without {' and '.join(used)}")] if used else []


def stored_by_several(k: Kernel, seen: Trace) -> Finding | None:
    """An element of C that more than one thread stores, and by how many of them; None if there is none."""
    stores = seen.where(array="C", writes=True)
    who = grouped(*stores["block"].T, stores["thread"])
    elements, _ = np.unique(np.stack([stores["index"], who]), axis=1)
    elements, times = np.unique(elements, return_counts=True)
    if max(times, default=0) < 2:
        return None
    M, N = seen.shapes["C"]
    row, col = divmod(elements[times.argmax()].item(), N)
    all_of_it = len(elements) == M * N and times.min() == len(np.unique(who)) > 1
    blocks = len(np.unique(stores["block"][stores["index"] == row * N + col], axis=0))
    text = f"C[{row}, {col}] is stored by {times.max()} threads, of {blocks} blocks, at {M} x {N} (M x N)"
    text += ": every thread computes all of C" if all_of_it else "; each thread has an element of its own"
    return Finding("stored twice", text, lines_of(stores))
