"""Right kernels in many styles: each computes what NumPy does, and nothing is found.

right/kernels.cu has their source.
"""

from pathlib import Path

import numpy as np
import pytest

import ptx_machine

SOURCE = Path(__file__).parent / "right" / "kernels.cu"
A = np.random.default_rng(11).permutation(256)  # what the kernels read
BLOCKS, WARPS = A.reshape(4, 64), A.reshape(8, 32)
SUMS, ALL = BLOCKS.sum(1), A.sum()
HISTOGRAM, PREFIXES = np.bincount(A % 16), BLOCKS.cumsum(1)
TILES = BLOCKS.reshape(4, 8, 8).swapaxes(1, 2)
SQUARE, SORTED = A.reshape(16, 16), np.sort(BLOCKS)
THIRDS = np.sort(A[A % 3 == 0])
IN_ROWS = BLOCKS.cumsum(0)


def each(values, many=64):
    """One number of each block, or group, for all of its threads."""
    return np.repeat(values, many)


def token(values):
    """o = 3 * o + a[block], in turns, as numbers of 32 bits."""
    total = 0
    for turn in range(12):
        total = (3 * total + int(values[turn % 4])) % 2**32
    return [total]


def collatz(values):
    """How many turns each warp takes until all its numbers are 1 or less."""
    turns, values = np.zeros(len(values), int), values.copy()
    while (values > 1).any():
        turns += (values > 1).any(1)
        values = np.where(values > 1, np.where(values & 1, 3 * values + 1, values // 2), values)
    return turns


def groups(values):
    """Of each number the first place of the run of like parity around it, by rows."""
    starts = np.ones(values.shape, bool)
    starts[:, 1:] = (values[:, 1:] ^ values[:, :-1]) & 1
    return np.maximum.accumulate(np.where(starts, np.arange(values.shape[1]), 0), axis=1)


def case(v):
    """What `cases` stores."""
    which = v % 7
    return [v + 10, 3 * v - 1, v - 1, v ^ 255, 0, v << 2, -v][which]


EXPECTED = {
    "scan_blelloch": PREFIXES,
    "scan_by_warps": PREFIXES,
    "scan_four_to_a_thread": PREFIXES,
    "scan_chained": A.cumsum(),
    "scan_look_back": each(SUMS.cumsum() - SUMS),
    "sum_shuffled_xor": each(SUMS),
    "sum_of_all_by_the_last_block": [ALL],
    "sum_of_pairs_of_words": [ALL],
    "smallest_by_compare_and_swap": each(BLOCKS.min(1)),
    "counted_by_a_barrier": each((BLOCKS & 1).sum(1)),
    "asked_by_a_barrier": each((BLOCKS == 17).any(1) * 2 + 1),
    "sum_of_floats": each(SUMS),
    "sort_bitonic": SORTED,
    "sort_by_bits": SORTED,
    "histogram_shared": HISTOGRAM,
    "histogram_of_who_match": HISTOGRAM,
    "histogram_of_own_columns": HISTOGRAM,
    "lock_of_a_grid": [A[:4].sum()],
    "lock_by_tickets": [A[::16].sum()],
    "lock_for_each_bucket": np.bincount(A[::4] % 4, A[::4]),
    "lock_in_a_block": each(BLOCKS[:, ::4].sum(1)),
    "lock_with_acquire": [A[:4].sum()],
    "queue_between_two_blocks": A[:20],
    "queue_of_work": A * 2,
    "queue_of_work_for_blocks": A + 1,
    "appended_by_one_of_a_warp": THIRDS,
    "stack_of_linked_places": [131],  # one of 32 finds nothing below it
    "flags_in_a_row": IN_ROWS,
    "flags_released_and_acquired": IN_ROWS,
    "token_in_a_ring": token(A),
    "all_blocks_come_together": A[::-1] + 1,
    "tree_of_blocks": [A[:4].sum(), A[1], A[2] + A[3], A[3]],
    "transpose_in_place": TILES,
    "transpose_by_matrices": A,
    "product_of_tiles": SQUARE @ SQUARE,
    "product_of_bytes": [(A.reshape(64, 4) * A.reshape(64, 4)[::-1]).sum(1) + block for block in range(4)],
    "copies_in_two_buffers": [BLOCKS.sum(0)[::-1]] * 4,
    "one_warp_gives_the_other_takes": np.where(np.arange(64) < 32, 0, 3 * BLOCKS[:, ::-1] + 3),
    "warps_with_barriers_of_their_own": WARPS[:, ::-1],
    "barrier_in_memory": BLOCKS[:, ::-1],
    "warp_of_two_halves": each(A.reshape(-1, 16).sum(1), 16),
    "warp_by_shared_memory": each(WARPS.sum(1), 32),
    "until_none_goes_on": each(collatz(WARPS), 32),
    "threads_of_a_branch": np.where(A & 1, 1, A),
    "queue_of_two_warps": np.where(np.arange(64) < 32, 0, BLOCKS[:, ::-1]),
    "threads_that_leave": np.where(np.arange(64) < 40, BLOCKS[:, (39 - np.arange(64)) % 64], 0),
    "all_store_the_same": each((BLOCKS > 250).any(1) * 100).reshape(4, 64) + np.arange(64) // 2,
    "sieve": [k > 1 and all(k % i for i in range(2, k)) for k in range(256)],
    "smallest_of_a_group": groups(BLOCKS),
    "calls_itself": np.array([0, 1, 1, 2, 3, 5, 8, 13])[A % 8],
    "called_by_address": np.choose(A % 3, [2 * A, A * A, A - 1]),
    "array_of_a_threads_own": sum((A + i) % 16 * A for i in range(4)),
    "cases": [case(v) for v in A],
    "structures_and_bytes": BLOCKS[:, ::-1] * 8 + (63 - np.arange(64)) % 8,
}


@pytest.fixture(scope="module")
def compiled():
    """All kernels, as NVRTC makes them."""
    pytest.importorskip("cuda.bindings.nvrtc")
    return ptx_machine.from_cuda(SOURCE)


def test_each_kernel_is_tried(compiled):
    assert {*compiled[1]} == {*EXPECTED}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_right_kernel_is_right_and_clean(name, compiled):
    text, names = compiled
    a, o, n = A.astype(np.int32), np.zeros(512, np.int32), np.zeros(300, np.int32)
    a.flags.writeable = False
    run = ptx_machine.run(text, (4,), (64,), [a, o, n], names[name])
    assert run, run
    expected = np.ravel(EXPECTED[name]).astype(np.int64).astype(np.int32)
    got = run.arrays[1][: expected.size]
    assert np.array_equal(np.sort(got) if name == "appended_by_one_of_a_warp" else got, expected)
    assert not run.arrays[1][expected.size :].any()
