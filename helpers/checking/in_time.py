"""A check on the PTX machine ends, however slow the kernel: how much it may do.

That is counted in work, as `ptx_machine.Run` does, and not in seconds: so a verdict is the same on a busy computer.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from cuda_without_gpu.device import BUDGET, Budget
from kernel_judge import Finding, Kind, Seen

from ..errors import OutOfTime

WORK = 1_500_000  # of a check: some 15 s of computing, or 22 of one thread alone; a rung takes a third of it at most


@contextmanager
def limited() -> Iterator[None]:
    """End what is launched on the PTX machine in the block, with OutOfTime, once it has done `WORK` together."""
    here = BUDGET.set(Budget(WORK))
    try:
        yield
    finally:
        BUDGET.reset(here)


def stopped(late: OutOfTime) -> Seen:
    """What came of a check whose time was over."""
    key, values = late.sentence
    if not values:  # as `cuda_without_gpu` says it: the line of code stands below
        text, _, code = key.partition("\n    ")
        key, values = "{text}, at `{code}`" if code else "{text}", {"text": text, "code": code}
    return Seen([Finding(Kind.TOO_SLOW, key, (late.line,) if late.line else (), values)])
