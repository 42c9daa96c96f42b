"""cuTile's products in NumPy, from their Tile IR: right at ragged shapes; what was broken on purpose is found."""

import importlib.util
import linecache
import re

import numpy as np
import pytest

from blocks_without_gpu import BlockError, cutile_code, run_cutile
from blocks_without_gpu.cutile_product import as_tf32

there = importlib.util.find_spec("cuda") and importlib.util.find_spec("cuda.tile")
pytestmark = pytest.mark.skipif(not there, reason="no cuTile: pip install cuda-tile 'nvidia-cuda-tileiras<13.5'")
TILE = dict(BM=16, BN=32, BK=8)
LARGE = dict(BM=128, BN=128, BK=64)
PRODUCT = """
@ct.kernel
def product(A, B, C, BM: ct.Constant[int], BN: ct.Constant[int], BK: ct.Constant[int]):
    x, y = ct.bid(0), ct.bid(1)
    acc = ct.zeros((BM, BN), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(BM, BK))):
        a = ct.load(A, (y, k), (BM, BK), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(B, (k, x), (BK, BN), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(a, b, acc)
    ct.store(C, (y, x), acc)
"""
TILES = "ct.num_tiles(A, axis=1, shape=(BM, BK))"
ADDS = "acc = ct.mma(a, b, acc)"


def made(*edits, text=PRODUCT):
    """The kernel of that text, with (old, new) in it."""
    import cuda.tile

    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    name, names = f"<product {hash(text):x}>", {"__name__": "product", "ct": cuda.tile}
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name  # where cuTile finds it
    exec(compile(text, name, "exec"), names)
    return names["product"]


@pytest.mark.parametrize("numbers", ["float32", "float16"])
def test_a_product_is_right_at_ragged_shapes(numbers):
    rng, product = np.random.default_rng(69), made()
    for M, N, K in [(1, 1, 1), (16, 32, 8), *map(tuple, rng.integers(1, 70, (30, 3)).tolist())]:
        run = run_cutile(product, M, N, K, numbers, **TILE)
        assert run and run.C.shape == (M, N), run
    size, tiles = 2 if numbers == "float16" else 4, (-(-M // 16), -(-N // 32))
    assert run.loaded_bytes == size * (M * K * tiles[1] + K * N * tiles[0])


@pytest.mark.parametrize(
    "old, new",
    [
        (TILES, "(A.shape[1] + BK - 1) // BK"),
        (TILES, "ct.cdiv(A.shape[1], BK)"),
        ("ct.zeros((BM, BN), ct.float32)", "ct.full((BM, BN), 0, dtype=ct.float32)"),
        (ADDS, "acc += a @ b"),
        (ADDS, "acc = acc + ct.matmul(a, b)"),
        (ADDS, "acc = acc + ct.mma(a, b, acc * 0) * 1"),
    ],
)
def test_other_right_spellings_run(old, new):
    assert run_cutile(made((old, new)), 33, 70, 41, **TILE)


def test_tf32_is_rounded_and_so_float32_has_a_narrower_bound():
    rounds = made((ADDS, "acc = ct.mma(a.astype(ct.tfloat32), b.astype(ct.tfloat32), acc)"))
    assert run_cutile(rounds, 33, 70, 41, "tf32", **TILE)
    assert run_cutile(rounds, 33, 70, 41, **TILE).findings[0].kind == "wrong numbers"
    assert (as_tf32(np.float32([1 + 2**-11, 1 + 3 * 2**-11, -1 - 2**-12])) == [1, 1 + 2**-9, -1]).all()


@pytest.mark.parametrize(
    "old, new, numbers, said",
    [
        (TILES, TILES + " - 1", "float32", "wrong numbers: C[0, 0] is outside the bound of float32"),
        (TILES, "A.shape[1] // BK", "float32", "wrong numbers"),
        ("(y, k)", "(k, y)", "float32", "out of bounds: block (0, 0) loads tile (3, 0) of A, which has 3 x 6"),
        ("(k, x)", "(x, k)", "float32", "\n    from b = ct.load(B, (x, k), (BK, BN), padding_mode=ct.PaddingMode"),
        (", (BM, BK), padding_mode=ct.PaddingMode.ZERO", ", (BM, BK)", "float32", "wrong numbers"),
        ("ct.mma(a, b, acc)", "ct.mma(a, ct.load(A, (k, x), (BK, BN)), acc)", "float32", "out of bounds"),
        ("ct.zeros((BM, BN), ct.float32)", "ct.zeros((BM, BN), ct.float16)", "float16", "wrong numbers"),
        ("C, (y, x)", "C, (y, 0)", "float32", "stored twice: C[0, 0] is stored more than once"),
        ("ct.store(C, (y, x), acc)", "pass", "float32", "unwritten: C[0, 0] is never stored"),
        ("ct.store(C, (y, x), acc)", "ct.store(C, (x, y), acc)", "float32", "wrong numbers"),
        ("C, (y, x)", "C, (y, x + 1)", "float32", "stores tile (0, 3) of C, which has 3 x 3"),
        ("ct.store(C, (y, x), acc)", "ct.store(A, (y, 0), acc)", "float32", "unwritten"),
    ],
)
def test_a_planted_fault_is_found(old, new, numbers, said):
    edits = [(old, new)] + [("(C, (y, x), acc)", "(C, (y, x), acc.astype(ct.float32))")] * (numbers == "float16")
    run = run_cutile(made(*edits), 33, 70, 41, numbers, **TILE)
    assert not run and run.verdict.startswith("✗ 33 x 70 x 41") and said in run.verdict, run


def test_what_does_not_compile_or_is_not_known_is_told():
    with pytest.raises(BlockError, match=r"has no attribute 'num_tile'\n    from for k in range"):
        run_cutile(made(("num_tiles", "num_tile")), 33, 70, 41, **TILE)
    with pytest.raises(BlockError, match=r"Not known here: exp .*\n    A product needs ct\.load, ct\.mma"):
        run_cutile(made((", acc)\n    ct", ", ct.exp(acc))\n    ct")), 33, 70, 41, **TILE)
    with pytest.raises(BlockError, match=r"Not known here: .*bf16"):
        run_cutile(made((ADDS, "acc += (a.astype(ct.bfloat16) @ b.astype(ct.bfloat16))")), 33, 70, 41, **TILE)


def test_arrays_of_ones_own_are_multiplied_and_stay_as_they_are():
    A, B = np.arange(64.0).reshape(16, 4), np.eye(4, 16)
    run = run_cutile(made(), 16, 16, 4, arrays=(A, B), **TILE)
    assert run and (run.C == A @ B).all() and A.dtype == np.float64 and "mmaf" in run.tile_ir


def test_one_text_becomes_the_matrix_instructions_of_each_kind_of_gpu():
    """And its copies: rows that are no multiples of 16 bytes leave the tensor memory accelerator idle."""
    product = made()
    codes = {gpu: cutile_code(product, gpu, 4096, 4096, 4096, "float16", **LARGE) for gpu in ("A100", "H100", "sm_100")}
    matrix = {gpu: {"HMMA", "HGMMA", "UTCHMMA"} & {*code} for gpu, code in codes.items()}
    assert matrix == {"A100": {"HMMA"}, "H100": {"HGMMA"}, "sm_100": {"UTCHMMA"}}
    copies = {gpu: {"LDGSTS", "UTMALDG"} & {*code} for gpu, code in codes.items()}
    assert copies == {"A100": {"LDGSTS"}, "H100": {"UTMALDG"}, "sm_100": {"UTMALDG"}}
    ragged = cutile_code(product, "H100", 4095, 4095, 4095, "float16", **LARGE)
    assert ragged["HGMMA"] and ragged["LDG"] and not ragged["UTMALDG"]


@pytest.mark.parametrize(
    "change, said",
    [
        (dict(BK=None), "has the constants BM, BN, BK; give BM, BN and all others"),
        (dict(numbers="float64"), "they are one of float32, tf32, float16"),
        (dict(K=1 << 20), "would take minutes"),
        (dict(kernel=lambda A, B, C: None), "give a function under @ct.kernel"),
    ],
)
def test_what_is_no_product_is_refused(change, said):
    given = dict(kernel=made(), M=32, N=32, K=32) | TILE | change
    with pytest.raises(ValueError, match=re.escape(said)):
        run_cutile(**{name: value for name, value in given.items() if value is not None})
