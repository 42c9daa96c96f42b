"""Triton's products on the PTX machine: right and counted; what was broken on purpose is found, with its line."""

import importlib.util
import linecache
import re
from types import SimpleNamespace

import numpy as np
import pytest

from blocks_without_gpu import BlockError, predict_triton, run_triton, side_by_side
from blocks_without_gpu.triton_product import about_numbers, about_stores
from gpu_model import GPUS

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("triton"), reason="no Triton: pip install triton")
TILE = dict(BM=32, BN=32, BK=16)
PRODUCT = """
@triton.jit
def product(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr):
    row = tl.program_id(1) * BM + tl.arange(0, BM)[:, None]
    col = tl.program_id(0) * BN + tl.arange(0, BN)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        a = tl.load(A + row * K + k[None, :], mask=(row < M) & (k[None, :] < K), other=0.0)
        b = tl.load(B + k[:, None] * N + col, mask=(k[:, None] < K) & (col < N), other=0.0)
        acc = tl.dot(a, b, acc, PRECISION)
    tl.store(C + row * N + col, acc, mask=(row < M) & (col < N))
"""


def made(text=PRODUCT):
    """The kernel of that text."""
    import triton

    name, names = f"<product {hash(text):x}>", {"__name__": "product", "triton": triton, "tl": triton.language}
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name  # where Triton finds it
    exec(compile(text, name, "exec"), names)
    return names["product"]


@pytest.mark.parametrize(
    "numbers, shape",
    [("float32", (33, 70, 41)), ("tf32", (33, 70, 41)), ("float16", (64, 32, 48))],
)
def test_a_product_is_right_at_ragged_shapes_and_at_whole_tiles(numbers, shape):
    run = run_triton(made(), *shape, numbers, **TILE)
    assert run and run.C.shape == shape[:2] and run.verdict.startswith("✓"), run
    assert run.executed["FMA" if numbers == "float32" else "matrix"] > 0
    assert (run.stores[2] == 1).all()


@pytest.mark.parametrize(
    "numbers, old, new, kind, said",
    [
        ("float32", "mask=(row < M) & (col < N))", "mask=row < M)", "race", "writes C["),
        ("tf32", "range(0, K, BK)", "range(0, K - BK, BK)", "wrong numbers", "is outside the bound"),
    ],
)
def test_a_planted_fault_is_found(numbers, old, new, kind, said):
    run = run_triton(made(PRODUCT.replace(old, new)), 33, 70, 41, numbers, **TILE)
    found = [finding for finding in run.findings if finding.kind == kind and said in finding.message]
    assert not run and found, run
    assert run.verdict.startswith("✗ 33 x 70 x 41") and found[0].message.split(" (")[0] in repr(run)


def test_a_finding_names_the_line_of_the_source_once():
    run = run_triton(made(PRODUCT.replace("(row < M) & (k[None, :] < K)", "row < M")), 33, 70, 41, "float16", **TILE)
    [finding] = run.findings
    assert finding.kind == "out of bounds" and "past the end of A" in finding.message
    assert finding.text.endswith("\n    from a = tl.load(A + row * K + k[None, :], mask=row < M, other=0.0)")
    assert finding.text in run.verdict
    assert run.ptx.splitlines()[finding.line - 1].strip() == finding.text.splitlines()[0] + ";"


def test_what_does_not_compile_is_told_with_its_line():
    with pytest.raises(BlockError, match=r"says: b = tl\.load\(.*other=0\.0\) Cannot make_shape_compatible"):
        run_triton(made(PRODUCT.replace("k[:, None] < K", "k < K")), 33, 70, 41, BM=32, BN=64, BK=16)


def test_tf32_is_cut_and_not_rounded_so_its_bound_is_as_wide():
    """Two cuts and the sums' rounding: 1 / (1 - K u) times what two cuts leave, no more and no less."""
    bits = np.array([[0x3F801FFF]], np.uint32).view(np.float32)  # 1 and all that TF32 has not: nearly 2**-10
    A, B = np.repeat(bits, 64, axis=1), np.repeat(bits, 64, axis=0)
    assert not about_numbers(np.float32([[64]]), A, B, "tf32") and about_numbers(np.float32([[64]]), A, B, "float32")
    most = (1 + 2**-10) ** 2 / (1 - 64 * 2**-24) - 1
    for factor, wrong in ((0.9999999, False), (1.0000001, True)):
        C = (A.astype(np.float64) @ B) * (1 + most * factor)
        assert bool(about_numbers(C, A, B, "tf32")) == wrong


def test_elements_that_are_stored_twice_or_never_are_found():
    asked = [SimpleNamespace(memory="global", act="store", line=line) for line in (7, 9, 11, 13)]
    run = SimpleNamespace(stores={2: np.array([[1, 2], [0, 1]])}, requests=asked, findings=())
    assert [one.message for one in about_stores(run)] == [
        "C[0, 1] is stored more than once, by line 7, 9, 11, … of the PTX", "C[1, 0] is never stored"
    ]  # fmt: skip
    run.findings = [SimpleNamespace(kind="hang")]
    assert [one.kind for one in about_stores(run)] == ["stored twice"]


def test_arrays_of_ones_own_are_multiplied_and_stay_as_they_are():
    A, B = np.arange(64.0).reshape(16, 4), np.eye(4, 16)
    run = run_triton(made(), 16, 16, 4, arrays=(A, B), BM=16, BN=16, BK=16)
    assert run and (run.C == A @ B).all() and (run.arrays[0] == A).all() and A.dtype == np.float64


def test_sizes_that_are_multiples_of_16_are_promised_and_others_are_not():
    """Then a load brings 16 bytes, and else one number, which is too little for an asynchronous copy of float16."""
    wide, narrow = (run_triton(made(), n, n, n, "float16", warps=2, **TILE) for n in (64, 63))  # 32 x 16 in 64 threads
    at_once = [float(line.split()[3]) for line in side_by_side({"64": wide, "63": narrow}).splitlines()[1:]]
    assert at_once[0] == 16 and at_once[1] <= 2
    assert wide.executed["asynchronous copy"] and not narrow.executed["asynchronous copy"]


def test_each_stage_more_is_a_tile_more_in_shared_memory():
    runs = [run_triton(made(), 64, 64, 64, "tf32", stages=stages, **TILE) for stages in (1, 2, 4)]
    tiles = 4 * (32 * 16 + 16 * 32)
    assert [run.shared_bytes for run in runs] == [tiles, tiles, 3 * tiles]
    assert [bool(run.executed["asynchronous copy"]) for run in runs] == [False, True, True]


def test_a_prediction_is_of_the_block_that_was_counted():
    """One multiply-add of the matrix units, and one of the lanes, for each product of a tile; room as Triton says."""
    sides = dict(BM=64, BN=64, BK=32, warps=4)
    exact, coarse = (
        predict_triton(made(), "A100", 1024, 1024, 1024, numbers, **sides) for numbers in ("float32", "tf32")
    )
    a100, blocks = GPUS["A100"], 16 * 16
    turns = -(-blocks // a100.sms)
    assert exact.units["multiply-adds"] >= turns * 64 * 64 * 1024 / a100.fma_lanes / a100.clock
    assert "matrix units" not in exact.units and coarse.units["multiply-adds"] == 0
    assert coarse.units["matrix units"] == pytest.approx(turns * 64 * 64 * 1024 / a100.matrix["tf32"] / a100.clock)
    run = run_triton(made(), 64, 64, 64, "tf32", **sides)
    assert coarse.occupancy.needs == run.occupancy.needs and coarse.blocks == blocks


def test_a_product_of_warp_groups_is_predicted_by_the_data_sheets_peak():
    """The block's 64 x 64 x 1024, and wavefronts: of copies into shared memory, and of what is read there."""
    p = predict_triton(made(), "H100", 1024, 1024, 1024, "float16", BM=64, BN=64, BK=32)
    h100, turns = GPUS["H100"], -(-16 * 16 // GPUS["H100"].sms)
    rate = h100.matrix["float16, warp groups"]
    assert p.bytes[0] == 2 * 2 * 1024**2 + 4 * 1024**2
    assert p.units["matrix units"] == pytest.approx(turns * 64 * 64 * 1024 / rate / h100.clock)
    copied, read = 2 * 64 * 1024 * 2 / 128, 1024 / 16 * (64 + 64) * 32 / 128
    assert p.requests["wavefronts"] == pytest.approx(turns * (copied + read) / h100.clock, rel=0.1)


def test_the_table_counts_what_the_runs_counted():
    runs = {name: run_triton(made(), 32, 32, 16, name, **TILE) for name in ("float32", "float16")}
    head, *lines = side_by_side(runs).splitlines()
    for line, (name, run) in zip(lines, runs.items(), strict=True):
        loads = [one for one in run.requests if (one.memory, one.act) == ("global", "load")]
        many = sum(one.instructions for one in loads)
        row = line.replace(",", "").split()
        assert row[:2] == [name, f"{run.instructions / (32 * 32 * 16):.2f}"]
        assert (int(row[2]), float(row[3])) == (many, sum(one.bytes for one in loads) / 32 / many)
        assert list(map(int, row[6:])) == [run.wavefronts, run.bank_conflicts] and len(line) == len(head)
    assert [line.split()[2] for line in lines] == ["8", "8"]  # of A and B by 4 warps: 16 bytes a thread, and 8


@pytest.mark.parametrize(
    "change, kind, said",
    [
        (dict(BK=None), ValueError, "BM, BN, BK, PRECISION"),
        (dict(BM=256, BN=256, BK=128), ValueError, "multiply-adds a tile"),
        (dict(K=1 << 20), ValueError, "minutes"),
        (dict(warps=3), ValueError, "a block has 1, 2, 4"),
        (dict(stages=1000), ValueError, "Stay at 8,192, by smaller sides or more warps, and at 16 stages"),
        (dict(arrays=(np.ones((32, 32)), np.ones((33, 32)))), ValueError, "give A of (32, 32) and B of (32, 32)"),
        (dict(kernel=lambda A, B, C: None), ValueError, "give a function under @triton.jit"),
        (dict(kernel="@triton.jit\ndef product(A): pass\n"), ValueError, "begins with A, B, C, M, N, K"),
    ],
)
def test_what_is_no_product_is_refused(change, kind, said):
    given = dict(kernel=PRODUCT, M=32, N=32, K=32) | TILE | change
    given["kernel"] = made(given["kernel"]) if isinstance(given["kernel"], str) else given["kernel"]
    with pytest.raises(kind, match=re.escape(said)):
        run_triton(**{name: value for name, value in given.items() if value is not None})
