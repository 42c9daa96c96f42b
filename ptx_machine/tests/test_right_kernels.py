"""Right kernels in many styles: each computes what NumPy does, and nothing is found.

right/kernels.cu has their source.
"""

from pathlib import Path

import numpy as np
import pytest

import ptx_machine

SOURCE = Path(__file__).parent / "right" / "kernels.cu"
A = np.random.default_rng(11).permutation(256)  # what the kernels read
BLOCKS, WARPS, LANE = A.reshape(4, 64), A.reshape(8, 32), np.arange(32)
SUMS, ALL = BLOCKS.sum(1), A.sum()
HISTOGRAM, PREFIXES = np.bincount(A % 16), BLOCKS.cumsum(1)
TILES = BLOCKS.reshape(4, 8, 8).swapaxes(1, 2)
SQUARE, SORTED = A.reshape(16, 16), np.sort(BLOCKS)
THIRDS = np.sort(A[A % 3 == 0])
IN_ROWS = BLOCKS.cumsum(0)


def each(values, many=64):
    """One number of each block, or group, for all of its threads."""
    return np.repeat(values, many)


def folded(values, turns, change):
    """What so many turns of a change make of values."""
    for turn in range(turns):
        values = change(values, turn)
    return values


def token(values):
    """o = 3 * o + a[block], in turns, as numbers of 32 bits."""
    return [folded(0, 12, lambda sum_, turn: (3 * sum_ + int(values[turn % 4])) % 2**32)]


def rolled(values, _=0):
    """The sum of each number and its two neighbours, round the ends."""
    return np.roll(values, 1) + values + np.roll(values, -1)


def life(cells, _):
    """A step of the game of life on squares of 8 x 8."""
    many = sum(np.roll(cells, (i, j), (1, 2)) for i in (-1, 0, 1) for j in (-1, 0, 1))
    return (many == 3) | ((many == 4) & cells)


def hadamard(values):
    """The transform of Walsh and Hadamard along the last axis."""
    signs = np.array([[1 - 2 * (bin(i & j).count("1") & 1) for j in LANE] for i in LANE])
    return values @ signs


def shortest(ways):
    """Floyd's and Warshall's shortest ways."""
    ways = ways.copy()
    ways[:, range(8), range(8)] = 0
    for k in range(8):
        ways = np.minimum(ways, ways[:, :, k : k + 1] + ways[:, k : k + 1, :])
    return ways


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


def xorshift(v, _):
    """A step of Marsaglia's generator."""
    v ^= v << np.uint32(13)
    v ^= v >> np.uint32(17)
    return v ^ v << np.uint32(5)


def crc(v, _):
    """A bit of a checksum."""
    return np.where(v & 1, v >> 1 ^ 0xEDB88320, v >> 1)


def bits(v):
    """What `bits_of_numbers` stores."""
    first = (v & -v).bit_length()
    return v.bit_count() + int(f"{v:08b}"[::-1], 2) * 16 + (32 - v.bit_length()) * 4096 + (first << 20)


EXPECTED = {
    "scan_hillis_steele": PREFIXES,
    "scan_blelloch": PREFIXES,
    "scan_by_warps": PREFIXES,
    "scan_by_one_thread": PREFIXES,
    "scan_four_to_a_thread": PREFIXES,
    "scan_chained": A.cumsum(),
    "scan_look_back": each(SUMS.cumsum() - SUMS),
    "scan_of_segments": A.reshape(-1, 8).cumsum(1),
    "running_maximum": np.maximum.accumulate(BLOCKS, axis=1),
    "sum_shuffled_xor": each(SUMS),
    "sum_redux": each(SUMS),
    "sum_of_all_by_atomics": [ALL],
    "sum_of_all_by_the_last_block": [ALL],
    "sum_of_a_grid_stride": [ALL],
    "sum_of_pairs_of_words": [ALL],
    "greatest_and_its_place": each(BLOCKS.argmax(1)),
    "smallest_by_compare_and_swap": each(BLOCKS.min(1)),
    "counted_by_a_barrier": each((BLOCKS & 1).sum(1)),
    "asked_by_a_barrier": each((BLOCKS == 17).any(1) * 2 + 1),
    "sum_of_floats": each(SUMS),
    "sum_in_turns": each(SUMS),
    "sort_bitonic": SORTED,
    "sort_bitonic_of_warps": np.sort(WARPS),
    "sort_odd_and_even": SORTED,
    "sort_by_rank": SORTED,
    "sort_by_bits": SORTED,
    "sort_by_counting": SORTED,
    "sort_by_merging": SORTED,
    "histogram_shared": HISTOGRAM,
    "histogram_global": HISTOGRAM,
    "histogram_by_warps": HISTOGRAM,
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
    "appended_each_by_itself": THIRDS,
    "stack_of_linked_places": [131],  # one of 32 finds nothing below it
    "flags_in_a_row": IN_ROWS,
    "flags_released_and_acquired": IN_ROWS,
    "token_in_a_ring": token(A),
    "all_blocks_come_together": A[::-1] + 1,
    "heat_of_a_whole_grid": [folded(A, turns, rolled) for turns in (4, 3)],
    "tree_of_blocks": [A[:4].sum(), A[1], A[2] + A[3], A[3]],
    "transpose_padded": TILES,
    "transpose_swizzled": TILES,
    "transpose_in_place": TILES,
    "transpose_in_registers": A.reshape(-1, 4, 4).swapaxes(1, 2),
    "transpose_by_matrices": A,
    "product_of_tiles": SQUARE @ SQUARE,
    "product_two_buffers": SQUARE @ SQUARE,
    "product_prefetched": SQUARE @ SQUARE,
    "product_of_registers": SQUARE @ SQUARE,
    "product_split_along_k": SQUARE @ SQUARE,
    "product_of_bytes": [(A.reshape(64, 4) * A.reshape(64, 4)[::-1]).sum(1) + block for block in range(4)],
    "stencil_with_its_borders": rolled(A),
    "stencil_of_warps": rolled(A),
    "stencil_of_a_plane": SQUARE + sum(np.roll(SQUARE, by, axis) for by in (-1, 1) for axis in (0, 1)),
    "stencil_in_steps": np.max([np.roll(BLOCKS, by, 1) for by in range(-5, 6)], axis=0),
    "life_in_a_block": folded(BLOCKS.reshape(4, 8, 8) % 2 == 1, 3, life),
    "copies_on_their_way": BLOCKS[:, ::-1],
    "copies_in_two_buffers": [BLOCKS.sum(0)[::-1]] * 4,
    "one_warp_gives_the_other_takes": np.where(np.arange(64) < 32, 0, 3 * BLOCKS[:, ::-1] + 3),
    "warps_with_barriers_of_their_own": WARPS[:, ::-1],
    "barrier_in_memory": BLOCKS[:, ::-1],
    "warp_of_two_halves": each(A.reshape(-1, 16).sum(1), 16),
    "warp_by_shared_memory": each(WARPS.sum(1), 32),
    "walsh_and_hadamard": hadamard(WARPS),
    "who_has_my_number": (WARPS[:, :, None] % 5 == WARPS[:, None] % 5).sum(2),
    "until_none_goes_on": each(collatz(WARPS), 32),
    "threads_of_a_branch": np.where(A & 1, 1, A),
    "queue_of_two_warps": np.where(np.arange(64) < 32, 0, BLOCKS[:, ::-1]),
    "threads_that_leave": np.where(np.arange(64) < 40, BLOCKS[:, (39 - np.arange(64)) % 64], 0),
    "all_store_the_same": each((BLOCKS > 250).any(1) * 100).reshape(4, 64) + np.arange(64) // 2,
    "sieve": [k > 1 and all(k % i for i in range(2, k)) for k in range(256)],
    "shortest_ways": shortest(BLOCKS.reshape(4, 8, 8)),
    "places_in_a_list": [63 - np.arange(64)] * 4,
    "smallest_of_a_group": groups(BLOCKS),
    "breadth_first": [np.minimum(np.arange(64), 64 - np.arange(64))] * 4,
    "calls_itself": np.array([0, 1, 1, 2, 3, 5, 8, 13])[A % 8],
    "called_by_address": np.choose(A % 3, [2 * A, A * A, A - 1]),
    "array_of_a_threads_own": sum((A + i) % 16 * A for i in range(4)),
    "cases": [case(v) for v in A],
    "structures_and_bytes": BLOCKS[:, ::-1] * 8 + (63 - np.arange(64)) % 8,
    "bits_of_numbers": [bits(int(v)) for v in A],
    "numbers_of_chance": folded((A + 1).astype(np.uint32), 20, xorshift),
    "checksum": folded(A, 8, crc),
    "searched_by_halves": -(-A // 4),
    "found_in_a_text": [*np.resize([1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], 62), 0, 0] * 4,
    "two_kinds_of_warps": np.roll(np.where(np.arange(64) < 32, BLOCKS * 2, BLOCKS + 1), 32, 1),
    "elements_of_a_volatile_array": A + 1,
    "roots": (np.sqrt(A.astype(np.float32)) * 16).astype(int) + np.sqrt(4.0 * A).astype(int),
    "long_numbers": [v // 1000003 % 65536 + (v * 255 >> 64) for v in (int(a) * 0x9E3779B97F4A7C15 % 2**64 for a in A)],
}
ANY_ORDER = ("appended_by_one_of_a_warp", "appended_each_by_itself")


@pytest.fixture(scope="module")
def compiled():
    """All kernels, as NVRTC makes them."""
    pytest.importorskip("cuda.bindings.nvrtc")
    return ptx_machine.from_cuda(SOURCE)


def test_there_are_so_many(compiled):
    assert {*compiled[1]} == {*EXPECTED} and len(EXPECTED) > 95


@pytest.mark.parametrize("name", EXPECTED)
def test_a_right_kernel_is_right_and_clean(name, compiled):
    text, names = compiled
    a, o, n = A.astype(np.int32), np.zeros(512, np.int32), np.zeros(300, np.int32)
    a.flags.writeable = False
    run = ptx_machine.run(text, (4,), (64,), [a, o, n], names[name])
    assert run, run
    expected = np.ravel(EXPECTED[name]).astype(np.int64).astype(np.int32)
    got = run.arrays[1][: expected.size]
    assert np.array_equal(np.sort(got) if name in ANY_ORDER else got, expected)
    assert not run.arrays[1][expected.size :].any()
