"""Barriers that lie in shared memory, `mbarrier`: each a number of 64 bits, which atomics change.

Its bits, from the lowest: 20 for threads that this phase still waits for, 20 for those that each phase waits for, 21
for bytes that are still to come; the last but one says whether an odd number of phases is over. A phase is over when
nothing is waited for. Source: NVIDIA's PTX ISA, "mbarrier"; how its bits lie NVIDIA does not say.
"""

import numpy as np

COUNT = (1 << 20) - 1
EACH, BYTES, PHASE = 20, 40, 62
MOST_BYTES = (1 << 21) - 1


def whole(pending, each, missing, phase):
    """The number of such a barrier; a phase that is over is followed by the next."""
    if not pending & COUNT and not missing & MOST_BYTES:
        pending, phase = each, phase ^ 1
    return (pending & COUNT) | each << EACH | (missing & MOST_BYTES) << BYTES | phase << PHASE


def parts(state):
    """(threads still to come, threads of each phase, bytes still to come, phase)."""
    state = int(state)
    return state & COUNT, state >> EACH & COUNT, state >> BYTES & MOST_BYTES, state >> PHASE & 1


def begun(before, many):
    """`mbarrier.init`."""
    many = int(many)
    return many | many << EACH


def arrival(expects=False, drops=False):
    """`mbarrier.arrive`: with bytes that it says are to come, or for the last time, so that later phases wait less."""

    def arrive(before, many=1):
        pending, each, missing, phase = parts(before)
        if expects:
            missing, many = missing + int(many), 1
        return whole(pending - int(many), each - int(many) * drops, missing, phase)

    return arrive


def expected(before, many):
    """`mbarrier.expect_tx`."""
    pending, each, missing, phase = parts(before)
    return whole(pending, each, missing + int(many), phase)


def completed(before, many):
    """`mbarrier.complete_tx`."""
    pending, each, missing, phase = parts(before)
    return whole(pending, each, missing - int(many), phase)


def over(state, phase):
    """Whether a phase is over, that of a state: `mbarrier.test_wait`."""
    return (state ^ phase) >> np.uint64(PHASE) & np.uint64(1) != 0


def parity_over(state, parity):
    """Whether the last phase of that parity is over: `mbarrier.test_wait.parity`."""
    return (state >> np.uint64(PHASE) & np.uint64(1)).astype(np.uint32) != parity & 1


CHANGES = {
    ("init",): begun,
    ("arrive",): arrival(),
    ("arrive", "expect_tx"): arrival(expects=True),
    ("arrive_drop",): arrival(drops=True),
    ("arrive_drop", "expect_tx"): arrival(expects=True, drops=True),
    ("expect_tx",): expected,
    ("complete_tx",): completed,
    ("look",): lambda before: before,
}
