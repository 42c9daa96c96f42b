"""What a kernel asks of a GPU, counted from its machine code and from a run of one block."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import ptx_machine
from gpu_model import Counts, Work
from gpu_model.counting import count_text, executions, matrix_product, numbered, request, work
from gpu_model.counts import from_row, to_row
from gpu_model.machine_code import CountError, kind, nvidia_tool

needs_compiler = pytest.mark.skipif(
    not nvidia_tool("ptxas"), reason="NVIDIA's compiler is not installed: pip install nvidia-cuda-nvcc"
)


def one(line, memory, act, text="ld", many=4, pieces=4, lines=0, paired=0, size=128, wide=0):
    return ptx_machine.Requests(line, text, memory, act, many, many * size, pieces, many, lines, paired, wide)


def test_a_load_that_joins_others_takes_their_rounds_and_half_where_pairs_ask_for_the_same():
    narrow, paired = one(5, "shared", "load", pieces=8), one(5, "shared", "load", pieces=4, paired=4)
    assert request(narrow, 4) == ("shared", 2.0, 128.0)
    assert request(narrow, 8) == ("shared", 4.0, 256.0)
    assert request(narrow, 16) == ("shared", 8.0, 512.0)
    assert request(paired, 16) == ("shared", 2.0, 512.0)
    assert request(paired, 4) == ("shared", 1.0, 128.0)
    # Threads 32 bytes apart: 8 wavefronts for 4 bytes each, and no more for 16, since a quarter of them goes at a time.
    assert request(one(5, "shared", "load", pieces=32, wide=32), 16) == ("shared", 8.0, 512.0)
    wide = one(5, "shared", "load", "ld.shared.v4.f32", pieces=16, size=512)
    assert request(wide, 16) == ("shared", 4.0, 512.0)
    assert request(one(3, "global", "load", lines=64), 4) == ("global", 16.0, 128.0)


PTX = """
L: ld.shared.f32
fma.rn.f32
bra L
st.global.f32"""


def listed(*rows):
    return [(text, line) for line, text in rows]


def test_a_loop_goes_round_as_often_as_its_multiply_adds_say():
    """Eight products a warp, which ptxas unrolled by four, and a loop for those that were left over."""
    code = listed(
        (2, "LDS R1"), *[(3, "FFMA R2")] * 4, (4, "@P0 BRA"), (2, "LDS R1"), (3, "FFMA R2"), (4, "@P1 BRA"), (5, "STG")
    )
    by_line = {2: 16, 3: 16, 4: 16, 5: 2}
    found = executions(code, [(0, 6), (6, 9)], [(0, 6), (6, 9), (9, 10)], PTX, by_line, warps=2)
    assert found == [*[4] * 6, *[0] * 3, 2]


def test_what_stands_behind_a_guard_runs_as_often_as_its_line():
    code = listed((2, "LDS R1"), (3, "FFMA R2"), (4, "BRA"))
    assert executions(code, [(0, 3)], [(0, 1), (1, 3)], PTX, {2: 3, 3: 10, 4: 10}, warps=1) == [3, 10, 10]


def test_what_the_compiler_moved_into_a_loop_runs_in_each_round():
    """Line 5 ran once a warp; its move stands at the head of the loop."""
    code = listed((5, "MOV R1"), (2, "LDS R1"), (3, "FFMA R2"), (4, "BRA"), (5, "STG"))
    assert executions(code, [(0, 4)], [(0, 4), (4, 5)], PTX, {2: 8, 3: 8, 4: 8, 5: 1}, warps=1) == [8, 8, 8, 8, 1]


def test_a_loop_goes_round_for_those_that_stay_behind_its_guard_too():
    """Half of the warps stage: the store ran 4 times, the loop goes round 8 times for the rest of it."""
    staging = "\nL: setp.gt\n@%p1 bra M\nst.shared.f32\nM: add.s64\n@%p2 bra L"
    code = listed((2, "ISETP"), (3, "BRA"), (4, "STS R1"), (4, "MOV R3"), (5, "IADD3"), (5, "IADD3"), (6, "BRA"))
    blocks = [(0, 2), (2, 5), (5, 7)]  # one of line 5 was moved behind the guard
    found = executions(code, [(0, 7)], blocks, staging, {2: 8, 3: 8, 4: 4, 5: 8, 6: 8}, warps=1)
    assert found == [8, 8, 4, 4, 4, 8, 8]


def test_a_loop_without_multiply_adds_goes_round_as_its_loads_say_and_an_outer_one_as_its_own():
    code = listed((2, "LDS R1"), (3, "FFMA R2"), (4, "BRA"), (5, "STG"), (4, "BRA"))
    found = executions(code, [(0, 3), (0, 5)], [(0, 3), (3, 5)], PTX, {2: 40, 3: 40, 4: 40, 5: 5}, warps=1)
    assert found == [40, 40, 40, 5, 5]
    assert executions(listed((9, "IADD3"), (9, "BRA")), [(0, 2)], [(0, 2)], PTX, {9: 12}, warps=1) == [6, 6]


def test_a_round_that_was_left_over_in_an_outer_loop_tells_nothing_of_it():
    code = listed((5, "LDG R1"), *[(3, "FFMA R2")] * 5, (4, "BRA"), (3, "FFMA R2"), (4, "BRA"))
    found = executions(code, [(1, 7), (0, 9)], [(0, 1), (1, 7), (7, 9)], PTX, {3: 32, 4: 32, 5: 2}, warps=1)
    assert found == [2, *[6] * 6, 2, 2]


def test_a_count_is_so_much_for_each_instruction():
    asked = SimpleNamespace(requests=[one(2, "shared", "load", pieces=4), one(5, "global", "store", lines=8)])
    code = listed((2, "LDS.128 R1"), (3, "FFMA R2"), (7, "IMAD R3"), (5, "STG.E"), (6, "NOP"))
    assert work(code, np.array([2.0, 8.0, 4.0, 1.0, 0.0]), asked) == Work(
        8.0, 4.0, 15.0, {("global", 2.0, 128.0): 1.0, ("shared", 4.0, 512.0): 2.0}
    )


def test_a_spilled_number_asks_the_first_cache_for_a_line_a_warp():
    code = [("STL [R1], R2", 1), ("@P0 LDL.64 R2, [R1]", 2), ("FFMA R1, R1, R1, R1", 3)]
    asked = work(code, np.array([3.0, 5.0, 1.0]), SimpleNamespace(requests=[])).requests
    assert asked == {("global", 1, 128): 3, ("global", 2, 256): 5}


def test_the_ptx_tells_its_own_lines():
    head = ".version 8.0\n.address_size 64\n"
    assert numbered(head + ".entry k()\n{\n    .reg .b32 %r<2>;\n$L:\n    @%p1 bra $L;\n}\n") == (
        head + '.file 1 "kernel.ptx"\n.entry k()\n{\n    .reg .b32 %r<2>;\n$L:\n.loc 1 7 0\n    @%p1 bra $L;\n}\n'
    )


# ------------------------------------------------------------------------------- matrix units, asynchronous copies


def test_products_of_matrices_are_told_by_their_type_and_shape():
    for text, expected in {
        "HMMA.16816.F32 R4, R8, R12, R4": ("float16", 2048),
        "@P0 HMMA.16816.F32.BF16 R4, R8, R12, R4": ("bfloat16", 2048),
        "HMMA.1684.F32.TF32 R4, R8, R12, R4": ("tf32", 512),
        "HMMA.16816.F16 R4, R8, R12, R4": ("float16, float16 sums", 2048),
        "IMMA.16832.S8.S8 R4, R8.ROW, R12.COL, R4": ("int8", 4096),
    }.items():
        assert kind(text) == "matrix product"
        assert matrix_product(text) == expected
    with pytest.raises(CountError, match=r"HMMA\.884"):
        matrix_product("HMMA.884.F32.F32.STEP0 R4, R8, R12, R4")
    assert kind("LDSM.16.M88.4 R4, [R2]") == "shared load of matrices, 16 bytes"
    assert kind("LDSM.16.M88 R4, [R2]") == "shared load of matrices, 4 bytes"
    assert kind("LDGSTS.E.BYPASS.LTC128B.128 [R2], [R4.64]") == "copy from global to shared, 16 bytes"
    assert kind("LDGDEPBAR") == kind("@!PT LDS RZ, [RZ]") == "other"


def test_a_copy_asks_two_memories_and_matrices_join_no_loads():
    copies = [
        one(3, memory, act, "cp.async.cg", lines=8, size=512)
        for memory, act in (("global", "load"), ("shared", "store"))
    ]
    loads = one(5, "shared", "load", "ldmatrix.sync.aligned.m8n8.x4", pieces=16, paired=4, size=512)
    code = listed((3, "LDGSTS.E.BYPASS.128 [R1], [R2.64]"), (5, "LDSM.16.M88.4 R4, [R2]"))
    done = work(code, np.array([2.0, 3.0]), SimpleNamespace(requests=[*copies, loads]))
    assert done.requests == {("global", 2.0, 512.0): 2.0, ("shared", 1.0, 512.0): 2.0, ("shared", 4.0, 512.0): 3.0}


PRODUCT = """
    __global__ void product(const float* A, const float* B, float* C, int K) {
        __shared__ float a[8];
        int row = threadIdx.x / 4, column = threadIdx.x % 4;
        float c = 0;
        #pragma unroll 1
        for (int k = 0; k < K; ++k) {
            if (column == 0) a[row] = A[row * K + k];
            __syncthreads();
            c += a[row] * B[column * K + k];
            __syncthreads();
        }
        C[row * 4 + column] = c;
    }"""


@needs_compiler
def test_a_product_is_counted_as_on_paper():
    text, names = ptx_machine.from_cuda(PRODUCT, "product")

    def run(K):
        args = [np.ones((8, K), np.float32), np.ones((4, K), np.float32), np.zeros((8, 4), np.float32), K]
        done = ptx_machine.run(text, (1,), (32,), args, names["product"])
        assert done and (done.arrays[2] == K).all()
        return done

    counts = count_text("product", text, "sm_80", (32, 1), (8, 4, 1), run)
    assert counts.shared_bytes == 32 and counts.threads == 32 and counts.tile.fma == 1 and counts.once.fma == 0
    assert counts.tile.requests == {
        ("global", 8.0, 32.0): 1.0,  # a number from each of 8 rows, which lie in lines of their own
        ("shared", 1.0, 32.0): 1.0,
        ("global", 4.0, 128.0): 1.0,
        ("shared", 1.0, 128.0): 1.0,
    }
    assert counts.once.requests == {("global", 1.0, 128.0): 1.0}
    assert sum(counts.trips.values()) in (1, 2)  # A's number, and then B's, or both at once
    with pytest.raises(CountError, match="its loops do 32 multiply-adds for 32 x 4 x 1, so this is no product"):
        count_text("product", text, "sm_80", (32, 1), (32, 4, 1), run)


def test_counts_are_kept_as_json_and_are_the_same_again():
    asks = {("global", 2.0, 128.0): 1.0, ("shared", 1.0, 128.0): 3.0}
    tile, once = Work(1.0, 2.0, 3.0, asks), Work(matrix={"float16": 512.0})
    made = Counts(kernel="k", threads=32, registers=9, shared_bytes=0, side=(8, 4, 1), tile=tile, once=once, item=2)
    for counts in (made, replace(made, trips={0.5: 2.0}, item=4)):
        row = json.loads(json.dumps(to_row(counts)))
        assert from_row(row) == counts and ("item" in row, "matrix" in row["tile"]) == (counts.item != 4, False)
