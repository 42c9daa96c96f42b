"""What warps ask for: sectors of global memory and wavefronts, counted on paper."""

import numpy as np
import pytest

from ptx_machine import LINE, NOBODY, sectors, wavefronts
from ptx_machine.warps import around, paired

LANES = np.arange(32)


def asked(units, width=1):
    """A warp whose threads ask for `width` units each, from these on."""
    return (np.asarray(units)[:, None] + np.arange(width))[None]


def test_banks_serve_a_warp_a_half_or_a_quarter_at_a_time():
    for words, width, expected in (
        (LANES, 1, (1, 1, 1)),
        (LANES * 0 + 7, 1, (1, 1, 1)),  # one word for all is served at once
        (2 * LANES, 1, (1, 2, 1)),
        (32 * LANES, 1, (1, 32, 1)),
        (2 * LANES, 2, (1, 2, 2)),
        (4 * LANES, 4, (1, 4, 4)),
        # Threads 0 and 8 ask for the same banks, but not in the same quarter; 0 and 1 do.
        (4 * (LANES % 8) + 128 * (LANES // 8), 4, (1, 4, 4)),
        (128 * (LANES % 8), 4, (1, 32, 4)),
    ):
        assert wavefronts(asked(words, width)) == expected, (words, width)


def test_sectors_of_32_bytes():
    for units, size, width, expected in (
        (LANES, 4, 1, (1, 4, 4)),
        (LANES + 4, 4, 1, (1, 5, 4)),
        (0 * LANES, 4, 1, (1, 1, 1)),
        (256 * LANES, 4, 1, (1, 32, 4)),
        (LANES, 16, 1, (1, 16, 16)),
        (4 * LANES, 4, 4, (1, 16, 16)),  # the same, by words
        (LANES, 1, 1, (1, 1, 1)),
    ):
        assert sectors(asked(units, width), size) == expected, (units, size)


def test_threads_that_take_no_part_ask_for_nothing():
    warps = np.full((3, 32, 1), NOBODY)  # of three warps one has two threads, one has one, and one has none
    warps[0, :2, 0] = 0, 32
    warps[1, 5, 0] = 0
    assert wavefronts(warps) == (2, 3, 2)
    assert sectors(warps, 4) == (2, 3, 2)


def test_lines_of_128_bytes():
    for units, width, size, expected in [
        (range(32), 1, 4, (1, 1, 1)),
        (range(16, 48), 1, 4, (1, 2, 1)),
        (range(0, 32 * 32, 32), 1, 4, (1, 32, 1)),
        ([7] * 32, 1, 4, (1, 1, 1)),
    ]:
        assert sectors(asked(units, width), size, LINE) == expected


@pytest.mark.parametrize(
    "words, pairs",
    [
        ([5] * 32, 1),
        ([n // 2 for n in range(32)], 1),
        ([n // 16 for n in range(32)], 1),
        ([n % 2 + n // 4 * 2 for n in range(32)], 1),
        (range(32), 0),
        ([n % 16 for n in range(32)], 0),
        ([5] * 31 + [6], 0),
        ([5, NOBODY] * 16, 1),
        ([NOBODY] * 32, 0),
    ],
)
def test_pairs_of_threads_that_ask_for_the_same(words, pairs):
    assert paired(asked(words, 1)) == pairs


def test_the_sixteen_bytes_around_a_word_take_the_rounds_of_quarters_of_a_warp():
    """Threads 8 words apart: all 32 in the same four banks take 8 rounds, and no more for four words each."""
    apart = np.arange(32).reshape(1, 32, 1)
    assert wavefronts(8 * apart)[1] == wavefronts(around(8 * apart))[1] == 8
    assert wavefronts(around(apart))[1] == wavefronts(around(4 * apart + 3))[1] == 4
    assert (around(np.full((1, 32, 1), NOBODY)) == NOBODY).all()
