"""Nine bugs to plant in the tiled kernel of either dialect, each a small edit of its source."""

from helpers import cuda_kernel, opencl_kernel

OPENCL = {
    "no first barrier": [
        ("// 2. Both tiles are complete before anyone reads them.\n        barrier(CLK_LOCAL_MEM_FENCE);", "")
    ],
    "no second barrier": [
        ("anyone overwrites them.\n        barrier(CLK_LOCAL_MEM_FENCE);", "anyone overwrites them.")
    ],
    "no load guard": [
        ("(row < M && k0 + tx < K) ? A[row * K + k0 + tx] : 0.0f", "A[row * K + k0 + tx]"),
        ("(k0 + ty < K && col < N) ? B[(k0 + ty) * N + col] : 0.0f", "B[(k0 + ty) * N + col]"),
    ],
    "no store guard": [("if (row < M && col < N) C[", "C[")],
    "x and y swapped": [("row = row0 + ty, col = col0 + tx", "row = col0 + tx, col = row0 + ty")],
    "k <= K": [("k < TILE", "k <= TILE")],
    "tile count from the grid": [("k0 < K; k0 += TILE", "k0 < TILE * get_num_groups(0); k0 += TILE")],
    "output left unwritten": [("if (row < M && col < N) C[", "if (row < M && col < N - 1) C[")],
    "+= into uninitialised memory": [("C[row * N + col] = acc", "C[row * N + col] += acc")],
}
CUDA = {
    "no first barrier": [("before anyone reads them.\n            cuda.syncthreads()", "before anyone reads them.")],
    "no second barrier": [
        ("before anyone overwrites them.\n            cuda.syncthreads()", "before anyone overwrites them.")
    ],
    "no load guard": [
        (" if row < M and k0 + tx < K else float32(0)", ""),
        (" if k0 + ty < K and col < N else float32(0)", ""),
    ],
    "no store guard": [("        if row < M and col < N:\n            C", "        if True:\n            C")],
    "x and y swapped": [("row, col = cuda.blockIdx.y", "col, row = cuda.blockIdx.y")],
    "k <= K": [("range(TILE)", "range(TILE + 1)")],
    "tile count from the grid": [("k0 < K:", "k0 < TILE * cuda.gridDim.x:")],
    "output left unwritten": [("if row < M and col < N:\n", "if row < M and col < N - 1:\n")],
    "+= into uninitialised memory": [("C[row, col] = acc", "C[row, col] += acc")],
}


def planted(dialect, bug, TILE=4):
    """The tiled kernel of "CUDA" or "OpenCL" with that bug, or with none for bug=None."""
    build, edits = {"CUDA": (cuda_kernel, CUDA), "OpenCL": (opencl_kernel, OPENCL)}[dialect]
    source = build("tiled", TILE=TILE).source
    for old, new in edits[bug] if bug else []:
        assert source.count(old) == 1, f"{bug}: {old!r} is not in the source once"
        source = source.replace(old, new)
    return build(source, like="tiled", TILE=TILE)
