"""Answers to the exercises on kernels: right ones in other styles, and wrong ones of different kinds.

Each is a text that takes the place of the solution, or edits of it, {old: new}. A wrong one comes with what the verdict
on it has to say. Here are those that a judge of the course's own has to tell apart: what any kernel may do wrong is in
tests/judge, and what learners do in the teacher's pages.
"""

STAGES_B = "Bs[ty, tx] = B[k0 + ty, col] if k0 + ty < K and col < N else float32(0)\n"
ASK_A = "a_next = A[row, k0 + tx] if row < M and k0 + tx < K else float32(0)\n"
ASK_B = "b_next = B[k0 + ty, col] if k0 + ty < K and col < N else float32(0)\n"
COMPLETE = "cuda.syncthreads()  # both tiles are complete\n"
NEXT = "fetch(A, B, row0, col0, k0 + BK, thread, a_new, b_new)\n"
STORES = "As[now + ty, tx], Bs[now + ty, tx] = a_next, b_next\n"
MULTIPLIES = "for k in range(TILE):\n    acc += As[now + ty, k] * Bs[uint32(now + k), tx]\n"
SUMS_2D = "for i in range(TM):\n        for j in range(TN):\n            acc[i, j] += a_reg[i] * b_reg[j]"
BACKWARDS = {"range(TILE)": "range(TILE - 1, -1, -1)"}

WITHIN = "bool((np.abs(C - exact) <= bound(A, B)).all())"

RIGHT = {
    "00.1": {
        "it returns early": {"    if i < out.size:\n        out": "    if i >= out.size:\n        return\n    out"},
    },
    "01.3": {
        "the first one thrown away": {
            "    submit()\n    wait()\n    times = []": "    times = []",
            "np.median(times)": "np.median(times[1:])",
        },
        "warm for three launches, then three": {
            "    submit()\n    wait()\n    times": "    for _ in range(3):\n        submit(), wait()\n    times",
            "range(9)": "range(3)",
        },
    },
    "01.4": {"their ratio": {WITHIN: "(np.abs(C - exact) / bound(A, B)).max() <= 1"}},
    "02.1": {
        "from the other end": {
            "get_group_id(0) * get_local_size(0) + get_local_id(0)": "get_global_size(0) - 1 - get_global_id(0)",
        },
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
    },
    "02.3": {
        "arguments set first": {
            "naive_cl(queue, global_size, (16, 4), np.int32(M), np.int32(N), np.int32(K), d_A, d_B, d_C)": (
                "naive_cl.set_args(np.int32(M), np.int32(N), np.int32(K), d_A, d_B, d_C)\n"
                "    cl.enqueue_nd_range_kernel(queue, naive_cl, global_size, (16, 4))"
            )
        },
    },
    "03.0": {"from the other end": "x, row = cuda.grid(2)\ncol = cuda.gridsize(2)[0] - 1 - x"},
    "04.0": {
        "if and else": {
            STAGES_B: "if k0 + ty < K and col < N:\n    Bs[ty, tx] = B[k0 + ty, col]\nelse:\n    Bs[ty, tx] = 0\n"
        },
    },
    "04.2": {
        "by pointers": {
            "As[ty][tx] =": "__local float *a = As[ty], *b = &Bs[0][tx];\na[tx] =",
            "Bs[ty][tx] =": "b[ty * TILE] =",
            "As[ty][k] * Bs[k][tx]": "a[k] * b[k * TILE]",
        },
    },
    "06.2": {
        "backwards": {
            "k = 0\nwhile k < BK:": "for k in range(BK - 1, -1, -1):",
            "    k += 1\n": "",
            SUMS_2D: "for n in range(TM * TN):\n        acc[n // TN, n % TN] += a_reg[n // TN] * b_reg[n % TN]",
        },
    },
    "09.2": {
        "columns first, backwards": {
            "    for j in range(0, TN, 4):": "    for n in range(0, TN, 4):\n        j = TN - 4 - n",
            SUMS_2D: "for n in range(TM * TN):\n        acc[n // TN, n % TN] += a_reg[n // TN] * b_reg[n % TN]",
        },
    },
    "09.3": {"by vload4": {"As[k][ty + i * THREADS_Y]": "vload4(ty + i * THREADS_Y, (__local float *)As[k])"}},
    "10.2": {"asks above the barrier": {f"{COMPLETE}{NEXT}": f"{NEXT}{COMPLETE}"}},
    "10.3": {
        "asks only if there is a next tile": {ASK_A + ASK_B: f"if k0 < K:\n    {ASK_A}    {ASK_B}"},
        "the other tile by its number": {
            STORES: f"now = k0 // TILE % 2 * TILE\n{STORES}",
            ASK_A + ASK_B: ASK_B + ASK_A,
            "now = TILE - now\n": "",
        },
    },
    "14.1": {"turned in local memory": {"sA[ty][tx]": "sA[tx][ty]", "sA[ty][j]": "sA[j][ty]"}},
    "16.2": {
        "slices that take K-tiles in turns": {
            "const int first = slice * deep, last = first + deep;": "const int first = slice * TILE, last = K;",
            "check(": "in_turns = parts_cl.source.replace('k0 += TILE', 'k0 += whole')\n"
            "parts_cl = opencl_kernel(in_turns, like='tiled')\ncheck(",
        },
    },
    "16.3": {"groups of ten, by divmod": {"GROUP = 8": "GROUP = 10"}},
    "17.2": {
        "the large product first, and the fourth": {
            "    mma_tf32(a_small, b, acc)": "    mma_tf32(a, b, acc)\n    mma_tf32(a_small, b, acc)",
            '    mma_tf32(a, b, acc)\n"': '    mma_tf32(a_small, b_small, acc)\n"',
        },
    },
    "18.2": {
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
    },
    "18.3": {
        "an index by hand, and a sum": {
            "ct.num_tiles(A, axis=1, shape=(BM, BK))": "ct.cdiv(A.shape[1], BK)",
            "acc = ct.mma(a, b, acc)": "acc = acc + ct.mma(a, b, ct.zeros((BM, BN), ct.float32))",
        },
    },
}

WRONG = {
    "00.1": {
        "a whole array in an element": ({"a[i] + b[i]": "a + b"}, "out[i] is one number"),
        "no guard, and two threads for an element": (
            {"    if i < out.size:\n        out[i]": "    out[i // 2]"},
            "loads past the end of a",
        ),
    },
    "01.3": {
        "does not wait for the warm-up": ({"    submit()\n    wait()": "    submit()"}, "✗ It waits"),
        "waits after the clock": (
            {"        wait()\n": "", "clock() - start)": "clock() - start)\n        wait()"},
            "✗ It waits",
        ),
        "launches nothing": ({"        submit()\n": "", "    submit()\n": ""}, "✗ It times three"),
    },
    "01.4": {
        "the greatest of both": ({"B)).all()": "B).max()).all()"}, "✗ a small row, too low"),
        "not too high": ({"np.abs(C - exact)": "(C - exact)"}, "✗ a small row, too low"),
        "one u": ({"bound(A, B)": "2.0**-24 * (np.abs(A) @ np.abs(B)) / 1e3"}, "✗ A @ B"),
    },
    "02.3": {
        "no whole number of groups": (
            {"(ceil_div(M, 16) * 16, ceil_div(N, 4) * 4)": "(M, N)"},
            "counts work-items, not groups",
        ),
        "C.size for nbytes": (
            {"naive_cl(": "0 and naive_cl(", "C.nbytes": "C.size"},
            "its size is in bytes, C.nbytes",
        ),
    },
    "03.0": {
        "threads beyond C do its last row and column again": (
            "x, y = cuda.grid(2)\ncol, row = min(x, B.shape[1] - 1), min(y, A.shape[0] - 1)",
            "too many loads",
        ),
    },
    "04.2": {
        "tiles of its own": ({"__local float As": "float As"}, "Nothing here is __local: As is"),
        "a guard for memory, not for A": (
            {"(row < M && k0 + tx < K)": "(row * K + k0 + tx < M * K)"},
            "too many loads: 1,856 from global memory at 15 x 15 x 15",
        ),
    },
    "09.2": {
        "four loads of As": (
            {
                "load4(As, k, ty * 4 + i * THREADS_Y)": ", ".join(
                    f"As[k, ty * 4 + i * THREADS_Y + {v}]" for v in range(4)
                )
            },
            "not wide: as written, a warp asks As 64 times, where 16 wide loads do",
        ),
    },
    "09.3": {
        "one float at a time": (
            {
                "b_reg[j] = Bs[k][tx + j * THREADS_X]": "for (int v = 0; v < 4; v++) "
                "((float *)&b_reg[j])[v] = ((__local float *)Bs[k])[4 * (tx + j * THREADS_X) + v]"
            },
            "not wide: as written, a warp asks Bs 32 times, where 8 wide loads do",
        ),
    },
    "10.2": {
        "after the products": (
            {NEXT: "", 'after = """\n': f'after = """\n{NEXT}'},
            "waits: 0 reads between asking for A and storing it; 16 are there to do",
        ),
    },
    "14.1": {
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
    },
    "17.2": {
        "one product": (
            {"    mma_tf32(a_small, b, acc)\n    mma_tf32(a, b_small, acc)\n": ""},
            "the digits that",
        ),
        "small by small": (
            {"mma_tf32(a, b_small": "mma_tf32(a_small, b_small"},
            "right where TF32 holds each number of B, and wrong where it does not",
        ),
        "a mixed product twice": (
            {"mma_tf32(a_small, b,": "mma_tf32(a, b_small,"},
            "right where TF32 holds each number of A and B, and wrong where it does not",
        ),
        "A and B exchanged": (
            {"mma_tf32(a, b_small": "mma_tf32(b_small, a"},
            "right where TF32 holds each number of B, and wrong where it does not",
        ),
        "nothing taken away": ({"    x[0] -= kept\n": ""}, "each product belongs in the sum once"),
        "no word": ({"x[0] -= kept\n    small[i, r] = word_tf32(x)": "small[i, r] = x[0] - kept"}, "the digits that"),
    },
    "18.2": {
        "TF32 by itself": ({"acc, PRECISION)": "acc)"}, "PRECISION tells tl.dot not to"),
        "k stays": ({"k = k0 + ": "k = "}, "what they are loaded by never moves"),
        "adds to what has the sum": ({"acc = tl.dot": "acc += tl.dot"}, "so write `acc =`"),
        "a new sum in each turn": ({"b, acc, PRECISION)": "b, None, PRECISION)"}, "begins them anew"),
        "x and y swapped": (
            {"tl.program_id(1) * BM": "tl.program_id(0) * BM", "tl.program_id(0) * BN": "tl.program_id(1) * BN"},
            "does x count the tiles of a row?",
        ),
        "B by K": ({"B + k[:, None] * N": "B + k[:, None] * K"}, "B is read as if its rows had K elements, not N"),
        "no dot": (
            {"tl.dot(a, b, acc, PRECISION)": "acc + tl.sum(a[:, :, None] * b[None, :, :], 1)"},
            "no matrix units",
        ),
        "each tile twice": (
            {"        acc =": "        a += 0.0 * tl.load(A + row * K, mask=row < M, other=0.0)\n        acc ="},
            "75,776 bytes of A and B at 64 x 128 x 48, where 73,728 do",
        ),
    },
    "18.3": {
        "adds to what has the sum": ({"acc = ct.mma": "acc += ct.mma"}, "so write `acc =`"),
        "K one short": ({"shape=(BM, BK))": "shape=(BM, BK)) - 1"}, "not all tiles along K are in the sums"),
        "C turned": ({"C, (y, x)": "C, (x, y)"}, "that in row 0, column 1 has what belongs in row 1, column 0"),
        "Triton's word": ({"ct.zeros(": "tl.zeros("}, "`tl` belongs to the other language"),
        "places swapped": ({"B, (k, x)": "B, (x, k)"}, "loads tile (0, 2) of B, which has 3 x 2"),
        "A for B": ({"ct.load(B,": "ct.load(A,"}, "block (1, 0) loads tile (0, 1) of A, which has 4 x 1"),
        "no padding": ({"(BM, BK), padding_mode=ct.PaddingMode.ZERO": "(BM, BK)"}, "padding_mode says what such"),
        "float16 for the sum": (
            {"acc = ct.mma(a, b, acc)": "acc = ct.mma(a, b, acc).astype(ct.float16).astype(ct.float32)"},
            "binary digits; look for a type of fewer",
        ),
        "all tiles at one place": ({"C, (y, x)": "C, (0, 0)"}, "tile does tl.program_id or ct.bid give each"),
        "each tile twice": (
            {"        acc =": "        a = a + ct.load(A, (y, k), (BM, BK)) * 0\n        acc ="},
            "98,304 bytes of A and B at 64 x 128 x 48, where 73,728 do",
        ),
    },
}
