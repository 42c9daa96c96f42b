from numba import cuda, float32, uint32

from helpers.cuda.intrinsics import mma_bfloat16, mma_float16, mma_tf32, word_bfloat16, word_float16, word_tf32


def matrix_units(BM=128, BN=128, BK=16, WM=64, WN=32, INPUT="tf32"):
    """Build the CUDA kernel C = A @ B in which a GPU's matrix units multiply tiles, rounded to INPUT, into float32 sums.

    A (M, K), B (K, N), C (M, N): float32, C-contiguous; any M, N, K >= 1. INPUT: "tf32", "float16" or "bfloat16".
    Its kernel has 51 lines: two kinds of words, and three for the places of a fragment.
    Launch: block (32 lanes; BM // WM * (BN // WN) warps), grid (ceil_div(N, BN), ceil_div(M, BM)).
    """
    word = {"tf32": word_tf32, "float16": word_float16, "bfloat16": word_bfloat16}[INPUT]
    mma = {"tf32": mma_tf32, "float16": mma_float16, "bfloat16": mma_bfloat16}[INPUT]
    HELD = 1 if INPUT == "tf32" else 2  # numbers in a word of 32 bits
    WORDS, ACROSS, THREADS = BK // HELD, BN // WN, 32 * (BM // WM) * (BN // WN)
    A_WORDS, B_WORDS = BM * WORDS // THREADS, BN * WORDS // THREADS  # of each thread
    WIDE, LONG, DOWN, OVER = WORDS + 4, BN + 8, WM // 16, WN // 8

    @cuda.jit(device=True)
    def rounded(X, row, col, down, right):  # a word: HELD numbers from (row, col) on; beyond X there are zeros
        numbers = cuda.local.array(HELD, float32)
        for h in range(HELD):
            r, c = uint32(row + h * down), uint32(col + h * right)
            numbers[h] = X[r, c] if r < X.shape[0] and c < X.shape[1] else float32(0)
        return word(numbers)

    @cuda.jit
    def kernel(A, B, C):
        # Rows are 4 and 8 words longer, so that the words of a fragment lie in 32 different banks.
        # Rows of As share 4 banks at a store, which takes 2 wavefronts; one to Bs takes 1.
        As = cuda.shared.array((BM, WIDE), uint32)
        Bs = cuda.shared.array((WORDS, LONG), uint32)
        lane, warp = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
        thread, group, place = warp * uint32(32) + lane, lane // 4, lane % 4
        row0, col0 = uint32(cuda.blockIdx.y * BM), uint32(cuda.blockIdx.x * BN)
        top, left = uint32(warp // ACROSS * WM), uint32(warp % ACROSS * WN)  # of its patch
        a, b = cuda.local.array((DOWN, 4), uint32), cuda.local.array((OVER, 2), uint32)
        acc = cuda.local.array((DOWN, OVER, 4), float32)
        for i in range(DOWN):
            for j in range(OVER):
                acc[i, j, 0] = acc[i, j, 1] = acc[i, j, 2] = acc[i, j, 3] = 0

        k0 = 0
        while k0 < A.shape[1]:
            # 1. The block rounds both tiles, and packs them into words along K.
            for i in range(A_WORDS):
                q = thread + uint32(i * THREADS)
                r, w = q // WORDS, q % WORDS
                As[r, w] = rounded(A, row0 + r, k0 + w * HELD, 0, 1)
            for i in range(B_WORDS):
                q = thread + uint32(i * THREADS)
                w, c = q // BN, q % BN
                Bs[w, c] = rounded(B, k0 + w * HELD, col0 + c, 1, 0)
            cuda.syncthreads()  # 2. Both tiles are complete before anyone reads them.
            w = 0
            while w < WORDS:
                # 3. Each lane takes its words: of 16 rows of A, 8 columns of B, 8 words of K.
                for i in range(DOWN):
                    for r in range(4):
                        a[i, r] = As[top + i * 16 + group + r % 2 * 8, w + place + r // 2 * 4]
                for j in range(OVER):
                    for r in range(2):
                        b[j, r] = Bs[w + place + r * 4, left + j * 8 + group]
                # 4. The warp's 32 lanes multiply them together: acc += a @ b.
                for i in range(DOWN):
                    for j in range(OVER):
                        mma(a[i], b[j], acc[i, j])
                w += 8
            cuda.syncthreads()  # 5. Everyone is done reading As, Bs before anyone overwrites them.
            k0 += BK

        for i in range(DOWN):
            for j in range(OVER):
                for r in range(4):
                    row = row0 + top + i * 16 + group + r // 2 * 8
                    col = col0 + left + j * 8 + place * 2 + r % 2
                    if row < C.shape[0] and col < C.shape[1]:
                        C[row, col] = acc[i, j, r]

    return kernel
