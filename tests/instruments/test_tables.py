"""What counts look like when printed, and the small rules that they follow."""

from collections import namedtuple

import numpy as np
import pytest

from helpers import cuda_kernel, opencl_kernel
from helpers.instruments import Traffic, bank_conflicts, cells, coalescing, predicted_traffic, touches, trace
from ptx_machine.touches import FIELDS, Row, Table, Trace, record_type

Access = namedtuple("Access", FIELDS)


def test_a_table_has_a_row_a_line_and_cuts_long_ones():
    rows = Row(7, "x" * 52, "load A", 16, 128, 64), Row(12, "y" * 53, "store C", 1, 3, 1), Row(3, "", "load B", 2, 2, 2)
    assert repr(Table(rows, "sectors")).splitlines() == [
        "access     instructions  sectors  fewest efficiency  line",
        "load A               16      128      64        50%  7 | " + "x" * 52,
        "store C               1        3       1        33%  12 | " + "y" * 51 + "…",
        "load B                2        2       2       100%  3",
    ]


def test_traffic_is_told_with_its_intensity():
    assert repr(Traffic(4, 5, 6, 1000, 20, 3, 4444)) == (
        "4 x 5 x 6: global 1,000 loads, 20 stores; shared 3 loads, 4,444 stores; 0.06 flop per byte asked for"
    )


def test_a_formula_counts_a_kernel_of_the_ladder():
    found = predicted_traffic(cuda_kernel("tiled", TILE=4), 8, 4, 12)
    # Two blocks of three rounds, which stage 4 x 4 elements of A and of B each, and read 4 of each a thread.
    assert found == Traffic(8, 4, 12, 2 * 3 * 32, 8 * 4, 2 * 3 * 16 * 8, 2 * 3 * 32)


def test_a_size_that_takes_long_is_refused_with_one_that_does_not():
    said = "32 x 32 x 33 would take too long to follow; stay at 32 x 32 x 32 or so."
    with pytest.raises(ValueError, match=said):
        trace(cuda_kernel("tiled", TILE=4), 32, 32, 33)


def access(array, thread, index, **more):
    return Access("global", array, False, 3, (0, 0, 0), thread, index, 0, 0, 0)._replace(**more)


def traced(*accesses):
    return Trace(np.array(list(accesses), record_type({one.array for one in accesses})), {"A": (4, 8)})


def test_a_trace_is_asked_by_its_fields():
    found = traced(access("A", 0, 9), access("A", 1, 2, writes=True, block=(1, 0, 0)), access("B", 1, 3))
    assert found.where(array="A", writes=False)["index"].tolist() == [9]
    assert found.where(block=(1, 0, 0))["index"].tolist() == [2] and len(found.where()) == 3
    assert found.where(array="A", thread=1)["index"].tolist() == [2] and not found.accesses["phase"].any()
    assert traced(access("A", 0, 0), access("A", 0, 0, phase=1)).accesses["phase"].any()
    assert cells(found.accesses, 8) == [(1, 1), (0, 2), (0, 3)]


def counted(table, *accesses, monkeypatch):
    k = cuda_kernel("tiled", TILE=4)
    monkeypatch.setattr(touches, "trace", lambda *asked: traced(*accesses) if asked == (k, 1, 2, 3) else None)
    found = table(k, 1, 2, 3)
    assert all(row.code == k.source.splitlines()[row.line - 1].strip() for row in found.rows)
    assert found.pieces == {coalescing: "sectors", bank_conflicts: "wavefronts"}[table]
    return [(row.line, row.what, row.instructions, row.pieces, row.fewest) for row in found.rows]


def test_a_warp_has_32_threads_whose_words_are_sectors_or_banks(monkeypatch):
    """How many sectors and rounds such words take, the tests of the PTX machine say."""
    side_by_side = [access("A", thread, thread) for thread in range(64)]
    assert counted(coalescing, *side_by_side, monkeypatch=monkeypatch) == [(3, "load A", 2, 8, 8)]
    apart = [access("A", thread, 8 * thread) for thread in range(33)]
    assert counted(coalescing, *apart, monkeypatch=monkeypatch) == [(3, "load A", 2, 33, 4 + 1)]
    one_bank = [access("As", thread, 32 * thread, memory="shared") for thread in range(40)]
    assert counted(bank_conflicts, *one_bank, monkeypatch=monkeypatch) == [(3, "load As", 2, 32 + 8, 2)]


def test_lines_arrays_blocks_rounds_and_turns_are_instructions_of_their_own(monkeypatch):
    accesses = [
        access("A", 0, 0, line=2),  # by one thread only: from now on it has done more than the other
        *(access("A", thread, thread) for thread in (0, 1)),
        *(access("A", thread, thread, round=1) for thread in (0, 1)),
        *(access("A", thread, thread, block=(1, 0, 0)) for thread in (0, 1)),
        *(access("A", thread, thread, block=(0, 1, 0)) for thread in (0, 1)),
        *(access("A", 0, 40) for _ in range(2)),  # the same thread again: two turns more
        access("C", 0, 0, writes=True),
        access("As", 0, 0, memory="shared"),
    ]
    assert counted(coalescing, *accesses, monkeypatch=monkeypatch) == [
        (2, "load A", 1, 1, 1),
        (3, "load A", 6, 6, 6),
        (3, "store C", 1, 1, 1),
    ]
    assert counted(bank_conflicts, *accesses, monkeypatch=monkeypatch) == [(3, "load As", 1, 1, 1)]
    assert counted(coalescing, monkeypatch=monkeypatch) == []


# ------------------------------------------------------------------------------------------------------ real kernels


def by_access(table):
    return {row.what: row for row in table.rows}


def test_naive_asks_for_a_sector_a_thread_and_coalesced_for_four_a_warp():
    naive = by_access(coalescing(cuda_kernel("naive", BM=32, BN=8), 32, 8, 2))
    coalesced = by_access(coalescing(cuda_kernel("coalesced", BM=8, BN=32), 8, 32, 2))
    # 8 warps, 2 rounds of k each. A row of A is 8 bytes, so that four of them share a sector.
    assert (naive["load A"].instructions, naive["load A"].pieces, naive["load A"].fewest) == (16, 16 * 8, 16 * 4)
    assert (naive["load B"].pieces, naive["store C"].pieces) == (16 * 1, 8 * 32)
    assert (coalesced["load A"].pieces, coalesced["load B"].pieces, coalesced["store C"].pieces) == (16, 16 * 4, 8 * 4)
    assert "acc += A[row, k] * B[k, col]" in naive["load A"].code
    lines = by_access(coalescing(cuda_kernel("coalesced", BM=8, BN=32), 8, 32, 2, pieces="lines"))
    assert [lines[f"load {name}"].pieces for name in "AB"] == [16, 16]
    with pytest.raises(ValueError, match="unknown kind of piece 'banks'"):
        coalescing(cuda_kernel("naive", BM=32, BN=8), 32, 32, 32, pieces="banks")


def test_a_kernel_typed_at_pythons_prompt_has_neither_numbers_nor_code():
    typed = (
        "from numba import cuda\n@cuda.jit\ndef mine(A, B, C):\n    x, y = cuda.grid(2)\n"
        "    if x < C.shape[0] and y < C.shape[1]:\n        C[x, y] = A[x, 0] * B[0, y]\n"
    )
    names = {}
    exec(compile(typed, "<stdin>", "exec"), names)  # as Python's prompt does: the text is kept nowhere
    table = coalescing(cuda_kernel(names["mine"], like="naive", BM=4, BN=4), 8, 8, 1)
    assert {(row.line, row.code) for row in table.rows} == {(0, "")}
    assert all(line.endswith("%") for line in repr(table).splitlines()[1:])


def test_wide_accesses_are_served_for_a_part_of_a_warp_at_a_time():
    """16 bytes a thread: 8 threads at a time, and 8 places side by side are the 32 banks; here two share each bank."""
    source = """
__kernel void wide(int M, int N, int K, __global float *A, __global float *B, __global float *C)
{
    __local float4 tile[32];
    const int t = (get_local_id(1) * 8 + get_local_id(0)) % 32;
    const float4 whole = tile[t * 2 % 32 + t / 16];
    C[get_local_id(1) * N + get_local_id(0)] = whole.x;
}
"""
    row = by_access(bank_conflicts(opencl_kernel(source, like="tiled", TILE=8), 8, 8, 1))["load tile"]
    assert (row.instructions, row.pieces, row.fewest) == (2, 2 * 8, 2 * 4)  # two warps
