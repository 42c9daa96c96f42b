"""What the ladder's kernels ask of a GPU: the file that keeps it says what compiler and PTX machine say now."""

import itertools
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from few import few

import ptx_machine
from gpu_model import Work
from gpu_model.counts import from_row, to_row
from gpu_model.published import SIZES
from helpers import cuda_kernel, devices, ladder, needs
from helpers.instruments.compiler import kind
from helpers.instruments.counts import (
    TRIED,
    count,
    count_text,
    counts_of,
    executions,
    kept,
    matrix_product,
    numbered,
    request,
    title,
    work,
)
from helpers.instruments.gpus import ARCHS
from helpers.launch import KernelError

needs_compiler = pytest.mark.skipif(
    not devices.nvidia_tool("ptxas"), reason="NVIDIA's compiler is not installed: python3 tools/install.py cuda13"
)
KERNELS = [(step, "GPU") for step in ladder.steps("CUDA")] + [(step, "published") for step in SIZES]
KERNELS += [(step, "tried") for step in TRIED]
# Each of them for one architecture, the next one in turn: a rung that has changed, and a compiler, show at any.
IN_TURN = [(*kernel, arch) for kernel, arch in zip(KERNELS, itertools.cycle(ARCHS))]
INPUTS = [(name, of) for name, step in ladder.STEPS.items() for of in step.inputs]


def least_exact(name, of):
    """(kernel, architectures) of a step that rounds its input to that type."""
    step = ladder.STEPS[name]
    archs = [arch for arch in ARCHS if (int(arch[3:-1]), int(arch[-1])) >= step.capability]
    return cuda_kernel(name, **step.defaults["GPU"] | {"INPUT": of}), archs


def rung(step, sizes):
    given = {"GPU": ladder.STEPS[step].defaults["GPU"], "published": SIZES.get(step), "tried": TRIED.get(step)}
    return cuda_kernel(step, **given[sizes])


@needs_compiler
@pytest.mark.parametrize("step, sizes, arch", few(IN_TURN, *IN_TURN[2:4]))
def test_what_is_kept_is_what_is_counted_now(step, sizes, arch):
    k = rung(step, sizes)
    counted = count(k, arch)
    assert counts_of(k, arch) == counted
    assert from_row(to_row(counted)) == counted


def test_nothing_is_kept_that_is_no_rung_and_every_rung_is():
    titles = {title(rung(step, sizes)) for step, sizes in KERNELS}
    keys = {(one, arch) for one in titles for arch in ARCHS}
    for k, archs in (least_exact(*one) for one in INPUTS):
        keys |= {(title(k), arch) for arch in archs}
    assert set(kept()) == keys


def test_the_counts_are_those_of_the_formulas():
    for step, sizes in KERNELS:
        k, counts = rung(step, sizes), counts_of(rung(step, sizes), "sm_80")
        rows, columns, depth = counts.side
        assert counts.tile.fma * 32 == rows * columns * depth
        asked = Counter()
        for (memory, _, size), many in counts.tile.requests.items():
            asked[memory] += size * many / 4
        reads, staged = ladder.STEPS[step].shared_accesses(k.parameters, rows, columns, depth)
        assert asked["shared"] == pytest.approx(reads + staged)
        assert asked["global"] == ladder.STEPS[step].global_loads(k.parameters, rows, columns, depth)
        stored = sum(size * many / 4 for (memory, _, size), many in counts.once.requests.items())
        assert stored == pytest.approx(rows * columns, rel=0.5 if step == "prefetched" else 0)
        assert (min(counts.trips) > 0.5) == (step == "prefetched")  # only it computes between asking and needing


@needs_compiler
@pytest.mark.parametrize("name, of", few(INPUTS, INPUTS[0]))
def test_what_is_kept_of_less_exact_steps_is_what_is_counted_now_and_what_the_formulas_say(name, of):
    k, archs = least_exact(name, of)
    for arch in archs:
        counts = counts_of(k, arch)
        rows, columns, depth = counts.side
        assert counts.tile.matrix == {of: rows * columns * depth} and counts.tile.fma == 0
        asked = sum(size * many / 4 for (memory, _, size), many in counts.tile.requests.items() if memory == "shared")
        assert asked == pytest.approx(sum(ladder.STEPS[name].shared_accesses(k.parameters, rows, columns, depth)))
    assert count(k, archs[0]) == counts_of(k, archs[0])


def one(line, memory, act, text="ld", many=4, pieces=4, lines=0, paired=0, size=128, wide=0):
    return ptx_machine.Requests(line, text, memory, act, many, many * size, pieces, many, lines, paired, wide)


def test_a_load_that_joins_others_takes_their_rounds_and_half_where_pairs_ask_for_the_same():
    narrow, paired = one(5, "shared", "load", pieces=8), one(5, "shared", "load", pieces=4, paired=4)
    assert request(narrow, 4) == ("shared", 2.0, 128.0)
    assert request(narrow, 8) == ("shared", 4.0, 256.0)
    assert request(narrow, 16) == ("shared", 8.0, 512.0)
    assert request(paired, 16) == ("shared", 2.0, 512.0)
    assert request(paired, 4) == ("shared", 1.0, 128.0)
    # Threads 32 bytes apart: 8 rounds for 4 bytes each, and no more for 16, since a quarter of them goes at a time.
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
    """Eight products a warp, which ptxas wrote out four at a time, and a loop for those that were left over."""
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
    code = listed((2, "ISETP"), (3, "BRA"), (4, "STS R1"), (5, "IADD3"), (6, "BRA"))
    blocks = [(0, 2), (2, 3), (3, 5)]
    assert executions(code, [(0, 5)], blocks, staging, {2: 8, 3: 8, 4: 4, 5: 8, 6: 8}, warps=1) == [8, 8, 4, 8, 8]


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
    asked = Once(one(2, "shared", "load", pieces=4), one(5, "global", "store", lines=8))
    code = listed((2, "LDS.128 R1"), (3, "FFMA R2"), (7, "IMAD R3"), (5, "STG.E"), (6, "NOP"))
    assert work(code, np.array([2.0, 8.0, 4.0, 1.0, 0.0]), asked) == Work(
        8.0, 4.0, 15.0, {("global", 2.0, 128.0): 1.0, ("shared", 4.0, 512.0): 2.0}
    )


def test_a_spilled_number_asks_the_first_cache_for_a_line_a_warp():
    code = [("STL [R1], R2", 1), ("@P0 LDL.64 R2, [R1]", 2), ("FFMA R1, R1, R1, R1", 3)]
    asked = work(code, np.array([3.0, 5.0, 1.0]), SimpleNamespace(requests=[])).requests
    assert asked == {("global", 1, 128): 3, ("global", 2, 256): 5}


def test_the_ptx_tells_its_own_lines():
    ptx = ".version 8.0\n.address_size 64\n.entry k()\n{\n    .reg .b32 %r<2>;\n    mov.u32 %r1, 1;\n"
    ptx += "$L:\n    @%p1 bra $L;\n}\n"
    assert numbered(ptx).splitlines() == [
        ".version 8.0",
        ".address_size 64",
        '.file 1 "kernel.ptx"',
        ".entry k()",
        "{",
        "    .reg .b32 %r<2>;",
        ".loc 1 6 0",
        "    mov.u32 %r1, 1;",
        "$L:",
        ".loc 1 8 0",
        "    @%p1 bra $L;",
        "}",
    ]


class Once:
    def __init__(self, *requests):
        self.requests = requests


@needs_compiler
def test_a_kernel_of_ones_own_is_counted_now_and_needs_the_compiler(monkeypatch):
    source = cuda_kernel("coalesced").source.replace("acc += A[row, k] * B[k, col]", "acc += B[k, col] * A[row, k]")
    own = cuda_kernel(source, like="coalesced", BM=8, BN=32)
    counted = counts_of(own, "sm_80")
    assert counted.tile.requests == counts_of(cuda_kernel("coalesced", BM=8, BN=32), "sm_80").tile.requests
    monkeypatch.setattr(devices, "has_compiler", lambda: False)
    with pytest.raises(needs.Missing, match="NVIDIA's compiler"):
        counts_of(own, "sm_80")


@needs_compiler
def test_a_kernel_that_does_less_than_half_of_the_product_is_refused():
    source = cuda_kernel("coalesced").source.replace("while k < A.shape[1]:", "while k < A.shape[1] * 3 // 8:")
    with pytest.raises(KernelError, match="no product that the model knows"):
        count(cuda_kernel(source, like="coalesced", BM=8, BN=32), "sm_80")


@needs_compiler
def test_odd_kernels_are_counted_as_their_machine_code_runs():
    """Two loops over k, one after the other, and a step of three with a loop for the rest: each product is one FMA."""
    source = cuda_kernel("coalesced").source
    one_loop = source[source.index("        while k") : source.index("        C[row, col] = acc")]
    two = source.replace(one_loop, one_loop.replace("A.shape[1]:", "A.shape[1] // 2:") + one_loop)
    body = "".join(f"            acc += A[row, k + {n}] * B[k + {n}, col]\n" for n in range(3))
    by_three = source.replace(one_loop, f"        while k + 3 <= A.shape[1]:\n{body}            k += 3\n{one_loop}")
    for text in (two, by_three):
        assert text != source
        counts = count(cuda_kernel(text, like="coalesced", BM=8, BN=32), "sm_80")
        assert counts.tile.fma == 64
        assert counts.tile.whole < counts.tile.instructions
        assert counts.tile.requests == {("global", 1.0, 128.0): 128.0}


@needs_compiler
def test_warps_that_are_not_full_count_as_whole_ones():
    counts = count(cuda_kernel("tiled", TILE=5), "sm_80")
    assert counts.tile.fma == 5  # one warp
    assert min(counts.tile.requests.values()) > 0 and min(counts.once.requests.values()) > 0


# ------------------------------------------------------------------------------- matrix units, asynchronous copies


def test_products_of_matrices_are_told_by_their_type_and_shape():
    for text, expected in {
        "HMMA.16816.F32 R4, R8, R12, R4": ("float16", 2048),
        "HMMA.1688.F32 R4, R8, R12, R4": ("float16", 1024),
        "@P0 HMMA.16816.F32.BF16 R4, R8, R12, R4": ("bfloat16", 2048),
        "HMMA.1688.F32.TF32 R4, R8, R12, R4": ("tf32", 1024),
        "HMMA.1684.F32.TF32 R4, R8, R12, R4": ("tf32", 512),
        "HMMA.16816.F16 R4, R8, R12, R4": ("float16, float16 sums", 2048),
        "IMMA.16832.S8.S8 R4, R8.ROW, R12.COL, R4": ("int8", 4096),
    }.items():
        assert kind(text) == "matrix product"
        assert matrix_product(text) == expected
    with pytest.raises(KernelError, match=r"HMMA\.884"):
        matrix_product("HMMA.884.F32.F32.STEP0 R4, R8, R12, R4")
    assert kind("LDSM.16.M88.4 R4, [R2]") == "shared load of matrices, 16 bytes"
    assert kind("LDSM.16.MT88.2 R4, [R2]") == "shared load of matrices, 8 bytes"
    assert kind("LDSM.16.M88 R4, [R2]") == "shared load of matrices, 4 bytes"
    assert kind("LDGSTS.E.BYPASS.LTC128B.128 [R2], [R4.64]") == "copy from global to shared, 16 bytes"
    assert kind("LDGSTS.E [R2], [R4.64]") == "copy from global to shared, 4 bytes"
    assert kind("LDGDEPBAR") == kind("@!PT LDS RZ, [RZ]") == "other"


def test_a_copy_asks_two_memories_and_matrices_join_no_loads():
    copies = [
        one(3, memory, act, "cp.async.cg", lines=8, size=512)
        for memory, act in (("global", "load"), ("shared", "store"))
    ]
    loads = one(5, "shared", "load", "ldmatrix.sync.aligned.m8n8.x4", pieces=16, paired=4, size=512)
    code = listed((3, "LDGSTS.E.BYPASS.128 [R1], [R2.64]"), (5, "LDSM.16.M88.4 R4, [R2]"))
    done = work(code, np.array([2.0, 3.0]), Once(*copies, loads))
    assert done.requests == {("global", 2.0, 512.0): 2.0, ("shared", 1.0, 512.0): 2.0, ("shared", 4.0, 512.0): 3.0}


MATRICES = """
    #include <cuda_fp16.h>
    __global__ void product(const __half* A, const __half* B, float* C, int K) {
        __shared__ __align__(16) __half a[2][16][32], b[2][8][32];
        int lane = threadIdx.x;
        auto copy = [&](__half (*to)[32], const __half* from, int k) {
            unsigned place = __cvta_generic_to_shared(&to[lane / 4][lane % 4 * 8]);
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::
                "r"(place), "l"(from + lane / 4 * K + k + lane % 4 * 8));
        };
        auto bring = [&](int k) {
            int into = k / 32 % 2;
            copy(a[into], A, k);
            copy(a[into] + 8, A + 8 * K, k);
            copy(b[into], B, k);
            asm volatile("cp.async.commit_group;");
        };
        float c[4] = {0, 0, 0, 0};
        bring(0);
        #pragma unroll 1
        for (int k = 0; k < K; k += 32) {
            bring(k + 32 < K ? k + 32 : 0);
            asm volatile("cp.async.wait_group 1;");
            __syncthreads();
            for (int i = 0; i < 32; i += 16) {
                unsigned x[4], y[2];
                unsigned from_a = __cvta_generic_to_shared(&a[k / 32 % 2][lane % 16][i + lane / 16 * 8]);
                unsigned from_b = __cvta_generic_to_shared(&b[k / 32 % 2][lane % 8][i + lane / 8 % 2 * 8]);
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                    : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(from_a));
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                    : "=r"(y[0]), "=r"(y[1]) : "r"(from_b));
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                    "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                    : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
            }
            __syncthreads();
        }
        for (int i = 0; i < 4; ++i) C[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = c[i];
    }"""


@needs_compiler
def test_a_kernel_with_copies_matrices_and_products_is_counted_as_on_paper():
    text, names = ptx_machine.from_cuda(MATRICES, "product")

    def run(K):
        args = [np.ones((16, K), np.float16), np.ones((8, K), np.float16), np.zeros((16, 8), np.float32), K]
        done = ptx_machine.run(text, (1,), (32,), args, names["product"])
        assert done and (done.arrays[2] == K).all()
        return done

    counts = count_text("product", text, "sm_80", (32, 1), (16, 8, 32), run)
    assert counts.tile.matrix == {"float16": 16 * 8 * 32} and counts.once.matrix == {}
    assert counts.tile.requests == {
        ("global", 8.0, 512.0): 3.0,  # 8 rows, each of another line
        ("shared", 4.0, 512.0): 3.0,  # what they store
        ("shared", 8.0, 256.0): 2.0,  # rows lie 64 bytes apart: four of them in the same banks
        ("shared", 16.0, 512.0): 2.0,
    }
    # Two tiles are on their way at a time: a warp waits for every second one, and computes one tile meanwhile.
    assert counts.shared_bytes == 3072 and sum(counts.trips.values()) == 0.5 and min(counts.trips) > 0.6
    assert from_row(to_row(counts)) == counts
    half = count_text("product", text.replace("wait_group 1", "wait_group 0"), "sm_80", (32, 1), (16, 8, 32), run)
    assert sum(half.trips.values()) == 1 and max(half.trips) < 0.3
