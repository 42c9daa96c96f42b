"""What pages 04 to 06 say of kernels that no cell predicts: each such number in their prose is the model's."""

import notebooks
import pytest
from glossary import without_links

from helpers import cuda_kernel, devices, with_part
from helpers.instruments import predict

needs_compiler = pytest.mark.skipif(
    not devices.nvidia_tool("ptxas"), reason="NVIDIA's compiler is not installed: python3 tools/install.py cuda13"
)
ROUND = """
As[{a}] = A[row, k0 + tx] if row < M and k0 + tx < K else float32(0)
Bs[ty, tx] = B[k0 + ty, col] if k0 + ty < K and col < N else float32(0)
cuda.syncthreads()
for k in range({rounds}):
    acc += As[{of_a}] * Bs[k, tx]
cuda.syncthreads()
k0 += TILE
"""
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


def solid():
    source = cuda_kernel("register_2d").source
    for old, new in SOLID.items():
        assert source.count(old) == 1
        source = source.replace(old, new)
    return source


def mended():
    """Page 04's kernel of the bug hunt, with its rounds from K."""
    [page] = notebooks.notebook_paths(["04"])
    source = next(cell.source for cell in notebooks.read(page).cells if "def mended" in cell.source)
    source = source.replace("TPB * cuda.gridDim.x", "A.shape[1]").replace("TPB", "16")
    return f"from numba import cuda, float32\n\n{source}"


def tiled(**words):
    return cuda_kernel(with_part("CUDA", "tiled", (1, 4), ROUND.format(**words)), like="tiled", TILE=16)


def column():
    part = with_part("CUDA", "register_1d", 3, COLUMN)
    return cuda_kernel(part, like="register_1d", BM=64, BN=32, BK=16, TM=8)


SAID = {  # (the page, the kernel, the GPU, the words)
    "rounds that the compiler cannot write out": (
        "04",
        lambda: tiled(a="ty, tx", of_a="ty, k", rounds="min(TILE, K - k0)"),
        "A6000",
        "is predicted at {},",
    ),
    "a tile turned round": (
        "04",
        lambda: tiled(a="tx, ty", of_a="k, ty", rounds="TILE"),
        "A6000",
        "read from `As[k, ty]`, at {}.",
    ),
    "the bug hunt's": (
        "04",
        lambda: cuda_kernel(mended(), like="naive", BM=16, BN=16),
        "A6000",
        "the model predicts {} GFLOP/s for it",
    ),
    "range for while": ("05", column, "A6000", "the model predicts {} GFLOP/s in place of 6,220"),
    "a solid patch": (
        "06",
        lambda: cuda_kernel(solid(), like="register_2d", BM=128, BN=128, BK=16, TM=8, TN=8),
        "H100",
        "for a solid patch the model predicts {} GFLOP/s on an H100",
    ),
}


@needs_compiler
@pytest.mark.parametrize("page, make, gpu, words", SAID.values(), ids=SAID)
def test_a_number_in_prose_is_the_models(page, make, gpu, words):
    [path] = notebooks.notebook_paths([page])
    prose = " ".join(without_links(c.source) for c in notebooks.read(path).cells if c.cell_type == "markdown")
    said = words.format(f"{predict(make(), gpu, 4096, 4096, 4096).gflops:,.0f}")
    assert said in " ".join(prose.split()), said
