"""The rules that exercises on kernels share: right is not enough. Answers: tests/classroom."""

from textwrap import indent

import pytest
from classroom.answers import ASK_A, ASK_B, MULTIPLIES, STORES

from helpers import check, cuda_kernel, opencl_kernel, with_part
from helpers.exercises import check_loads, rules
from helpers.exercises.prefetching import asked_early, double_buffered, judge_prefetching, print_order
from helpers.launch import KernelError

SUMS = """
for k in range(k0, min(k0 + TILE, K)):
    if row < M and col < N:
        acc += A[row, k] * B[k, col]
"""
EARLY = f"{STORES}cuda.syncthreads()\nk0 += TILE\n{ASK_A}{ASK_B}{MULTIPLIES}now = TILE - now\n"


def tiled(text):
    return cuda_kernel(with_part("CUDA", "tiled", (1, 4), text), like="tiled", TILE=4)


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

    monkeypatch.setattr(rules, "trace", uncounted)
    report = check_loads(tiled(f"{SUMS}k0 += TILE"))
    assert report and "not looked for here: whether it keeps to the idea: nobody can follow it" in repr(report)


def test_fours_are_asked_for_early_whatever_their_number():
    assert check(asked_early(BM=32, BN=32, BK=16, TM=4, TN=4), [(33, 31, 40)])


def test_a_thread_waits_where_it_stores_what_it_has_just_asked_for(capsys):
    print_order(double_buffered(EARLY), 4, 4, 12)
    head, first, *others = capsys.readouterr().out.split("\n  ")
    assert head == "tiled, thread 0; each line ends at a barrier" and first == "ask 2, wait, store 2"
    assert others == ["ask 2, read 8, store 2", "ask 2, read 8, store 2", "read 8\n"]
    print_order(cuda_kernel("tiled", TILE=4), 4, 4, 4)
    assert capsys.readouterr().out.split("\n  ")[1:] == ["ask 1, wait, store 1, ask 1, wait, store 1", "read 8\n"]


def test_prefetching_without_tiles_loads_too_much():
    findings = judge_prefetching(double_buffered(f"{SUMS}k0 += TILE")).findings
    assert [finding.kind for finding in findings] == ["too many loads"]


@pytest.mark.bulk
def test_one_thread_that_asks_early_is_not_enough():
    asks = indent(ASK_A + ASK_B, "    ")
    text = EARLY.replace(ASK_A + ASK_B + MULTIPLIES, f"if tx + ty == 0:\n{asks}{MULTIPLIES}if tx + ty > 0:\n{asks}")
    assert [finding.kind for finding in judge_prefetching(double_buffered(text)).findings] == ["waits"]
