"""Exercises on what no number of C shows: a turned tile, a tile that is asked for early, and two sums."""

import re
from textwrap import indent

import numpy as np
import pytest
from classroom.answers import RIGHT

from helpers import cuda_kernel, opencl_kernel, with_part
from helpers.exercises import check_two_sums, judge_prefetching, judge_turned, judge_wide, unturned
from helpers.exercises.scoreboard import HUGE, ones_beside_huge
from helpers.judge.trials import launch_each
from helpers.sandbox import Job

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
    """As page 10 builds it."""
    source = with_part("CUDA", "tiled", (1, 4), text).replace("(TILE, TILE), float32)", "(DEEP, TILE), float32)")
    source = source.replace("    @cuda.jit", "    DEEP = 2 * TILE\n\n    @cuda.jit")
    first = """acc, now = float32(0), 0
        a_next = A[row, tx] if row < M and tx < K else float32(0)
        b_next = B[ty, col] if ty < K and col < N else float32(0)"""
    return judge_prefetching(cuda_kernel(source.replace("acc = float32(0)", first), like="tiled", TILE=4))


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


def test_the_solutions_pass():
    assert prefetching(EARLY) and turned(TURNED)


def test_what_nobody_has_written_is_not_yet():
    for text, judged in ("k0 += TILE", prefetching), ("pass", turned):
        kinds = [judged(shown).findings[0].kind for shown in (f"{text}  # your turn", text)]
        assert kinds == ["not yet", "zeros"]


@pytest.mark.parametrize(
    "text, kind",
    [
        (EARLY.replace("now = TILE - now", "cuda.syncthreads()"), "barriers"),  # one tile
        (EARLY.replace(ASKED[1], "") + ASKED[1], "waits"),  # B alone is asked for late
    ],
)
def test_a_right_product_without_the_idea_is_named(text, kind):
    assert prefetching(text).findings[0].kind == kind


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
        (
            two_sums(f"if (M == 8 && K == 8) acc = 4; else {{ {ONE_SUM['as tiled has it']} }}", 8),
            "8 x 8 x 8 (M x N x K), where its sums are looked at",
        ),
    ):
        assert report.findings[0].kind == "wrong at one size" and where in repr(report)


def test_a_kernel_without_tiles_misses_the_idea():
    assert prefetching(SUMS + "k0 += TILE").findings[0].kind == "waits"
    assert turned(SUMS).findings[0].kind == "too many loads"


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


EACH_K = "for (int k = 0; k < TILE; k++)"
EVENS, ODDS = (f"for (int k = {first}; k < TILE; k += 2) acc += As[ty][k] * Bs[k][tx];" for first in (0, 1))
TWO_SUMS = {
    "in an array": f"float s[2] = {{0, 0}}; {EACH_K} s[k % 2] += As[ty][k] * Bs[k][tx]; acc += s[0]; acc += s[1];",
    "by a test": f"""float even = 0, odd = 0;
        {EACH_K} {{ if (k % 2) odd += As[ty][k] * Bs[k][tx]; else even += As[ty][k] * Bs[k][tx]; }}
        acc += even + odd;""",
}
ONE_SUM = {
    "as tiled has it": f"{EACH_K} acc += As[ty][k] * Bs[k][tx];",
    "the other stays empty": f"float odd = 0; {EACH_K} acc += As[ty][k] * Bs[k][tx]; acc += odd;",
    "two products a round": """for (int k = 0; k + 1 < TILE; k += 2)
            acc += As[ty][k] * Bs[k][tx] + As[ty][k + 1] * Bs[k + 1][tx];
        if (TILE % 2) acc += As[ty][TILE - 1] * Bs[TILE - 1][tx];""",
    "even k first": EVENS + ODDS,
    "odd k first": ODDS + EVENS,
}


def two_sums(text, TILE):
    return check_two_sums(opencl_kernel(with_part("OpenCL", "tiled", 3, text), like="tiled", TILE=TILE))


@pytest.mark.parametrize(
    "tile, odd, row",
    [
        (4, 0, [HUGE, 1, -HUGE, 1]),
        (4, 1, [1, HUGE, 1, -HUGE]),
        (5, 0, [HUGE, 1, 0, 1, -HUGE]),
        (8, 1, [1, HUGE, 1, -HUGE, 1, HUGE, 1, -HUGE]),
        (7, 1, [1, HUGE, 1, 0, 1, -HUGE, 1]),
        (1, 0, [0]),
    ],
)
def test_huge_numbers_cancel_in_one_sum_and_ones_are_in_the_other(tile, odd, row):
    A = ones_beside_huge(tile, odd)
    assert A.tolist() == [row] * tile and A.dtype == np.float32
    assert np.float64(HUGE) + 1 == HUGE and HUGE - HUGE == 0


def test_ones_are_kept_beside_huge_numbers_of_the_other_parity_only_where_they_never_meet():
    for text, kept in ((TWO_SUMS["in an array"], [4, 4]), (EVENS + ODDS, [4, 0]), (ODDS + EVENS, [0, 4])):
        source = with_part("OpenCL", "tiled", 3, text)
        job = Job(launch_each, "OpenCL", source, "tiled", {"TILE": 8}, None, {})
        operands = [(ones_beside_huge(8, odd), np.ones((8, 8), np.float32)) for odd in (0, 1)]
        assert [C.min() for C in launch_each(job, operands)] == kept, text


MORE = [("in an array", 7), ("in an array", 4), ("by a test", 8), ("by a test", 4)]


@pytest.mark.parametrize(
    "name, TILE",
    [("in an array", 8), ("by a test", 7), *(pytest.param(*more, marks=pytest.mark.bulk) for more in MORE)],
)
def test_two_sums_pass(name, TILE):
    assert two_sums(TWO_SUMS[name], TILE)


@pytest.mark.parametrize("text", ONE_SUM.values(), ids=ONE_SUM)
def test_one_sum_is_named(text):
    report = two_sums(text, 8)
    huge, ones = ("odd", "even") if text == ONE_SUM["even k first"] else ("even", "odd")
    [finding] = report.findings
    assert finding.kind == "not two sums" and finding.message.endswith(", not 4, at TILE=8") and report.shapes > 1
    assert f"with huge numbers at {huge} k, which cancel, and ones at {ones} k, C is " in finding.message
    assert "your kernel (OpenCL, launched like tiled) computes the right C, but misses the idea" in repr(report)
