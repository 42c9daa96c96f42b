"""What the ladder's kernels ask of a GPU: the file that keeps it says what compiler and PTX machine say now."""

from collections import Counter

import numpy as np
import pytest
from few import few

import ptx_machine
from helpers import cuda_kernel, devices, ladder
from helpers.instruments.counts import (
    TRIED,
    Work,
    count,
    counts_of,
    executions,
    fetches_ahead,
    from_row,
    kept,
    numbered,
    request,
    to_row,
    work,
)
from helpers.instruments.gpus import ARCHS
from helpers.instruments.published import SIZES
from helpers.launch import KernelError

needs_compiler = pytest.mark.skipif(
    not devices.nvidia_tool("ptxas"), reason="NVIDIA's compiler is not installed: pip install -e '.[cuda13]'"
)
KERNELS = [(step, "GPU") for step in ladder.steps("CUDA")] + [(step, "published") for step in SIZES]
KERNELS += [(step, "tried") for step in TRIED]


def rung(step, sizes):
    given = {"GPU": ladder.STEPS[step].defaults["GPU"], "published": SIZES.get(step), "tried": TRIED.get(step)}
    return cuda_kernel(step, **given[sizes])


@needs_compiler
@pytest.mark.parametrize("arch", few(ARCHS, "sm_86"))
@pytest.mark.parametrize(
    "step, sizes", few(KERNELS, ("tiled", "published"), ("register_1d", "published"), ("prefetched", "GPU"))
)
def test_what_is_kept_is_what_is_counted_now(step, sizes, arch):
    k = rung(step, sizes)
    counted = count(k, arch)
    assert counts_of(k, arch) == counted
    assert from_row(to_row(counted)) == counted


def test_nothing_is_kept_that_is_no_rung_and_every_rung_is():
    titles = {f"{step} with {ladder.spell(rung(step, sizes).parameters)}" for step, sizes in KERNELS}
    assert set(kept()) == {(title, arch) for title in titles for arch in ARCHS}


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
        assert counts.waits == (step not in ("naive", "coalesced", "prefetched"))


def one(line, memory, act, text="ld", many=4, pieces=4, lines=0, paired=0, size=128):
    return ptx_machine.Requests(line, text, memory, act, many, many * size, pieces, many, lines, paired)


def test_a_load_that_joins_others_takes_their_rounds_and_half_where_pairs_ask_for_the_same():
    narrow, paired = one(5, "shared", "load", pieces=8), one(5, "shared", "load", pieces=4, paired=4)
    assert request(narrow, 4) == ("shared", 2.0, 128.0)
    assert request(narrow, 8) == ("shared", 4.0, 256.0)
    assert request(narrow, 16) == ("shared", 8.0, 512.0)
    assert request(paired, 16) == ("shared", 2.0, 512.0)
    assert request(paired, 4) == ("shared", 1.0, 128.0)
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
    assert executions(code, [(0, 6), (6, 9)], PTX, by_line, warps=2) == [4, 4, 4, 4, 4, 4, 0, 0, 0, 2]


def test_what_stands_behind_a_guard_runs_as_often_as_its_line():
    code = listed((2, "LDS R1"), (3, "FFMA R2"), (4, "BRA"))
    assert executions(code, [(0, 3)], PTX, {2: 3, 3: 10, 4: 10}, warps=1) == [3, 10, 10]


def test_a_loop_without_multiply_adds_goes_round_as_its_loads_say_and_an_outer_one_as_its_own():
    code = listed((2, "LDS R1"), (3, "FFMA R2"), (4, "BRA"), (5, "STG"), (4, "BRA"))
    assert executions(code, [(0, 3), (0, 5)], PTX, {2: 40, 3: 40, 4: 40, 5: 5}, warps=1) == [40, 40, 40, 5, 5]
    assert executions(listed((9, "IADD3"), (9, "BRA")), [(0, 2)], PTX, {9: 12}, warps=1) == [6, 6]


def test_a_round_that_was_left_over_in_an_outer_loop_tells_nothing_of_it():
    code = listed((5, "LDG R1"), *[(3, "FFMA R2")] * 5, (4, "BRA"), (3, "FFMA R2"), (4, "BRA"))
    assert executions(code, [(1, 7), (0, 9)], PTX, {3: 32, 4: 32, 5: 2}, warps=1) == [2, *[6] * 6, 2, 2]


def test_a_count_is_so_much_for_each_instruction():
    asked = Once(one(2, "shared", "load", pieces=4), one(5, "global", "store", lines=8))
    code = listed((2, "LDS.128 R1"), (3, "FFMA R2"), (7, "IMAD R3"), (5, "STG.E"), (6, "NOP"))
    assert work(code, np.array([2.0, 8.0, 4.0, 1.0, 0.0]), asked) == Work(
        8.0, 4.0, 15.0, {("global", 2.0, 128.0): 1.0, ("shared", 4.0, 512.0): 2.0}
    )


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


def test_who_asks_for_a_tile_before_it_multiplies_the_last_does_not_wait():
    def runs(load, store):
        return [Once(one(load, "global", "load", many=n), one(store, "shared", "store", many=n)) for n in (1, 2)]

    assert fetches_ahead(runs(9, 5)) is True
    assert fetches_ahead(runs(4, 5)) is False
    assert fetches_ahead([Once(), Once()]) is False


@needs_compiler
def test_a_kernel_of_ones_own_is_counted_now_and_needs_the_compiler(monkeypatch):
    source = cuda_kernel("coalesced").source.replace("acc += A[row, k] * B[k, col]", "acc += B[k, col] * A[row, k]")
    own = cuda_kernel(source, like="coalesced", BM=8, BN=32)
    counted = counts_of(own, "sm_80")
    assert counted.tile.requests == counts_of(cuda_kernel("coalesced", BM=8, BN=32), "sm_80").tile.requests
    monkeypatch.setattr(devices, "nvidia_tool", lambda _: None)
    with pytest.raises(KernelError, match="NVIDIA's compiler"):
        counts_of(own, "sm_80")


@needs_compiler
@pytest.mark.parametrize("loop", ["if k < A.shape[1]:", "while k < A.shape[1] // 4:"])
def test_a_kernel_that_does_less_than_half_of_the_product_is_refused(loop):
    source = cuda_kernel("coalesced").source.replace("while k < A.shape[1]:", loop)
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
@pytest.mark.parametrize("TILE", [4, 5])
def test_warps_that_are_not_full_count_as_whole_ones(TILE):
    counts = count(cuda_kernel("tiled", TILE=TILE), "sm_80")
    assert counts.tile.fma == TILE  # one warp
    assert min(counts.tile.requests.values()) > 0 and min(counts.once.requests.values()) > 0
