"""At which shapes is a kernel tried, so that none is wrong where people measure, or behind a test of its sizes?"""

import pytest

from kernel_judge.shapes import MOST_OF_A_FUNCTION, MULTIPLIED, affordable, for_a_function, telling, watched

# Of a report, and others: right at every ragged shape, and wrong where people measure.
WRONG = [
    *(f"{side} % {n} == 0 and {side} > {n}" for side in "MNK" for n in (4, 8, 16, 32, 64, 128)),
    *(f"{side} % {n} == 1" for side in "MNK" for n in (4, 16, 32, 128)),
    *(f"{side} == {n}" for side in "MNK" for n in (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)),
    *(f"{side} > 1 << 16" for side in "MNK"),
    *("M * N > 1 << 24", "K > 256", "K > 1 << 12"),
    "N % 16 == 0 and N >= 48",
    "M % 16 == 0 and N % 16 == 0 and K % 16 == 0 and M > 16",
    "K > 16 and (K & (K - 1)) == 0",
    "M == N and M > 40",
    "M == N and N == K and M >= 32",
    "M == 1024 and N == 1024 and K == 1024",
    "M == 1 and N > 1 and K > 1",
    "N == 1 and M > 1 and K > 1",
]


def test_each_of_them_is_wrong_at_a_shape_that_is_multiplied():
    sides = [dict(zip("MNK", shape, strict=True)) for shape in MULTIPLIED]
    assert [test for test in WRONG if not any(eval(test, {}, one) for one in sides)] == []


@pytest.mark.parametrize("tile", [(4, 4, 4), (8, 3, 6), (16, 16, 16)])
def test_the_small_shapes_meet_each_edge_of_a_tile(tile):
    for axis, side in enumerate(tile):
        rests = {shape[axis] % side for shape in watched(tile)}
        assert {0, 1} <= rests and max(shape[axis] for shape in watched(tile)) > 2 * side
    assert max(K // tile[2] for M, N, K in watched(tile) if tile[0] >= M and tile[1] >= N) >= 2


def test_the_small_shapes_of_a_tile_that_is_no_square():
    assert watched((8, 3, 6)) == [
        *((9, 7, 17), (17, 2, 13), (1, 1, 1), (8, 3, 12), (9, 9, 7), (9, 4, 1)),
        *((1, 1, 259), (15, 1, 1)),
    ]
    assert watched((128, 64, 8))[6] == (1, 1, 137) and watched((1, 1, 1))[1] == (3, 1, 3)
    assert telling((8, 3, 6)) == [(9, 7, 7), (17, 4, 7)]
    for one in [*watched((4, 4, 4)), (256, 16, 32)]:
        assert one in for_a_function()
    assert max(M * N * K for M, N, K in for_a_function()) <= MOST_OF_A_FUNCTION


def test_the_affordable_shapes_are_the_cheapest_in_their_order():
    assert affordable([(3, 3, 3), (1, 1, 1), (2, 2, 2)], sum, 9) == [(1, 1, 1), (2, 2, 2)]
    assert affordable([(3, 3, 3), (2, 2, 2)], sum, 1) == []
