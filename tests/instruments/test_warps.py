"""Sectors and banks: what one instruction of a warp asks for, by source line."""

import numpy as np
import pytest

from helpers import cuda_kernel, opencl_kernel
from helpers.instruments import bank_conflicts, coalescing


def by_access(table):
    return {row.what: row for row in table.rows}


def test_naive_asks_for_a_sector_a_thread_and_coalesced_for_four_a_warp():
    naive = by_access(coalescing(cuda_kernel("naive", BM=32, BN=8), 32, 8, 2))
    coalesced = by_access(coalescing(cuda_kernel("coalesced", BM=8, BN=32), 8, 32, 2))
    # 8 warps, 2 rounds of k each. A row of A is 8 bytes, so that four of them share a sector.
    assert (naive["load A"].instructions, naive["load A"].pieces, naive["load A"].fewest) == (16, 16 * 8, 16 * 4)
    assert (naive["load B"].pieces, naive["store C"].pieces) == (16 * 1, 8 * 32)
    assert (coalesced["load A"].pieces, coalesced["load B"].pieces, coalesced["store C"].pieces) == (16, 16 * 4, 8 * 4)
    assert all(row.efficiency == 1 for row in coalesced.values())
    assert naive["store C"].efficiency == 1 / 8
    assert "acc += A[row, k] * B[k, col]" in naive["load A"].code


def test_lines_are_four_sectors_side_by_side():
    naive = by_access(coalescing(cuda_kernel("naive", BM=32, BN=8), 32, 32, 32, pieces="lines"))
    coalesced = by_access(coalescing(cuda_kernel("coalesced", BM=8, BN=32), 32, 32, 32, pieces="lines"))
    assert [naive[f"load {name}"].pieces for name in "AB"] == [1024 * 32, 1024]
    assert [coalesced[f"load {name}"].pieces for name in "AB"] == [1024, 1024]
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


def test_a_transposed_tile_conflicts_and_a_padded_one_does_not():
    source = cuda_kernel("tiled").source
    turned = source.replace("As[ty, tx] =", "As[tx, ty] =").replace("As[ty, k]", "As[k, ty]")
    padded = turned.replace("As = cuda.shared.array((TILE, TILE)", "As = cuda.shared.array((TILE, 12)")
    assert padded != turned != source
    rounds = {}
    for name, text in (("tiled", source), ("turned", turned), ("padded", padded)):
        row = by_access(bank_conflicts(cuda_kernel(text, like="tiled", TILE=8), 8, 8, 1))["store As"]
        rounds[name] = row.pieces / row.instructions
    # A warp is four rows of the block. Turned, its words lie 8 apart, and every fifth falls on the first one's bank.
    assert rounds == {"tiled": 1, "turned": 2, "padded": 1}


WIDE = {
    "CUDA": """
from numba import cuda, float32
from helpers.cuda.intrinsics import load4

@cuda.jit
def wide(A, B, C):
    tile = cuda.shared.array((32, 4), float32)
    t = (cuda.threadIdx.y * 8 + cuda.threadIdx.x) % 32
    first, _, _, _ = load4(tile, PLACE, 0)
    C[cuda.threadIdx.y, cuda.threadIdx.x] = first
""",
    "OpenCL": """
__kernel void wide(int M, int N, int K, __global float *A, __global float *B, __global float *C)
{
    __local floatWIDTH tile[32];
    const int t = (get_local_id(1) * 8 + get_local_id(0)) % 32;
    const floatWIDTH whole = tile[PLACE];
    C[get_local_id(1) * N + get_local_id(0)] = *(const float *)&whole;
}
""",
}


@pytest.mark.parametrize(
    "dialect, width, place, rounds, fewest",
    [
        # 16 bytes a thread: 8 threads at a time, and 8 places side by side are the 32 banks.
        ("CUDA", 4, "0", 4, 4),  # all ask for the same words; each quarter takes its round
        ("CUDA", 4, "t * 2 % 32 + t // 16", 8, 4),  # two threads of each quarter share a bank
        ("OpenCL", 4, "t * 2 % 32 + t / 16", 8, 4),
        # 8 bytes a thread: 16 threads at a time, and 16 places side by side are the 32 banks.
        ("OpenCL", 2, "t % 8 + t / 8 % 2 * 16 + t / 16 * 8", 4, 2),
        # 4 bytes a thread: a warp at once.
        ("OpenCL", 1, "t", 1, 1),
    ],
)
def test_wide_accesses_are_served_for_a_part_of_a_warp_at_a_time(dialect, width, place, rounds, fewest):
    source = WIDE[dialect].replace("PLACE", place).replace("WIDTH", str(width) if width > 1 else "")
    source = source.replace("].x;", "];") if width == 1 else source
    k = {"CUDA": cuda_kernel, "OpenCL": opencl_kernel}[dialect](source, like="tiled", TILE=8)
    row = by_access(bank_conflicts(k, 8, 8, 1))["load tile"]
    assert (row.instructions, row.pieces, row.fewest) == (2, 2 * rounds, 2 * fewest)  # two warps


@pytest.mark.parametrize(
    "step, parameters, size",
    [
        ("naive", dict(BM=32, BN=8), (32, 8, 8)),
        ("tiled", dict(TILE=8), (16, 8, 16)),
        ("vectorized", dict(BM=16, BN=16, BK=8, TM=4, TN=4), (16, 16, 8)),
    ],
)
def test_the_opencl_kernel_of_a_step_asks_for_the_same(step, parameters, size):
    for table in (coalescing, bank_conflicts):
        asked = []
        for build in (cuda_kernel, opencl_kernel):
            sums = {}  # one dialect may write on one line what the other writes on four
            for r in table(build(step, **parameters), *size).rows:
                sums[r.what] = np.add(sums.get(r.what, 0), (r.instructions, r.pieces, r.fewest)).tolist()
            asked.append(sums)
        assert asked[0] == asked[1] and (asked[0] or table is bank_conflicts)
