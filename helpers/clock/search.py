"""Goes through the points of a step's space, in an order, until the time is over."""

import random
import time
from collections.abc import Callable, Iterator

import numpy as np

from ..judge.reference import wrong_for
from ..launch import draw
from .timing import warm_up

LAUNCHES = 5  # a point, on a GPU batches of them; their median counts
Tried = tuple[dict, float | None, str]  # parameters, GFLOP/s or None, and then why it failed


def order(legal: list, default: dict, tried: list[Tried]) -> Iterator[dict]:
    """Yield points to try: the defaults, then by turns one at random and a neighbour of the best so far.

    A neighbour differs in one parameter. `tried`: the list that the caller fills in the meantime.
    """
    yield default
    left = [p for p in legal if p != default]
    random.shuffle(left)
    while left:
        best = max(tried, key=lambda entry: entry[1] or 0)[0] if tried else default
        near = [p for p in left if sum(p[name] != best[name] for name in best) == 1]
        point = near[0] if near and len(tried) % 2 else left[0]
        left.remove(point)
        yield point


def search_with_a_loop(task, until: float, each: Callable) -> tuple[list[Tried], bool]:
    """Build, check and time points until the time is over. Returns what was tried, and whether it was interrupted."""
    A, B = draw(*task.size)
    wrong = wrong_for(A, B, task.default.get("INPUT", "float32"))

    def attempt(p):
        work = task.build(p).upload(A, B)
        work.launch()
        if wrong(work.download()).any():
            return None, "wrong numbers"
        launches = warm_up(work, task.device.kind == "GPU")
        seconds = np.median([work.timed(launches) for _ in range(LAUNCHES)])
        return 2e-9 * np.prod(task.size, dtype=float) / seconds, ""

    return go_through(task.legal, task.default, attempt, until, each)


def go_through(legal: list, default: dict, attempt: Callable, until: float, each: Callable) -> tuple[list[Tried], bool]:
    """Attempt points in `order` until the time is over. Returns what was tried, and whether it was interrupted.

    `attempt`: parameters -> (GFLOP/s, "") or (None, why it failed). `each` is called with what was tried so far.
    `until`: a time of `time.perf_counter`.
    """
    tried = []
    try:
        for p in order(legal, default, tried):
            try:
                tried.append((p, *attempt(p)))
            except Exception as error:  # a point may ask too much of a device in ways that only its driver knows
                tried.append((p, None, str(error).strip().partition("\n")[0]))
            each(tried)
            if time.perf_counter() > until:
                break
    except KeyboardInterrupt:
        return tried, True
    return tried, False
