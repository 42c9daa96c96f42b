"""The rules that exercises on kernels share: right is not enough. Answers: tests/classroom."""

from types import SimpleNamespace

import numpy as np
from classroom.answers import ASK_A, ASK_B, MULTIPLIES, STORES

from helpers import cuda_kernel, with_part
from helpers.exercises import check_loads, prefetching, rules
from helpers.exercises.prefetching import asked_early, double_buffered, print_order
from helpers.launch import KernelError, draw
from kernel_judge import Finding, Report, wrong_elements
from ptx_machine.touches import record_type

SUMS = """
for k in range(k0, min(k0 + TILE, K)):
    if row < M and col < N:
        acc += A[row, k] * B[k, col]
"""
EARLY = f"{STORES}cuda.syncthreads()\nk0 += TILE\n{ASK_A}{ASK_B}{MULTIPLIES}now = TILE - now\n"


def tiled(text):
    return cuda_kernel(with_part("CUDA", "tiled", (1, 4), text), like="tiled", TILE=4)


def test_what_misses_the_idea_is_told_as_right_and_counted(monkeypatch):
    k = tiled(f"{SUMS}k0 += TILE")
    monkeypatch.setattr(rules, "check", lambda k: Report("it", ()))
    report = check_loads(k)
    assert not report and "it computes the right C, but misses the idea" in repr(report)
    assert "8,192 from global memory at 16 x 16 x 16, where 2,048 do." in repr(report)
    wrong = Report("it", (Finding("hang", "it hangs"),))
    monkeypatch.setattr(rules, "check", lambda k: wrong)
    assert check_loads(k) is wrong


def test_neighbours_read_together_as_in_the_rung():
    source = cuda_kernel("coalesced").source
    k, apart = (
        cuda_kernel(one, like="coalesced", BM=4, BN=8) for one in (source, source.replace("[k, col]", "[col, k]"))
    )
    assert rules.more_than_its_rung(k, 4, 8, 8) == []
    [finding] = rules.more_than_its_rung(apart, 4, 8, 8)
    assert finding.message == "neighbours in x do not read B together; 256 pieces of 16 bytes, where 64 do"


def test_it_is_counted_where_each_side_is_one_shorter_too(monkeypatch):
    seen = []
    monkeypatch.setattr(rules, "reads_apart", lambda k: [])
    monkeypatch.setattr(rules, "loads_too_much", lambda k, *shape: seen.append(shape))
    rules.more_than_its_rung(None, 4, 1, 8)
    assert seen == [(4, 1, 8), (3, 1, 7)]


def test_a_sum_in_c_itself_counts_only_where_numbers_are_kept_to_be_used_again():
    summed = cuda_kernel("naive").source.replace("acc += ", "C[row, col] += ").replace("C[row, col] = acc", "pass")
    assert rules.loads_too_much(cuda_kernel(summed, like="naive", BM=4, BN=4), 4, 4, 4) == []
    [finding] = rules.loads_too_much(cuda_kernel(summed, like="tiled", TILE=4), 4, 4, 4)
    assert finding.message == "192 from global memory at 4 x 4 x 4, where 32 do"


def test_where_nothing_counts_the_verdict_says_so(monkeypatch):
    def uncounted(*_):
        raise KernelError("nobody can follow it")

    monkeypatch.setattr(rules, "check", lambda k: Report("it", ()))
    monkeypatch.setattr(rules, "trace", uncounted)
    report = check_loads(tiled(f"{SUMS}k0 += TILE"))
    assert report and "not looked for here: whether it keeps to the idea: nobody can follow it" in repr(report)


def test_fours_are_asked_for_early_whatever_their_number():
    ask = "fetch(A, B, row0, col0, k0 + BK, thread, a_new, b_new)"
    k = asked_early(f"cuda.syncthreads()\n{ask}", "cuda.syncthreads()", BM=32, BN=32, BK=16, TM=4, TN=4)
    A, B = draw(33, 31, 40)
    k.checked = True
    assert not wrong_elements(k(A, B), A, B).any()


def test_a_thread_waits_where_it_stores_what_it_has_just_asked_for(capsys):
    print_order(double_buffered(EARLY), 4, 4, 12)
    head, *others = capsys.readouterr().out.split("\n  ")
    assert others == ["ask 2, wait, store 2", "ask 2, read 8, store 2", "ask 2, read 8, store 2", "read 8\n"], head
    print_order(cuda_kernel("tiled", TILE=4), 4, 4, 4)
    assert capsys.readouterr().out.split("\n  ")[1:] == ["ask 1, wait, store 1, ask 1, wait, store 1", "read 8\n"]
    print_order(double_buffered(EARLY.replace(" and k0 + tx < K", "")), 4, 4, 12)  # past the end of A
    assert capsys.readouterr().out == "tiled: its order cannot be shown, for the reason above\n"


def ordered(text):
    """What a thread touches in that order: A and B are loads of the two, s a store to a tile, r a read of one."""
    phases, signs = np.array([(text[:at].count("|"), sign) for at, sign in enumerate(text) if sign != "|"]).T
    found = np.zeros(len(signs), record_type(("A", "B", "As")))
    found["phase"], found["writes"] = phases.astype(int), signs == "s"
    found["array"] = np.where(np.char.isupper(signs), signs, "As")
    found["memory"] = np.where(np.char.isupper(signs), "global", "shared")
    return found


ASKS_ONCE_MORE = ordered("ABss|ABrrrrss|ABrrrrss|ABrrrr")  # in the last round, for a tile that there is none of
LATE = ordered("ABss|rrrrABss|rrrrABss|rrrr")
TILED = SimpleNamespace(step="tiled", parameters={"TILE": 2}, block=(2, 2))


def test_each_other_tile_is_read_between_asking_for_one_and_storing_it():
    assert prefetching.waits(ASKS_ONCE_MORE) == []
    assert prefetching.waits(LATE)[0].message == "0 reads between asking for A and storing it; 4 are there to do"
    assert prefetching.waits(ordered("AABssss|AABrrssss|AABrrssss|rr")) == []  # by fours: two of A, one of B
    assert "; 2 are there" in prefetching.waits(ordered("AABssss|rrAABssss|rrAABssss|rr"))[0].message


def test_one_barrier_a_tile_is_enough(monkeypatch):
    def found(text):
        monkeypatch.setattr(prefetching, "trace", lambda *what: SimpleNamespace(where=lambda thread: ordered(text)))
        return [one.message for one in prefetching.crowded(TILED)]

    assert found("ABss|ABrrrrss|ABrrrrss|rrrr") == []
    assert found("ABss|ABrr|rrss|ABrrrrss|rrrr") == ["4 for 3 tiles; one a tile is enough"]


def test_one_thread_that_asks_late_is_found(monkeypatch):
    seen = SimpleNamespace(where=lambda thread, part: LATE if thread == 3 else ASKS_ONCE_MORE)
    monkeypatch.setattr(prefetching, "trace", lambda *what: seen)
    assert [finding.kind for finding in prefetching.late(TILED)] == ["waits"]
