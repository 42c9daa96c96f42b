# ruff: noqa: E501, since a kernel on one line is easier to compare with the next
"""Kernels written for the checker: wrong ones of kinds that small shapes do not show, and right ones in many styles.

Each list holds (name, dialect, step it is launched like, sizes, source).
"""

from helpers import cuda_kernel, opencl_kernel

BUILD = {"CUDA": cuda_kernel, "OpenCL": opencl_kernel}
SMALL = {"naive": dict(BM=4, BN=4), "tiled": dict(TILE=4)}


def build(dialect, step, source):
    return BUILD[dialect](source, like=step, **SMALL[step])


# ---------------------------------------------------------------------------------------------- OpenCL, one element

HEAD = (
    "__kernel void mine(const int M, const int N, const int K,\n"
    "                   __global const float *A, __global const float *B, __global float *C)\n"
)
WHERE = "    const size_t row = get_global_id(0), col = get_global_id(1);\n"
GUARD = "    if (row >= M || col >= N) return;\n"
SUM = "    float acc = 0.0f;\n    for (int k = 0; k < K; k++) acc += A[row * K + k] * B[k * N + col];\n"
STORE = "    C[row * N + col] = acc;\n"


def cl(where=WHERE, guard=GUARD, total=SUM, store=STORE, before="", head=HEAD):
    return f"{before}{head}{{\n{where}{guard}{total}{store}}}\n"


def loop(text):
    return f"    float acc = 0.0f;\n    {text}\n"


TERM = "A[row * K + k] * B[k * N + col]"
GROUPS = "get_group_id({0}) * {1} + get_local_id({0})"
PLACE = "    const size_t row = {}, col = {};\n"
ROW_AND_COLUMN = [
    ("number of groups, both sides", *(GROUPS.format(n, f"get_num_groups({n})") for n in (0, 1))),
    ("number of groups, rows", GROUPS.format(0, "get_num_groups(0)"), "get_global_id(1)"),
    ("number of groups, columns", "get_global_id(0)", GROUPS.format(1, "get_num_groups(1)")),
    ("the other side's group size", GROUPS.format(0, "get_local_size(1)"), GROUPS.format(1, "get_local_size(0)")),
    ("one group size for both", "get_global_id(0)", GROUPS.format(1, "get_local_size(0)")),
    ("no group size", GROUPS.format(0, "1"), "get_global_id(1)"),
    ("groups one too close", GROUPS.format(0, "(get_local_size(0) - 1)"), "get_global_id(1)"),
    ("16 bits for the row", "(ushort)get_global_id(0)", "get_global_id(1)"),
    ("16 bits for the column", "get_global_id(0)", "(ushort)get_global_id(1)"),
    ("8 bits for the row's group", GROUPS.format(0, "4").replace("get_g", "(uchar)get_g"), "get_global_id(1)"),
    ("8 bits for the column's group", "get_global_id(0)", GROUPS.format(1, "4").replace("get_g", "(uchar)get_g")),
]
WRONG = [(f"{name}", "OpenCL", "naive", cl(where=PLACE.format(row, col))) for name, row, col in ROW_AND_COLUMN]
WRONG += [
    (name, "OpenCL", "naive", cl(total=total))
    for name, total in [
        ("8 bits for K", loop(f"const uchar most = K; for (int k = 0; k < most; k++) acc += {TERM};")),
        ("16 bits for K", loop(f"const ushort most = K; for (int k = 0; k < most; k++) acc += {TERM};")),
        ("stops after 128 products", loop(f"for (int k = 0; k < K && k < 128; k++) acc += {TERM};")),
        ("stops after 40,000 products", loop(f"for (int k = 0; k < K && k < 40000; k++) acc += {TERM};")),
        ("wrong where K % 8 is 5", SUM + "    if (K % 8 == 5) acc += 1.0f;\n"),
        ("wrong where M is odd and N is even", SUM + "    if (M % 2 == 1 && N % 2 == 0) acc = 0.0f;\n"),
        ("wrong where N % 3 is 1 and K is even", SUM + "    if (N % 3 == 1 && K % 2 == 0) acc = -acc;\n"),
        (
            "a tail of three products is forgotten",
            loop(
                f"int k = 0; for (; k + 4 <= K; k += 4) for (int q = 0; q < 4; q++) "
                f"acc += {TERM.replace('k]', 'k + q]').replace('k *', '(k + q) *')};\n"
                f"    if (K % 4 != 3) for (; k < K; k++) acc += {TERM};"
            ),
        ),
        ("wrong beyond the 20th group", SUM + "    if (get_group_id(1) >= 20) acc = 0.0f;\n"),
        ("wrong from row 1000 on", SUM + "    if (row >= 1000) acc *= 2.0f;\n"),
        ("every work-item computes all of C", ""),
    ]
]
ALL_OF_C = (
    "    for (int row = 0; row < M; row++)\n        for (int col = 0; col < N; col++) {\n"
    f"            float acc = 0.0f;\n            for (int k = 0; k < K; k++) acc += {TERM};\n"
    "            C[row * N + col] = acc;\n        }\n"
)
HALF_A_STEP = cl(
    where="    const size_t col = get_global_id(1);\n    if (col >= N) return;\n"
    "    for (size_t row = get_global_id(0); row < M; row += get_local_size(0)) {\n",
    guard="",
    store=STORE + "    }\n",
)
WRONG[-1] = (WRONG[-1][0], "OpenCL", "naive", cl("", "", ALL_OF_C, ""))
WRONG += [
    ("guard of 64 rows", "OpenCL", "naive", cl(guard=GUARD.replace("row >= M", "row >= M || row >= 64"))),
    ("guard of 50,000 columns", "OpenCL", "naive", cl(guard=GUARD.replace("col >= N", "col >= N || col >= 50000"))),
    ("later groups do the work of earlier ones again", "OpenCL", "naive", HALF_A_STEP),
]

# ------------------------------------------------------------------------------------------------ OpenCL, tiles

TILED = opencl_kernel("tiled").source


def edited(source, *edits):
    for old, new in edits:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    return source


LOOP = "for (int k0 = 0; k0 < K; k0 += TILE) {"
WRONG += [
    (name, "OpenCL", "tiled", edited(TILED, *edits))
    for name, edits in [
        (
            "8 bits for the number of tiles",
            [(LOOP, "for (int t = 0; t < (uchar)((K + TILE - 1) / TILE); t++) { const int k0 = t * TILE;")],
        ),
        ("at most 100 tiles", [(LOOP, "for (int k0 = 0; k0 < K && k0 < 100 * TILE; k0 += TILE) {")]),
        ("wrong from the sixth band on", [("float acc = 0.0f;", "float acc = get_group_id(1) > 5 ? 1.0f : 0.0f;")]),
        ("8 bits for the band", [("row0 = get_group_id(1) * TILE", "row0 = (uchar)get_group_id(1) * TILE")]),
        (
            "half the last tile",
            [("k < TILE; k++", "k < (K % TILE == TILE - 1 && K > 8 * TILE ? TILE - 2 : TILE); k++")],
        ),
    ]
]

# ---------------------------------------------------------------------------------------------- CUDA, one element

CUDA = """
from numba import cuda, float32, uint8, uint16{imports}
{before}
@cuda.jit
def mine(A, B, C):
    M, K = A.shape
    N = B.shape[1]
    {where}
    if {guard}:
        {total}
        {store}
"""
CUDA_PARTS = dict(
    imports="",
    before="",
    where="row, col = cuda.grid(2)",
    guard="row < M and col < N",
    total="acc = float32(0)\n        for k in range(K):\n            acc += A[row, k] * B[k, col]",
    store="C[row, col] = acc",
)


def cu(**parts):
    return CUDA.format(**{**CUDA_PARTS, **parts})


BLOCKS = "cuda.blockIdx.{0} * {1} + cuda.threadIdx.{0}"


def at(row, col):
    return f"row = {row}\n    col = {col}"


RIGHT_ROW, RIGHT_COL = (BLOCKS.format(side, f"cuda.blockDim.{side}") for side in "xy")
AFTER = CUDA_PARTS["total"] + "\n        "
WRONG += [
    (name, "CUDA", "naive", cu(**parts))
    for name, parts in [
        ("number of blocks, both sides", {"where": at(*(BLOCKS.format(s, f"cuda.gridDim.{s}") for s in "xy"))}),
        ("number of blocks, rows", {"where": at(BLOCKS.format("x", "cuda.gridDim.x"), RIGHT_COL)}),
        ("number of blocks, columns", {"where": at(RIGHT_ROW, BLOCKS.format("y", "cuda.gridDim.y"))}),
        ("one block size for both", {"where": at(RIGHT_ROW, BLOCKS.format("y", "cuda.blockDim.x"))}),
        ("the other side's block size", {"where": at(BLOCKS.format("x", "cuda.blockDim.y"), RIGHT_COL)}),
        ("block's and thread's number exchanged", {"where": at("cuda.threadIdx.x * cuda.blockDim.x + cuda.blockIdx.x", RIGHT_COL)}),
        ("8 bits for the block", {"where": at(BLOCKS.format("x", "4").replace("cuda.blockIdx.x", "uint8(cuda.blockIdx.x)"), RIGHT_COL)}),
        ("8 bits for the row", {"where": at(f"uint8({RIGHT_ROW})", RIGHT_COL)}),
        ("8 bits for K", {"total": CUDA_PARTS["total"].replace("range(K)", "range(uint8(K))")}),
        ("stops after 128 products", {"total": CUDA_PARTS["total"].replace("range(K)", "range(min(K, 128))")}),
        ("wrong where K % 8 is 5", {"total": AFTER + "if K % 8 == 5:\n            acc += 1"}),
        ("wrong where M is odd and N is even", {"total": AFTER + "if M % 2 == 1 and N % 2 == 0:\n            acc = float32(0)"}),
        ("guard of 64 rows", {"guard": "row < min(M, 64) and col < N"}),
        ("wrong beyond the 20th block", {"total": AFTER + "if cuda.blockIdx.y >= 20:\n            acc = float32(0)"}),
    ]
]  # fmt: skip
WRONG += [
    (
        "every thread computes all of C",
        "CUDA",
        "naive",
        cu(where="", guard="True", total="for row in range(M):\n            for col in range(N):\n                acc = float32(0)\n"
           "                for k in range(K):\n                    acc += A[row, k] * B[k, col]\n                C[row, col] = acc", store=""),
    ),
]  # fmt: skip
CUDA_TILED = cuda_kernel("tiled").source
WRONG += [
    (name, "CUDA", "tiled", edited(CUDA_TILED, *edits))
    for name, edits in [
        ("at most 100 tiles", [("while k0 < K:", "while k0 < K and k0 < 100 * TILE:")]),
        ("wrong from the sixth band on", [("acc = float32(0)\n        k0", "acc = float32(1 if cuda.blockIdx.y > 5 else 0)\n        k0")]),
    ]
]  # fmt: skip

# ------------------------------------------------------------------------------------------- right, in many styles

HELPER = "float term(__global const float *A, __global const float *B, size_t a, size_t b) { return A[a] * B[b]; }\n"
RIGHT = [
    (name, "OpenCL", "naive", source)
    for name, source in [
        ("as it is", cl()),
        ("while", cl(total=loop(f"int k = 0; while (k < K) {{ acc += {TERM}; k++; }}"))),
        ("do while", cl(total=loop(f"int k = 0; do {{ acc += {TERM}; }} while (++k < K);"))),
        ("backwards", cl(total=loop(f"for (int k = K - 1; k >= 0; k--) acc += {TERM};"))),
        ("unsigned", cl(total=loop(f"for (uint k = 0; k < (uint)K; k++) acc += {TERM};"))),
        ("fma", cl(total=loop("for (int k = 0; k < K; k++) acc = fma(A[row * K + k], B[k * N + col], acc);"))),
        ("mad", cl(total=loop("for (int k = 0; k < K; k++) acc = mad(A[row * K + k], B[k * N + col], acc);"))),
        ("a helper function", cl(total=loop("for (int k = 0; k < K; k++) acc += term(A, B, row * K + k, k * N + col);"), before=HELPER)),
        ("a macro", cl(total=loop("for (int k = 0; k < K; k++) acc += AT(A, row, k, K) * AT(B, k, col, N);"), before="#define AT(X, r, c, n) X[(r) * (n) + (c)]\n")),
        ("pointers", cl(total=loop("__global const float *a = A + row * K, *b = B + col; for (int k = 0; k < K; k++, a++, b += N) acc += *a * *b;"))),
        ("two sums", cl(total="    float acc = 0.0f, odd = 0.0f;\n    int k = 0;\n    for (; k + 1 < K; k += 2) {\n        acc += A[row * K + k] * B[k * N + col];\n        odd += A[row * K + k + 1] * B[(k + 1) * N + col];\n    }\n    if (k < K) acc += A[row * K + k] * B[k * N + col];\n    acc += odd;\n")),
        ("float2", cl(total="    float2 two = (float2)(0.0f);\n    int k = 0;\n    for (; k + 1 < K; k += 2)\n        two += (float2)(A[row * K + k], A[row * K + k + 1]) * (float2)(B[k * N + col], B[(k + 1) * N + col]);\n    float acc = two.x + two.y;\n    if (k < K) acc += A[row * K + k] * B[k * N + col];\n")),
        ("float4", cl(total="    float4 four = (float4)(0.0f);\n    int k = 0;\n    for (; k + 3 < K; k += 4)\n        four += vload4(0, A + row * K + k) * (float4)(B[k * N + col], B[(k + 1) * N + col], B[(k + 2) * N + col], B[(k + 3) * N + col]);\n    float acc = four.x + four.y + four.z + four.w;\n    for (; k < K; k++) acc += A[row * K + k] * B[k * N + col];\n")),
        ("dot", cl(total="    float acc = 0.0f;\n    int k = 0;\n    for (; k + 3 < K; k += 4)\n        acc += dot(vload4(0, A + row * K + k), (float4)(B[k * N + col], B[(k + 1) * N + col], B[(k + 2) * N + col], B[(k + 3) * N + col]));\n    for (; k < K; k++) acc += A[row * K + k] * B[k * N + col];\n")),
        ("a private array", cl(total="    float part[2] = {0.0f, 0.0f};\n    for (int k = 0; k < K; k++) {\n        part[0] += A[row * K + k] * B[k * N + col];\n        part[1] = part[0];\n    }\n    float acc = part[1];\n")),
        ("an if around it all", cl(guard="    if (row < M && col < N) {\n", store=STORE + "    }\n")),
        ("long indices", cl(where="    const long row = get_global_id(0), col = get_global_id(1);\n")),
        ("int indices", cl(where="    const int row = get_global_id(0), col = get_global_id(1);\n")),
        ("groups and local numbers", cl(where=PLACE.format(*(GROUPS.format(n, f"get_local_size({n})") for n in (0, 1))))),
        ("a typed block", cl(where=PLACE.format(*(GROUPS.format(n, "4") for n in (0, 1))))),
        ("restrict", cl(head=HEAD.replace("*A", "*restrict A").replace("*B", "*restrict B"))),
        ("clamped, and guarded at the end", cl(where="    const size_t r = get_global_id(0), c = get_global_id(1), row = min(r, (size_t)(M - 1)), col = min(c, (size_t)(N - 1));\n", guard="", store="    if (r < M && c < N) C[row * N + col] = acc;\n")),
        ("clamped, the last stored again and again", cl(where="    const size_t row = min((size_t)get_global_id(0), (size_t)(M - 1)), col = min((size_t)get_global_id(1), (size_t)(N - 1));\n", guard="")),
        ("a stride of the whole grid", cl(where="    const size_t col = get_global_id(1);\n    if (col >= N) return;\n    for (size_t row = get_global_id(0); row < M; row += get_global_size(0)) {\n", guard="", store=STORE + "    }\n")),
        ("blocks in another order", cl(where="    const size_t row = (get_num_groups(0) - 1 - get_group_id(0)) * get_local_size(0) + get_local_id(0), col = get_global_id(1);\n")),
        ("the sum in two halves", cl(total=loop(f"for (int k = 0; k < K / 2; k++) acc += {TERM}; for (int k = K / 2; k < K; k++) acc += {TERM};"))),
        ("the sum in C itself", cl(total="    C[row * N + col] = 0.0f;\n    for (int k = 0; k < K; k++) C[row * N + col] += A[row * K + k] * B[k * N + col];\n", store="")),
    ]
]  # fmt: skip
FLAT = edited(
    TILED,
    ("As[TILE][TILE]", "As[TILE * TILE]"), ("Bs[TILE][TILE]", "Bs[TILE * TILE]"),
    ("As[ty][tx] =", "As[ty * TILE + tx] ="), ("Bs[ty][tx] =", "Bs[ty * TILE + tx] ="),
    ("As[ty][k] * Bs[k][tx]", "As[ty * TILE + k] * Bs[k * TILE + tx]"),
)  # fmt: skip
RIGHT += [
    ("tiles in one row", "OpenCL", "tiled", FLAT),
    ("padded tiles", "OpenCL", "tiled", edited(TILED, ("As[TILE][TILE]", "As[TILE][TILE + 1]"), ("Bs[TILE][TILE]", "Bs[TILE][TILE + 1]"))),
    ("a turned tile", "OpenCL", "tiled", edited(TILED, ("As[ty][tx] =", "As[tx][ty] ="), ("As[ty][k]", "As[k][ty]"))),
    ("tiles from the last on", "OpenCL", "tiled", edited(TILED, (LOOP, "for (int k0 = (K - 1) / TILE * TILE; k0 >= 0; k0 -= TILE) {"))),
]  # fmt: skip
DEVICE = "\n@cuda.jit(device=True)\ndef term(a, b):\n    return a * b\n"
SHARED_SUMS = """
from numba import cuda, float32

@cuda.jit
def mine(A, B, C):
    M, K = A.shape
    N = B.shape[1]
    sums = cuda.shared.array((4, 4), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, col = cuda.blockIdx.x * 4 + tx, cuda.blockIdx.y * 4 + ty
    sums[tx, ty] = float32(0)
    cuda.syncthreads()
    if row < M and col < N:
        for k in range(K):
            cuda.atomic.add(sums, (tx, ty), A[row, k] * B[k, col])
    cuda.syncthreads()
    if row < M and col < N:
        C[row, col] = sums[tx, ty]
"""
RIGHT += [
    (name, "CUDA", "naive", source)
    for name, source in [
        ("as it is", cu()),
        ("while", cu(total="acc = float32(0)\n        k = 0\n        while k < K:\n            acc += A[row, k] * B[k, col]\n            k += 1")),
        ("backwards", cu(total=CUDA_PARTS["total"].replace("range(K)", "range(K - 1, -1, -1)"))),
        ("blocks and threads", cu(where=at(RIGHT_ROW, RIGHT_COL))),
        ("a typed block", cu(where=at(BLOCKS.format("x", "4"), BLOCKS.format("y", "4")))),
        ("a device function", cu(before=DEVICE, total=CUDA_PARTS["total"].replace("A[row, k] * B[k, col]", "term(A[row, k], B[k, col])"))),
        ("two sums", cu(total="acc = float32(0)\n        odd = float32(0)\n        for k in range(0, K - 1, 2):\n            acc += A[row, k] * B[k, col]\n            odd += A[row, k + 1] * B[k + 1, col]\n        if K % 2:\n            acc += A[row, K - 1] * B[K - 1, col]\n        acc += odd")),
        ("a local array", cu(total="part = cuda.local.array(4, float32)\n        for i in range(4):\n            part[i] = float32(0)\n        for k in range(K):\n            part[k % 4] += A[row, k] * B[k, col]\n        acc = part[0] + part[1] + part[2] + part[3]")),
        ("rows of rows", cu(total="acc = float32(0)\n        for k in range(K):\n            acc += A[row][k] * B[k][col]")),
        ("a stride of the whole grid", cu(where="first, col = cuda.grid(2)\n    step, _ = cuda.gridsize(2)", guard="col < N", total="for row in range(first, M, step):\n            acc = float32(0)\n            for k in range(K):\n                acc += A[row, k] * B[k, col]\n            C[row, col] = acc", store="")),
        ("blocks in another order", cu(where=at(RIGHT_ROW.replace("cuda.blockIdx.x", "(cuda.gridDim.x - 1 - cuda.blockIdx.x)"), RIGHT_COL))),
        ("atomic sums in shared memory", SHARED_SUMS),
    ]
]  # fmt: skip
RIGHT += [
    ("a turned tile", "CUDA", "tiled", edited(CUDA_TILED, ("As[ty, tx] =", "As[tx, ty] ="), ("As[ty, k]", "As[k, ty]"))),
    ("padded tiles", "CUDA", "tiled", CUDA_TILED.replace("shared.array((TILE, TILE)", "shared.array((TILE, LONG)").replace("    @cuda.jit", "    LONG = TILE + 1\n\n    @cuda.jit")),
]  # fmt: skip

# One of each kind, by dialect and name; the others are for those who run the bulk of the tests.
OF_EACH_KIND = {
    *(("OpenCL", name) for name in (
        "number of groups, both sides", "one group size for both", "16 bits for the row", "8 bits for the column's group", "8 bits for K",
        "stops after 40,000 products", "wrong where M is odd and N is even", "a tail of three products is forgotten", "wrong beyond the 20th group",
        "every work-item computes all of C", "guard of 64 rows", "later groups do the work of earlier ones again", "half the last tile",
        "a helper function", "pointers", "two sums", "float4", "a private array", "clamped, the last stored again and again",
        "a stride of the whole grid", "blocks in another order", "the sum in C itself", "a turned tile", "tiles from the last on",
    )),
    *(("CUDA", name) for name in (
        "number of blocks, rows", "8 bits for the block", "8 bits for K", "wrong where M is odd and N is even", "guard of 64 rows",
        "every thread computes all of C", "at most 100 tiles", "backwards", "a device function", "a local array", "rows of rows",
        "a stride of the whole grid", "atomic sums in shared memory", "padded tiles",
    )),
}  # fmt: skip
