"""A check on the PTX machine ends, however slow the kernel: how much it may do, and where it was then.

That is counted in work, as `ptx_machine.Run` does, and not in seconds: so a verdict is the same on a busy computer.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from cuda_without_gpu.device import BUDGET, Budget

from ..errors import OutOfTime

WORK = 1_500_000  # of a check: some 15 s of computing, or 22 of one thread alone; a rung takes a third of it at most
TO_SAY_MORE = 400_000  # beyond that, to tell more of what has been found


@contextmanager
def limited() -> Iterator[None]:
    """End what is launched on the PTX machine in the block, with OutOfTime, once it has done `WORK` together."""
    here = BUDGET.set(Budget(WORK))
    try:
        yield
    finally:
        BUDGET.reset(here)


def more_said(ask: Callable, *given: object):
    """What `ask` says of a kernel that is known to be wrong; None where even `TO_SAY_MORE` is too little for it."""
    budget = BUDGET.get() or Budget(0)
    budget.left += TO_SAY_MORE
    try:
        with suppress(OutOfTime):
            return ask(*given)
    finally:
        budget.left -= TO_SAY_MORE


def still_ran(shape: tuple, more: str) -> str:
    """Where a check's time was over, in words: a shape (M, N, K), and more that is known."""
    return f"at {' x '.join(map(str, shape))} (M x N x K) it still ran when the check's time was over{more}"
