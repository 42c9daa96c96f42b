"""Exercises on what no number of C shows: a turned tile, and a tile that is asked for early."""

import re
from textwrap import indent

import pytest
from classroom.answers import RIGHT

from helpers import cuda_kernel, with_part
from helpers.exercises import (
    asked_early,
    double_buffered,
    judge_prefetching,
    judge_turned,
    judge_wide,
    unturned,
)
from helpers.launch import KernelError

TURNED = """
As[tx, ty] = A[row, k0 + tx] if row < M and k0 + tx < K else float32(0)
Bs[ty, tx] = B[k0 + ty, col] if k0 + ty < K and col < N else float32(0)
cuda.syncthreads()
for k in range(TILE):
    acc += As[k, ty] * Bs[k, tx]
"""
EARLY = """
As[now + ty, tx], Bs[now + ty, tx] = a_next, b_next
cuda.syncthreads()
k0 += TILE
a_next = A[row, k0 + tx] if row < M and k0 + tx < K else float32(0)
b_next = B[k0 + ty, col] if k0 + ty < K and col < N else float32(0)
for k in range(TILE):
    acc += As[now + ty, k] * Bs[now + k, tx]
now = TILE - now
"""
ASKED = [line for line in EARLY.splitlines(keepends=True) if "_next =" in line]


def prefetching(text):
    return judge_prefetching(double_buffered(text))


def turned(text):
    return judge_turned(cuda_kernel(with_part("CUDA", "tiled", (1, 3), text), like="tiled", TILE=4))


FOURS = RIGHT["09.1"]["for, and the row in the call"]


def test_four_numbers_with_each_load():
    """What passes, and single loads of As, are among the answers to the page's exercise."""
    four = ", ".join(rf"Bs[\1, \2 + {n}]" for n in range(4))
    text = re.sub(r"load4\(Bs, (.*), (.*)\)", four, FOURS)
    [finding] = judge_wide(unturned(text, BM=8, BN=8, BK=8, TM=4, TN=4)).findings
    assert finding.kind == "not wide"
    assert finding.message == "a warp asks 32 times for numbers of Bs, where 8 wide loads do"


def test_an_index_behind_a_local_array_is_told_by_what_made_it():
    products = "for i in range(TM):\n            for j in range(TN): acc[i, j] += a_reg[i, k + u] * b_reg[j]"
    text = re.sub(r"for n in range.*\n.*", products, FOURS)
    [finding] = judge_wide(unturned(text, BM=8, BN=8, BK=8, TM=4, TN=4)).findings
    assert finding.kind == "out of bounds" and "its own arrays, of cuda.local.array" in finding.message


def test_early_is_for_tiles_of_which_each_thread_brings_one_four():
    with pytest.raises(KernelError, match="assert BM == BN"):
        asked_early(BM=32, BN=32, BK=16, TM=4, TN=4)


def test_what_nobody_has_written_is_not_yet():
    for text, judged in ("k0 += TILE", prefetching), ("pass", turned):
        kinds = [judged(shown).findings[0].kind for shown in (f"{text}  # your turn", text)]
        assert kinds == ["not yet", "zeros"]


SUMS = """
for k in range(k0, min(k0 + TILE, K)):
    if row < M and col < N:
        acc += A[row, k] * B[k, col]
"""


def elsewhere(test, there, anywhere):
    """One path where the test holds, with a sum that is wrong, and another one elsewhere."""
    return f"if {test}:{indent(there.replace('acc +=', 'acc -='), '    ')}else:{indent(anywhere, '    ')}"


def test_a_kernel_that_is_wrong_where_nobody_compared_does_not_pass():
    for report, where in (
        (prefetching(elsewhere("M == N == 4 and K == 12", EARLY, SUMS + "k0 += TILE\n")), "4 x 4 x 12"),
        (turned(elsewhere("M == N == K == 4", TURNED, SUMS)), "4 x 4 x 4"),
    ):
        assert report.findings[0].kind == "wrong at one size" and where in repr(report)


def test_a_kernel_without_tiles_misses_the_idea():
    assert prefetching(SUMS + "k0 += TILE").findings[0].kind == "waits"
    assert turned(SUMS).findings[0].kind == "too many loads"


@pytest.mark.bulk
def test_one_thread_that_asks_early_is_not_enough():
    late = EARLY.replace("".join(ASKED), "") + "".join(ASKED)
    text = f"""
{EARLY.partition("k0 +=")[0]}
k0 += TILE
if tx == 0 and ty == 0:
{indent("".join(ASKED), "    ")}
for k in range(TILE):
    acc += As[now + ty, k] * Bs[now + k, tx]
if tx != 0 or ty != 0:
{indent("".join(ASKED), "    ")}
now = TILE - now
"""
    [one], [all_of_them] = prefetching(text).findings, prefetching(late).findings
    assert one.kind == "waits" and (one.kind, one.message) == (all_of_them.kind, all_of_them.message)


def test_a_tile_that_is_not_turned_is_named():
    report = turned(TURNED.replace("As[tx, ty]", "As[ty, tx]").replace("As[k, ty]", "As[ty, k]"))
    assert report.findings[0].kind == "not turned" and "misses the idea" in repr(report)
