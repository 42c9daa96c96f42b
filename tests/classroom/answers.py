"""Answers to the exercises on kernels: right ones in other styles, and wrong ones of different kinds.

Each is a text that takes the place of the solution, or edits of it, {old: new}. A wrong one comes with what the verdict
on it has to say.
"""

ROW = "get_group_id(0) * get_local_size(0) + get_local_id(0)"
COL = "get_group_id(1) * get_local_size(1) + get_local_id(1)"
STAGES_A = "As[ty, tx] = A[row, k0 + tx] if row < M and k0 + tx < K else float32(0)\n"
STAGES_B = "Bs[ty, tx] = B[k0 + ty, col] if k0 + ty < K and col < N else float32(0)\n"
STAGED_A = "As[ty][tx] = (row < M && k0 + tx < K) ? A[row * K + k0 + tx] : 0.0f;\n"
ASK_A = "a_next = A[row, k0 + tx] if row < M and k0 + tx < K else float32(0)\n"
ASK_B = "b_next = B[k0 + ty, col] if k0 + ty < K and col < N else float32(0)\n"
STORES = "As[now + ty, tx], Bs[now + ty, tx] = a_next, b_next\n"
MULTIPLIES = "for k in range(TILE):\n    acc += As[now + ty, k] * Bs[uint32(now + k), tx]\n"
SUMS_2D = "for i in range(TM):\n        for j in range(TN):\n            acc[i, j] += a_reg[i] * b_reg[j]"
SUMS_WIDE = "        for n in range(TM * TN):\n            acc[n // TN, n % TN] += a_reg[n // TN, u] * b_reg[n % TN]"
BACKWARDS = {"range(TILE)": "range(TILE - 1, -1, -1)"}
PACKS = "load_some(B + (k0 + k) * N + col0 + p * PANEL + j * VW, columns - p * PANEL - j * VW)"
TURNED = "As[tx, ty] = A[row, k0 + tx] if row < M and k0 + tx < K else float32(0)\n"

WITHIN = "bool((np.abs(C - exact) <= bound(A, B)).all())"

RIGHT = {
    "00.1": {
        "its number by hand": {"cuda.grid(1)": "cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x"},
        "it returns early": {"    if i < out.size:\n        out": "    if i >= out.size:\n        return\n    out"},
    },
    "00.2": {
        "backwards": {"range(A.shape[1])": "range(A.shape[1] - 1, -1, -1)"},
        "exchanged": {"A[row, k] * B[k, col]": "B[k, col] * A[row, k]"},
    },
    "01.3": {
        "the first one thrown away": {
            "    submit()\n    wait()\n    times = []": "    times = []",
            "np.median(times)": "np.median(times[1:])",
        },
        "warm for three launches, then five": {
            "    submit()\n    wait()\n    times": "    for _ in range(3):\n        submit(), wait()\n    times",
            "range(9)": "range(5)",
        },
    },
    "01.4": {
        "row by row": {WITHIN: "all((np.abs(c - e) <= b).all() for c, e, b in zip(C, exact, bound(A, B)))"},
        "their ratio": {WITHIN: "(np.abs(C - exact) / bound(A, B)).max() <= 1"},
    },
    "02.1": {
        "its own word for it": {ROW: "get_global_id(0)", COL: "get_global_id(1)"},
        "from the other end": {ROW: f"get_global_size(0) - 1 - ({ROW})"},
    },
    "02.2": {
        "pointers": """
int i = get_group_id(0) * get_local_size(0) + get_local_id(0);
int j = get_group_id(1) * get_local_size(1) + get_local_id(1);
if (i < M && j < N) {
    __global const float *a = A + i * K, *b = B + j;
    float total = 0;
    for (int n = K; n > 0; n--) { total = mad(*a++, *b, total); b += N; }
    C[i * N + j] = total;
}
""",
        "while, and two guards": {
            "if (row >= M || col >= N) return;": "if (row >= M) return;\nif (col >= N) return;",
            "for (int k = 0; k < K; k++)": "int k = -1; while (++k < K)",
        },
    },
    "02.3": {
        "one launch far larger than C": {"(ceil_div(M, 16) * 16, ceil_div(N, 4) * 4)": "(16 * M, 4 * N)"},
        "arguments set first": {
            "naive_cl(queue, global_size, (16, 4), np.int32(M), np.int32(N), np.int32(K), d_A, d_B, d_C)": (
                "naive_cl.set_args(np.int32(M), np.int32(N), np.int32(K), d_A, d_B, d_C)\n"
                "    cl.enqueue_nd_range_kernel(queue, naive_cl, global_size, (16, 4))"
            )
        },
    },
    "03.0": {
        "from the other end": "x, row = cuda.grid(2)\ncol = cuda.gridsize(2)[0] - 1 - x",
        "one number in the grid": """
x, y = cuda.grid(2)
wide = cuda.gridsize(2)[0]
row, col = (y * wide + x) // wide, (y * wide + x) % wide
""",
    },
    "04.0": {
        "if and else": {
            STAGES_B: "if k0 + ty < K and col < N:\n    Bs[ty, tx] = B[k0 + ty, col]\nelse:\n    Bs[ty, tx] = 0\n"
        },
        "both asked for first": {
            STAGES_A: STAGES_A.replace("As[ty, tx]", "a"),
            STAGES_B: STAGES_B.replace("Bs[ty, tx]", "b") + "As[ty, tx] = a\nBs[ty, tx] = b\n",
        },
    },
    "04.1": {
        "while": {"for k in range(0, A.shape[1], TPB):": "k = -TPB\n    while k + TPB < B.shape[0]:\n        k += TPB"},
        "one round more": {"A.shape[1], TPB": "A.shape[1] + TPB, TPB"},  # of zeros: the page says that it is slower
    },
    "04.2": {
        "by pointers": {
            "As[ty][tx] =": "__local float *a = As[ty], *b = &Bs[0][tx];\na[tx] =",
            "Bs[ty][tx] =": "b[ty * TILE] =",
            "As[ty][k] * Bs[k][tx]": "a[k] * b[k * TILE]",
        },
        "a barrier more, only the rows that exist": {
            STAGED_A: f"barrier(CLK_LOCAL_MEM_FENCE);\n{STAGED_A}",
            "k < TILE;": "k < min(TILE, K - k0);",
        },
    },
    "05.2": {
        "backwards": {"int k = 0; k < BK; k++": "int k = BK - 1; k >= 0; k--"},
        "by a pointer": {"const float b_reg = Bs[k][tx];": "const float b_reg = *(&Bs[0][0] + k * BN + tx);"},
    },
    "05.3": {
        "a barrier more": {"for i in range(0, BK": "cuda.syncthreads()\nfor i in range(0, BK"},
        "rows by subtraction": {"r, c = q // BN, q % BN": "r = q // BN\n        c = q - r * BN"},
    },
    "05.4": {
        "for": {
            "k = 0\nwhile k < BK:": "for k in range(BK):",
            "acc[i] += As[ty + i * THREADS_Y, k]": "acc[i] = acc[i] + As[i * THREADS_Y + ty, k]",
            "    k += 1\n": "",
        },
        "backwards": {"k = 0\nwhile k < BK:": "k = BK - 1\nwhile k >= 0:", "k += 1": "k -= 1"},
    },
    "06.2": {
        "for": {"k = 0\nwhile k < BK:": "for k in range(BK):", "    k += 1\n": ""},
        "backwards": {
            "k = 0\nwhile k < BK:": "for k in range(BK - 1, -1, -1):",
            "    k += 1\n": "",
            SUMS_2D: "for n in range(TM * TN):\n        acc[n // TN, n % TN] += a_reg[n // TN] * b_reg[n % TN]",
        },
    },
    "06.4": {
        "fma": {"acc[i][j] += a_reg[i] * b_reg[j]": "acc[i][j] = fma(a_reg[i], b_reg[j], acc[i][j])"},
        "backwards": {"int k = 0; k < BK; k++": "int k = BK - 1; k >= 0; k--"},
    },
    "09.1": {
        "by name, one row at a time": """
k = 0
while k < BK:
    for i in range(TM):
        r = ty * 4 + i // 4 * 4 * THREADS_Y + i % 4
        a_reg[i, 0], a_reg[i, 1], a_reg[i, 2], a_reg[i, 3] = load4(As, r, k)
    for u in range(4):
        for j in range(0, TN, 4):
            b0, b1, b2, b3 = load4(Bs, k + u, tx * 4 + j * THREADS_X)
            for i in range(TM):
                acc[i, j] += a_reg[i, u] * b0
                acc[i, j + 1] += a_reg[i, u] * b1
                acc[i, j + 2] += a_reg[i, u] * b2
                acc[i, j + 3] += a_reg[i, u] * b3
    k += 4
""",
        "four columns of B at a time": {
            "b_reg[j], b_reg[j + 1], b_reg[j + 2], b_reg[j + 3]": "b_reg[0], b_reg[1], b_reg[2], b_reg[3]",
            SUMS_WIDE: "            for n in range(TM * 4):\n                "
            "acc[n // 4, j + n % 4] += a_reg[n // 4, u] * b_reg[n % 4]",
        },
    },
    "09.2": {
        "if and else": {
            TURNED: "if row < M and k0 + tx < K:\n    As[tx, ty] = A[row, k0 + tx]\nelse:\n    As[tx, ty] = 0\n",
            "for k in range(TILE):": "k = 0\nwhile k < TILE:",
            "Bs[k, tx]\n": "Bs[k, tx]\n    k += 1\n",
        },
        "B first, backwards": BACKWARDS | {TURNED + STAGES_B: STAGES_B + TURNED},
    },
    "10.1": {
        "asks only if there is a next tile": {ASK_A + ASK_B: f"if k0 < K:\n    {ASK_A}    {ASK_B}"},
        "the other tile by its number": {
            STORES: f"now = k0 // TILE % 2 * TILE\n{STORES}",
            ASK_A + ASK_B: ASK_B + ASK_A,
            "now = TILE - now\n": "",
        },
    },
    "12.3": {
        "as packed walks": """
for (int k = 0; k < depth; k++)
    for (int c = 0; c < columns; c += PANEL)
        for (int j = 0; j < TN; j++)
            Bs[c / PANEL][k][j] = load_some(B + (k0 + k) * N + col0 + c + j * VW, columns - c - j * VW);
""",
        "by pointers": """
for (int k = 0; k < depth; k++) {
    __global const float *b = B + (k0 + k) * N + col0;
    int left = columns;
    for (int p = 0; p < BN / PANEL; p++)
        for (int j = 0; j < TN; j++, b += VW, left -= VW) Bs[p][k][j] = left > 0 ? load_some(b, left) : (floatv)(0.0f);
}
""",
    },
    "14.1": {
        "if and else": """
        if (row < M && i + tx < K) sA[ty][tx] = A[row * K + i + tx]; else sA[ty][tx] = 0;
        if (i + ty < K && col < N) sB[ty][tx] = B[(i + ty) * N + col]; else sB[ty][tx] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        int j = TILE;
        while (j-- > 0) tmp = mad(sA[ty][j], sB[j][tx], tmp);
        barrier(CLK_LOCAL_MEM_FENCE);
""",
        "turned in local memory": {"sA[ty][tx]": "sA[tx][ty]", "sA[ty][j]": "sA[j][ty]"},
    },
    "14.2": {
        "sums in C": {"tmp = float32(0)": "C[i, j] = 0", "tmp +=": "C[i, j] +=", "        C[i, j] = tmp\n": ""},
        "narrow again in each round, backwards": {
            "tmp += A[i, k] * B[k, j]": "tmp = np.float32(tmp + A[i, k] * B[k, j])",
            "range(A.shape[1])": "range(A.shape[1] - 1, -1, -1)",
        },
    },
    "15.1": {
        "B first, and a panel for each k": """
def panel_step(me, k0, k1, left, top):
    for k in range(k0, k1):
        b = me.column.bcast(me.B[k - me.of_B[me.i]] if me.i == top else None, top)
        a = me.row.bcast(me.A[:, k - me.of_A[me.j]] if me.j == left else None, left)
        me.C = me.C + np.outer(a, b)
""",
        "all pass something": {" if me.j == left else None": ""},
    },
    "15.2": {
        "seconds by hand": {"4 * over_the_bus(2048, 16384, 32768, 2048, 8192) / 16e9": "0.1845"},
        "what is left of the room": {"BK=8192": "BK=2**24 // 2048"},
    },
    "16.1": {
        "times a truth": {"r + i < rows ? a[i][k] : 0.0f": "a[i][k] * (r + i < rows)"},
        "a GPU's kernel, no products beyond K": """
rung, my_sizes = "prefetched", {}
my_source = opencl_kernel(rung).source.replace("k < BK; k++", "k < min(BK, K - k0); k++")
expected = dict(shared_loads=-917_504)
my_rung = opencl_kernel(my_source, like=rung, **my_sizes)
""",
    },
    "17.1": {
        "B first, by the lane's number": """
mine = '''
for r in range(2):
    for j in range(OVER):
        b[j, r] = Bs[w + lane % 4 + 4 * r, left + 8 * j + lane // 4]
for r in range(4):
    for i in range(DOWN):
        a[i, r] = As[top + 16 * i + lane // 4 + 8 * (r & 1), w + lane % 4 + 4 * (r >> 1)]
for j in range(OVER):
    for i in range(DOWN):
        mma(a[i], b[j], acc[i, j])
w += 8
'''
""",
        "by halves": """
mine = '''
for half in range(2):
    for i in range(DOWN):
        for r in range(2):
            a[i, r + 2 * half] = As[top + 16 * i + group + 8 * r, w + place + 4 * half]
    for j in range(OVER):
        b[j, half] = Bs[w + place + 4 * half, left + 8 * j + group]
for i in range(DOWN):
    for j in range(OVER):
        mma(a[i], b[j], acc[i, j])
w += 8
'''
""",
    },
    "18.1": {
        "addresses that move": """
@triton.jit
def mine(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr):
    row = (tl.program_id(1) * BM + tl.arange(0, BM))[:, None]
    col = (tl.program_id(0) * BN + tl.arange(0, BN))[None, :]
    k = tl.arange(0, BK)
    from_A, from_B = A + row * K + k[None, :], B + k[:, None] * N + col
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        a = tl.load(from_A, mask=(row < M) & (k[None, :] < K - k0), other=0.0)
        b = tl.load(from_B, mask=(k[:, None] < K - k0) & (col < N), other=0.0)
        acc = tl.dot(a, b, acc, PRECISION)
        from_A += BK
        from_B += BK * N
    tl.store(C + row * N + col, acc, mask=(row < M) & (col < N))
""",
        "adds itself": {"acc = tl.dot(a, b, acc, PRECISION)": "acc += tl.dot(a, b, input_precision=PRECISION)"},
    },
    "18.3": {
        "on its side": {"BM=128, BN=64": "BM=64, BN=128"},
        "eight warps": {"BM=128, BN=64, BK=32, stages=4, warps=4": "BM=64, BN=128, BK=16, stages=4, warps=8"},
    },
}

ALL_OF_C = """
for (int row = 0; row < M; row++)
    for (int col = get_global_id(1); col < N; col += get_global_size(1)) {
        float acc = 0.0f;
        for (int k = 0; k < K; k++) acc += A[row * K + k] * B[k * N + col];
        if (row == get_global_id(0)) C[row * N + col] = acc;
    }
"""

# The first of each is what `make test` tries: the judges' own rules are in tests/exercises.
WRONG = {
    "00.1": {
        "whole arrays": ({"out[i] = a[i] + b[i]": "out = a + b"}, "a kernel makes no lists and no arrays"),
        "a whole array in an element": ({"a[i] + b[i]": "a + b"}, "out[i] is one number"),
        "it returns the sum": ({"out[i] = a": "return a"}, "store the number in an array"),
        "no guard": ({"    if i < out.size:\n        out": "    out"}, "loads behind the end of a"),
        "a difference": ({"a[i] + b": "a[i] - b"}, "and the sum of a and b there is"),
    },
    "00.2": {
        "rows of B": ({"B[k, col]": "B[col, k]"}, "loads behind the end of B"),
        "columns of A": ({"A[row, k]": "A[k, row]"}, "it takes A["),
        "whole rows": ({"A[row, k] * B[k, col]": "A[row] * B[:, col]"}, "does not compile"),
    },
    "01.3": {
        "does not wait for the warm-up": ({"    submit()\n    wait()": "    submit()"},
            "✗ It waits"),
        "waits after the clock": ({"        wait()\n": "", "clock() - start)": "clock() - start)\n        wait()"},
            "✗ It waits"),
        "the mean, with the first": ({"    submit()\n    wait()\n    times": "    times", "np.median": "np.mean"},
            "✗ It returns their median"),
        "launches nothing": ({"        submit()\n": "", "    submit()\n": ""}, "✗ It times three"),
    },
    "01.4": {
        "the greatest of both": ({"B)).all()": "B).max()).all()"}, "✗ a small row, too low"),
        "not too high": ({"np.abs(C - exact)": "(C - exact)"}, "✗ a small row, too low"),
        "one u": ({"bound(A, B)": "2.0**-24 * (np.abs(A) @ np.abs(B)) / 1e3"}, "✗ A @ B"),
    },
    "02.1": {
        "x and y of the size exchanged": ({"get_local_size(0)": "get_local_size(2)",
            "get_local_size(1)": "get_local_size(0)", "size(2)": "size(1)"}, "unwritten"),
        "the place in the group alone": ({ROW: "get_local_id(0)"}, "row 4 first"),
        "x and y exchanged": (f"size_t row = {COL};\nsize_t col = {ROW};", "x and y swapped"),
    },
    "02.2": {
        "a comma index": ({"A[row * K + k]": "A[row, k]"}, "wrong row"),
        "stores nothing": ({"C[row * N + col] = acc;": "acc += 0;"}, "nothing stored"),
        "all of a column by every thread": (ALL_OF_C, "its loops are here"),
    },
    "02.3": {
        "no copy back": ({"    cl.enqueue_copy(queue, C, d_C)\n": ""}, "must be copied back"),
        "one work-group too few": ({"ceil_div(M, 16) * 16": "max(16, M // 16 * 16)"}, "C[992, 0] is the first"),
        "M and N exchanged": ({"np.int32(M), np.int32(N),": "np.int32(N), np.int32(M),"}, "by_hand is wrong"),
        "no whole number of groups": ({"(ceil_div(M, 16) * 16, ceil_div(N, 4) * 4)": "(M, N)"},
            "counts work-items, not groups"),
        "C.size for nbytes": ({"naive_cl(": "0 and naive_cl(", "C.nbytes": "C.size"}, "its size is in bytes, C.nbytes"),
    },
    "03.0": {
        "as it was": ("row, col = cuda.grid(2)", "x and y swapped"),
        "right, and x runs down a column": (
            "x, y = cuda.grid(2)\nwide, high = cuda.gridsize(2)\nn = y * wide + x\nrow, col = n % high, n // high",
            "not coalesced",
        ),
        "threads beyond C do its last row and column again": (
            "x, y = cuda.grid(2)\ncol, row = min(x, B.shape[1] - 1), min(y, A.shape[0] - 1)",
            "too many loads",
        ),
    },
    "04.0": {
        "always the first tile": ({"A[row, k0 + tx]": "A[row, tx]"}, "A is the first one in every round"),
        "always the first block": ({"A[row, k0 + tx]": "A[ty, k0 + tx]"}, "C[4, 0] holds the sum for C[0, 0]"),
        "no guards": (
            {" if row < M and k0 + tx < K else float32(0)": "", " if k0 + ty < K and col < N else float32(0)": ""},
            "out of bounds",
        ),
        "half a guard": ({"row < M and k0 + tx < K": "row < M"}, "out of bounds"),
    },
    "04.1": {
        "128 rounds": ({"A.shape[1], TPB": "128, TPB"}, "only the first 128 of"),
        "no step": ({"range(0, A.shape[1], TPB)": "range(A.shape[1] // TPB + 1)"}, "where the next one begins"),
        "one round only": ({"A.shape[1], TPB": "TPB, TPB"}, "K is cut"),
        "from the second tile on": ({"range(0, A.shape[1], TPB)": "range(TPB, A.shape[1], TPB)"}, "are missing"),
        "no second barrier": ({"A.shape[1], TPB": "A.shape[1], TPB",
            "sB[j, ty]\n        cuda.syncthreads()": "sB[j, ty]"}, "race"),
    },
    "04.2": {
        "tiles of its own": ({"__local float As": "float As"}, "Nothing here is __local: As is"),
        "a guard for memory, not for A": ({"(row < M && k0 + tx < K)": "(row * K + k0 + tx < M * K)"},
            "too many loads: 1,856 from global memory at 15 x 15 x 15"),
        "a comma index in A": ({"A[row * K + k0 + tx]": "A[row, k0 + tx]"}, "wrong row"),
        "another acc": ({"for (int k =": "float acc = 0;\nfor (int k ="}, "zeros"),
    },
    "05.2": {
        "a sum too few": ({"i < TM": "i < TM - 1"}, "loops over a thread's own elements"),
        "one sum for all rows": ({"acc[i]": "acc[0]"}, "wrong numbers"),
    },
    "05.3": {
        "each thread one number": ({"q = thread + uint32(i)": "q = thread"}, "uninitialised"),
    },
    "05.4": {
        "each product reads Bs": ({"* b_reg": "* Bs[k, tx]"}, "too many loads"),
    },
    "06.2": {
        "one loop for both lists": (
            {"    for j in range(TN):\n        b_reg[j] = Bs[k, tx + j *": "        b_reg[i] = Bs[k, tx + i *"},
            "one of these local arrays",
        ),
        "columns beside each other": ({"tx + j * THREADS_X": "tx * TN + j"}, "wrong column"),
    },
    "06.4": {
        "its own sums": ({"float a_reg": "float acc[TM][TN], a_reg"}, "zeros"),
    },
    "09.1": {
        "one round": ({"k += 4": "k += BK"}, "products are missing"),
        "the threads along y as a number": ({"4 * THREADS_Y": "4 * 2"}, "wrong at other sizes"),
    },
    "09.2": {
        "not transposed": (
            {"As[tx, ty] =": "As[ty, tx] =", "As[k, ty]": "As[ty, k]"},
            "not transposed",
        ),
        "roles exchanged": (
            {
                TURNED: "r = cuda.blockIdx.y * TILE + tx\n"
                "As[ty, tx] = A[r, k0 + ty] if r < M and k0 + ty < K else float32(0)\n",
            },
            "not coalesced",
        ),
        "no guard": ({" if row < M and k0 + tx < K else float32(0)": ""}, "out of bounds"),
    },
    "10.1": {
        "its products reach no sum": ({"acc += As": "some = As"}, "zeros"),
        "asks with the old k0": ({"k0 += TILE\n": "", "now = TILE - now": "now = TILE - now\nk0 += TILE"},
            "look at which tile a round takes, and where the next one begins"),
        "asks before it stores": (
            {
                STORES + "cuda.syncthreads()\nk0 += TILE\n" + ASK_A + ASK_B: "k0 += TILE\n"
                + ASK_A
                + ASK_B
                + STORES
                + "cuda.syncthreads()\n"
            },
            "the first K-tile is missing",
        ),
        "asks late for B": ({ASK_B + MULTIPLIES: MULTIPLIES + ASK_B}, "waits"),
    },
    "12.3": {
        "a comma index": ({PACKS: "B[k0 + k, col0 + p * PANEL + j * VW]"}, "out of bounds"),
        "eight for PANEL": ({"p * PANEL": "p * 8"}, "wrong column"),
        "one number in all lanes": ({PACKS: "B[(k0 + k) * N + col0 + p * PANEL + j * VW]"}, "reads outside"),
    },
    "14.1": {
        "the last product only": ({"tmp +=": "tmp ="}, "K is cut"),
        "reads down the columns": (
            """
        const int r = get_group_id(1) * TILE + tx, c = i + ty;
        sA[tx][ty] = (r < M && c < K) ? A[r * K + c] : 0;
        sB[ty][tx] = (i + ty < K && col < N) ? B[(i + ty) * N + col] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < TILE; j++) tmp += sA[ty][j] * sB[j][tx];
        barrier(CLK_LOCAL_MEM_FENCE);
""",
            "coalesced",
        ),
        "a comma index": ({"A[row * K + i + tx]": "A[row, i + tx]"}, "wrong row"),
        "a guard for memory": ({"(row < M && i + tx < K)": "(row * K + i + tx < M * K)"}, "too many loads"),
    },
    "14.2": {
        "a float32 and Python's float": ({"float32(0)": "float32(0) + 0.0"}, "'conversion': 1"),
        "an FMA of 64 bits": ({"float32(0)": "0.0", "A[i, k] *": "np.float64(A[i, k]) *"}, "FMA, float64"),
        "the last one missing": ({"range(A.shape[1])": "range(A.shape[1] - 1)"}, "K is cut"),
        "no guard": ({"if i < C.shape[0] and j < C.shape[1]": "if True"}, "out of bounds"),
    },
    "15.1": {
        "a name of its own": ({"me.C += panel_A": "C = me.C; C = C + panel_A"}, "wrong numbers"),
        "each its own": ({"root=left": "root=me.j", " if me.j == left else None": ""},
            "C of rank (0, 1) is wrong, though as many bytes"),
        "in double precision": ({"k1 - at_A]": "k1 - at_A].astype(float)",
            "me.C += panel_A": "me.C += np.float32(panel_A)"}, "got 48 bytes along its row, not 24"),
        "no owner's beginning": ({"k0 - at_A : k1 - at_A": "k0:k1", "k0 - at_B : k1 - at_B": "k0:k1"},
            "rank (1, 1) got 0 bytes along its row"),
        "the groups exchanged": ({"me.row": "me.line", "me.column": "me.row", "me.line": "me.column"},
            "rank (0, 0) got 36 bytes along its row"),
    },
    "15.2": {
        "a flat block": ({"BM=2048, BK=8192": "BM=512, BK=32768"}, "numbers cross, at most"),
        "too large": ({"BK=8192,": "BK=16384,"}, "33,554,432 numbers stay"),
        "the whole of A": ({"BK=8192,": "BK=32768,"}, "67,108,864 numbers stay"),
        "numbers for bytes": ({"4 * over": "over"}, "0.046 s"),
        "no time": ({"4 * over_the_bus(2048, 16384, 32768, 2048, 8192) / 16e9": "0"}, "0.000 s"),
    },
    "16.1": {
        "a difference": ({"? a[i][k]": "? -a[i][k]"}, "wrong numbers"),
        "never adds to C": ({"my_source = source": "my_source = source.replace('k0 > 0 ? load', 'k0 < 0 ? load')"},
            "K is cut"),
    },
    "17.1": {
        "no use": ({"mma(a[i], b[j], acc[i, j])": "pass"}, "zeros"),
        "B again for each fragment of A": (
            {"        mma(a[i]": "        b[j, 0] = Bs[w + place, left + 8 * j + group]\n        mma(a[i]"},
            "from shared memory",
        ),
        "group and place swapped": ({"row = top + 16 * i + group": "row = top + 16 * i + place"}, "wrong numbers"),
    },
    "18.1": {
        "no mask along K in B": ({"(k[:, None] < K) & (col < N)": "col < N"}, "out of bounds"),
        "TF32 by itself": ({"acc, PRECISION)": "acc)"}, "PRECISION tells tl.dot not to"),
        "no dot": ({"tl.dot(a, b, acc, PRECISION)": "acc + tl.sum(a[:, :, None] * b[None, :, :], 1)"},
            "no matrix units"),
        "each tile twice": (
            {"        acc =": "        a += 0.0 * tl.load(A + row * K, mask=row < M, other=0.0)\n        acc ="},
            "too many loads",
        ),
        "nothing": ({"tl.store(C + row * N + col, acc, mask=(row < M) & (col < N))": "pass"}, "not yet"),
    },
    "18.3": {
        "warps that are none": ({"warps=4": "warps=3"}, "a block has 1, 2, 4"),
        "as it was": ({"BM=128": "BM=64", "stages=4": "stages=3"}, "393,216 bytes loaded, at most 330,000"),
        "too few stages": ({"stages=4": "stages=3"}, "2 copies left, at least 4"),
    },
}  # fmt: skip
