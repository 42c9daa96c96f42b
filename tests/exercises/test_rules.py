"""The rules that exercises on kernels share: right is not enough, nor is right elsewhere. Answers: tests/classroom."""

from textwrap import indent

import pytest
from classroom.answers import ASK_A, ASK_B, MULTIPLIES, STAGES_B, STORES, TURNED

from helpers import check, cuda_kernel, opencl_kernel, with_part
from helpers.exercises import check_loads, loads
from helpers.exercises.prefetching import asked_early, double_buffered, judge_prefetching
from helpers.exercises.wide_loads import judge_transposed, transposed
from helpers.launch import KernelError

SUMS = """
for k in range(k0, min(k0 + TILE, K)):
    if row < M and col < N:
        acc += A[row, k] * B[k, col]
"""
SUMS_IN_C = "for (int k = k0; k < min(k0 + TILE, K); k++) if (K != 12 && row < M && col < N) acc += A[row * K + k]"
ELSEWHERE = 12, 12, 12  # a shape that no check tries
TURNS = f"{TURNED}{STAGES_B}cuda.syncthreads()\nfor k in range(TILE):\n    acc += As[k, ty] * Bs[k, tx]\n"
EARLY = f"{STORES}cuda.syncthreads()\nk0 += TILE\n{ASK_A}{ASK_B}{MULTIPLIES}now = TILE - now\n"


def elsewhere(test, there, anywhere):
    """One path where the test holds, with a sum that is wrong, and another one elsewhere."""
    return f"if {test}:\n{indent(there.replace('acc +=', 'acc -='), '    ')}else:\n{indent(anywhere, '    ')}"


@pytest.mark.parametrize(
    "judge, where",
    [
        (
            lambda: check_loads(tiled(SUMS.replace("if row", "if N != 12 and row") + "k0 += TILE"), *ELSEWHERE),
            "12 x 12 x 12",
        ),
        (
            lambda: check_loads(tiled(f"{SUMS_IN_C} * B[k * N + col];", opencl_kernel, "OpenCL"), *ELSEWHERE),
            "12 x 12 x 12",
        ),
        (lambda: judge_transposed(transposed(elsewhere("M == N == K == 4", TURNS, SUMS), 0)), "4 x 4 x 4"),
        (
            lambda: judge_prefetching(double_buffered(elsewhere("N == 4 and K == 12", EARLY, f"{SUMS}k0 += TILE\n"))),
            "4 x 4 x 12",
        ),
    ],
    ids=["loads", "loads in OpenCL", "turned", "prefetching"],
)
def test_a_kernel_that_is_wrong_where_somebody_looks_does_not_pass(judge, where):
    report = judge()
    assert not report and "is wrong" in repr(report) and where in repr(report), report


def tiled(text, build=cuda_kernel, dialect="CUDA"):
    return build(with_part(dialect, "tiled", (1, 4), text), like="tiled", TILE=4)


def test_a_rung_loads_as_little_as_itself():
    sizes = dict(BM=8, BN=8, BK=4, TM=4, TN=2)
    report = check_loads(opencl_kernel(opencl_kernel("register_2d").source, like="register_2d", **sizes))
    assert report and "is right" in repr(report) and not report.notes


def test_what_misses_the_idea_is_told_as_right_and_counted():
    report = check_loads(tiled(f"{SUMS}k0 += TILE"))
    assert not report and "computes the right C, but misses the idea" in repr(report)
    assert "8,192 from global memory at 16 x 16 x 16, where 2,048 do." in repr(report)


def test_where_nothing_counts_the_verdict_says_so(monkeypatch):
    def uncounted(*_):
        raise KernelError("nobody can follow it")

    monkeypatch.setattr(loads, "trace", uncounted)
    report = check_loads(tiled(f"{SUMS}k0 += TILE"))
    assert report and "not looked for here: how much it loads: nobody can follow it" in repr(report)


def test_what_is_no_shape_or_no_padding_is_refused_before_anything_runs():
    with pytest.raises(ValueError, match="0"):
        check_loads(cuda_kernel("tiled", TILE=4), 16, 0, 16)
    with pytest.raises(ValueError, match="pad=-1 is no number of words"):
        transposed("pass", -1)


def test_fours_are_asked_for_early_whatever_their_number():
    assert check(asked_early(BM=32, BN=32, BK=16, TM=4, TN=4), [(33, 31, 40)])


@pytest.mark.bulk
def test_one_thread_that_asks_early_is_not_enough():
    asks = indent(ASK_A + ASK_B, "    ")
    text = EARLY.replace(ASK_A + ASK_B + MULTIPLIES, f"if tx + ty == 0:\n{asks}{MULTIPLIES}if tx + ty > 0:\n{asks}")
    assert [finding.kind for finding in judge_prefetching(double_buffered(text)).findings] == ["waits"]
