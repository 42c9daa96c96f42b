"""What pages say in prose that no cell prints: each such number is the model's."""

import notebooks
import pytest
from glossary import without_links
from needed import needs_compiler

from helpers import cuda_kernel, with_part
from helpers.exercises.prefetching import asked_early
from helpers.instruments import GPUS, counts_of, predict

ROUND = """
As[ty, tx] = A[row, k0 + tx] if row < M and k0 + tx < K else float32(0)
Bs[ty, tx] = B[k0 + ty, col] if k0 + ty < K and col < N else float32(0)
cuda.syncthreads()
for k in range(TILE):
    acc += As[ty, k] * Bs[k, tx]
cuda.syncthreads()
k0 += TILE
"""
TURNED = {"As[ty, tx]": "As[tx, ty]", "As[ty, k]": "As[k, ty]"}
COALESCED = {  # part of the bug hunt's kernel: who stages what, in the same places of the tiles
    "sA[tx, ty] = A[x, ty + k] if x <": "sA[ty, tx] = A[r, tx + k] if r <",
    "and ty + k <": "and tx + k <",
    "sB[tx, ty] = B[tx + k, y] if tx + k <": "sB[ty, tx] = B[ty + k, c] if ty + k <",
    "and y < C.shape[1] else": "and c < C.shape[1] else",
    "    for k in range": "    r, c = cuda.blockIdx.x * 16 + ty, cuda.blockIdx.y * 16 + tx\n    for k in range",
}
COLUMN = """
for k in range(BK):
    b_reg = Bs[k, tx]
    for i in range(TM):
        acc[i] += As[ty + i * THREADS_Y, k] * b_reg
"""
SOLID = {
    "As[ty + i * THREADS_Y, k]": "As[ty * TM + i, k]",
    "Bs[k, tx + j * THREADS_X]": "Bs[k, tx * TN + j]",
    "row0 + ty + i * THREADS_Y, col0 + tx + j * THREADS_X": "row0 + ty * TM + i, col0 + tx * TN + j",
}
SIGNED = {"uint32(cuda.threadIdx.x), uint32(cuda": "int(cuda.threadIdx.x), int(cuda"}
ROUND_BY_ROUND = {" " * 16 + "k += 1": " " * 16 + "k += cuda.blockDim.z"}
ONE_FOUR = "As[c, r], As[c + 1, r], As[c + 2, r], As[c + 3, r] = four(A, row0 + r, k0 + c)"
ONE_BY_ONE = {
    "            fetch(A, B, row0, col0, k0, thread, a_new, b_new)\n": "",
    "for v in range(4):\n" + " " * 20 + "As[c + v, r] = a_new[i, v]": ONE_FOUR,
    "(b_new[i, 0], b_new[i, 1], b_new[i, 2], b_new[i, 3])": "four(B, k0 + r, col0 + c)",
}
EAGER = {"(TN):\n" + 24 * " " + "acc[i, j] +=": "(min(TN, N - col0)):\n" + 24 * " " + "acc[i, j] +="}


def changed(source, changes):
    for old, new in changes.items():
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    return source


def mended(changes):
    """Page 04's kernel of the bug hunt, with its rounds from K, and changed."""
    [page] = notebooks.notebook_paths(["04"])
    source = next(cell.source for cell in notebooks.read(page).cells if "def mended" in cell.source)
    source = source.replace("TPB * cuda.gridDim.x", "A.shape[1]").replace("TPB", "16")
    source = changed(f"from numba import cuda, float32\n\n{source}", changes)
    return cuda_kernel(source, like="naive", BM=16, BN=16)


def tiled(changes):
    return cuda_kernel(with_part("CUDA", "tiled", (1, 4), changed(ROUND, changes)), like="tiled", TILE=16)


def patch(changes, step="register_2d"):
    source = changed(cuda_kernel(step).source, changes)
    return cuda_kernel(source, like=step, BM=128, BN=128, BK=16, TM=8, TN=8)


def square(side):
    return cuda_kernel("register_2d", BM=8 * side, BN=8 * side, BK=8, TM=side, TN=side)


def shallow(step, **sizes):
    return cuda_kernel(step, BM=128, BN=128, BK=8, TM=8, TN=8, **sizes)


def column(source):
    return cuda_kernel(source, like="register_1d", BM=64, BN=32, BK=16, TM=8)


def of_shared(tile, rounds=False):
    return sum(n * (w if rounds else 1) for (space, w, _), n in tile.requests.items() if space == "shared")


SAID = {  # (the page, the kernel, the GPU, the words), and what is counted for each multiply-add, with its words
    "a transposed tile": (
        "04", lambda: tiled(TURNED), "A6000", "in place of 1.5, and is predicted at {} GFLOP/s.",
        lambda tile: sum(tile.requests.values()), "It takes {} requests for each multiply-add",
    ),
    "the bug hunt's": ("04", lambda: mended({}), "A6000", "the model predicts {} GFLOP/s for it"),
    "its loads coalesced": ("04", lambda: mended(COALESCED), "A6000", "with coalesced loads the model predicts {}."),
    "range for while": (
        "05", lambda: column(with_part("CUDA", "register_1d", 3, COLUMN)), "A6000",
        "the model predicts {} GFLOP/s in place of 9,493.",
        of_shared, "a multiply-add takes {:.2f} requests to shared memory in place of 0.42",
    ),
    "tests that stay": (
        "05", lambda: column(cuda_kernel("register_1d").source.replace("if EVEN or", "if")), "A6000",
        "it would wait for each of the six in turn, and the model predicts {}.",
    ),
    "small tile": ("05", lambda: cuda_kernel("register_1d", BM=16, BN=16, BK=16, TM=8), "A6000", "model predicts {}."),
    "half tile": ("06", lambda: cuda_kernel("register_2d", BM=64, BN=64, BK=16, TM=8, TN=8), "A6000", "predicts {}."),
    "no unrolling": ("09", lambda: patch(ROUND_BY_ROUND, "vectorized"), "A6000", "without that the model gives {}."),
    "stored as it comes": ("09", lambda: patch(ONE_BY_ONE, "vectorized"), "A6000", "it would give {}."),
    "tiles 8 deep": ("09", lambda: shallow("register_2d"), "A100", "and its predicted rate is {}."),
    "signed indices": ("07", lambda: patch(SIGNED), "A6000", "model predicts {} GFLOP/s in place of 13,877, and for"),
    "signed, on an H100": ("07", lambda: patch(SIGNED), "H100", "for an H100 {} in place of 33,394"),
    "an end at run time": ("07", lambda: patch(EAGER), "A6000", "the model predicts {} GFLOP/s in place of 13,877."),
    "spills in the loop": ("07", lambda: square(16), "A6000", "model predicts {} GFLOP/s in place of the 17,175"),
    "spills outside it": ("07", lambda: square(14), "A6000", "the {} of 14 × 14."),
    "a solid patch": (
        "06", lambda: patch(SOLID), "H100", "for a solid patch the model predicts {} GFLOP/s on an H100, for the comb",
        lambda tile: of_shared(tile, rounds=True), "A solid patch takes {:.2f} of them for a multiply-add, the comb",
    ),
}  # fmt: skip


@needs_compiler
@pytest.mark.parametrize("what", SAID)
def test_a_number_in_prose_is_the_models(what):
    page, make, gpu, words, *counted = SAID[what]
    [path] = notebooks.notebook_paths([page])
    prose = " ".join(without_links(c.source) for c in notebooks.read(path).cells if c.cell_type == "markdown")
    prose, k = " ".join(prose.split()), make()
    p = predict(k, gpu, 4096, 4096, 4096)
    assert words.format(f"{p.gflops:,.0f}") in prose, p
    for many, words in zip(counted[::2], counted[1::2], strict=True):
        tile = counts_of(k, GPUS[gpu].arch).tile
        assert words.format(many(tile) / tile.fma) in prose, tile


@needs_compiler
def test_page_10_works_on_a_tile_for_longer_than_a_number_takes():
    [path] = notebooks.notebook_paths(["10"])
    said = "more than 1,400 cycles on a tile. A number takes 700 cycles"
    assert any(said in without_links(cell.source) for cell in notebooks.read(path).cells)
    gpu, sizes = GPUS["H100"], dict(BM=128, BN=128, BK=8, TM=8, TN=8)
    for k in asked_early(**sizes), shallow("prefetched", WM=64, WN=32):
        p = predict(k, "H100", 4096, 4096, 4096)
        tiles = -(-p.blocks // gpu.sms) * 4096 // 8  # of all blocks of the busiest multiprocessor
        assert 1400 < (p.seconds - p.units["waiting"]) * gpu.clock / tiles < 1550
    assert gpu.latency == 700


@needs_compiler
def test_page_10_counts_the_rounds_that_pairs_of_lanes_save():
    [path] = notebooks.notebook_paths(["10"])
    assert any("save 256 of a tile's 832 rounds" in cell.source for cell in notebooks.read(path).cells)
    paired, flat = shallow("prefetched", WM=64, WN=32), shallow("prefetched", WM=16, WN=128)
    others = paired.source.replace("PAIRS = LANES_Y % 2 == 0", "PAIRS = False")
    kernels = cuda_kernel(others, like="prefetched", **paired.parameters), paired, flat
    tiles = [counts_of(k, "sm_90").tile.requests for k in kernels]
    assert [sum(n * how[1] for how, n in one.items() if how[0] == "shared") for one in tiles] == [832, 576, 576]
