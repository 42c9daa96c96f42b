from numba import cuda, float32, uint32

from helpers.cuda.intrinsics import await_copies, copy_async, mma_bfloat16, mma_float16, mma_tf32
from helpers.cuda.intrinsics import word_bfloat16, word_float16, word_tf32


def matrix_units(BM=128, BN=128, BK=16, WM=64, WN=32, INPUT="tf32"):
    """Build the CUDA kernel C = A @ B in which a GPU's matrix units multiply tiles, rounded to INPUT, into float32 sums.

    A (M, K), B (K, N), C (M, N): float32, C-contiguous; any M, N, K >= 1. INPUT: "tf32", "float16" or "bfloat16".
    Launch: block (32 lanes; BM // WM * (BN // WN) warps), grid (ceil_div(N, BN), ceil_div(M, BM)).
    """
    word = {"tf32": word_tf32, "float16": word_float16, "bfloat16": word_bfloat16}[INPUT]
    mma = {"tf32": mma_tf32, "float16": mma_float16, "bfloat16": mma_bfloat16}[INPUT]
    HELD = 1 if INPUT == "tf32" else 2  # numbers in a word of 32 bits
    ACROSS, THREADS = BN // WN, 32 * (BM // WM) * (BN // WN)
    WIDE, LONG, DOWN, OVER = BK + 4, BN + 8, WM // 16, WN // 8

    @cuda.jit(device=True)
    def ask(X, row0, col0, thread, tile, rows, columns):  # this thread's copies to a tile; beyond X come zeros
        for i in range(0, rows, THREADS // columns):
            r, c = uint32(thread // columns + i), uint32(thread % columns)
            row, col = uint32(row0 + r), uint32(col0 + c)
            copy_async(tile, r, c, X, row, col, row < X.shape[0] and col < X.shape[1])

    @cuda.jit(launch_bounds=(THREADS, 2))  # so few registers that a multiprocessor has room for two blocks
    def kernel(A, B, C):
        # Two tiles of each: while one is multiplied, copies fill the other.
        # Rows are 4 and 8 numbers longer, so that those of a fragment lie in 32 different banks.
        # A copy to As takes 2 wavefronts, since two rows share 4 banks; one to Bs takes 1.
        As = cuda.shared.array((2, BM, WIDE), float32)
        Bs = cuda.shared.array((2, BK, LONG), float32)
        lane, warp = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
        thread, group, place = warp * uint32(32) + lane, lane // 4, lane % 4
        row0, col0 = uint32(cuda.blockIdx.y * BM), uint32(cuda.blockIdx.x * BN)
        top, left = uint32(warp // ACROSS * WM), uint32(warp % ACROSS * WN)  # of its patch
        a, b = cuda.local.array((DOWN, 4), uint32), cuda.local.array((OVER, 2), uint32)
        x, acc = cuda.local.array(HELD, float32), cuda.local.array((DOWN, OVER, 4), float32)
        for i in range(DOWN):
            for j in range(OVER):
                acc[i, j, 0] = acc[i, j, 1] = acc[i, j, 2] = acc[i, j, 3] = 0

        now, k0 = uint32(0), 0
        ask(A, row0, k0, thread, As[0], BM, BK)
        ask(B, k0, col0, thread, Bs[0], BK, BN)
        while k0 < A.shape[1]:
            # 1. This thread's numbers are there, and everyone's; the other tiles have no reader any more.
            await_copies()
            cuda.syncthreads()
            # 2. Ask for the next tiles now: they travel while these are multiplied.
            k0 += BK
            if k0 < A.shape[1]:
                ask(A, row0, k0, thread, As[now ^ 1], BM, BK)
                ask(B, k0, col0, thread, Bs[now ^ 1], BK, BN)
            k = 0
            while k < BK:
                # 3. Each lane rounds its numbers of 16 rows of A and 8 columns of B into words.
                for i in range(DOWN):
                    for r in range(4):
                        for h in range(HELD):
                            x[h] = As[now, top + i * 16 + group + r % 2 * 8, k + place + 4 * (r // 2 * HELD + h)]
                        a[i, r] = word(x)
                for j in range(OVER):
                    for r in range(2):
                        for h in range(HELD):
                            x[h] = Bs[now, k + place + 4 * (r * HELD + h), left + j * 8 + group]
                        b[j, r] = word(x)
                # 4. The warp's 32 lanes multiply them together: acc += a @ b.
                for i in range(DOWN):
                    for j in range(OVER):
                        mma(a[i], b[j], acc[i, j])
                k += 8 * HELD
            now ^= uint32(1)

        for i in range(DOWN):
            for j in range(OVER):
                for r in range(4):
                    row = row0 + top + i * 16 + group + r // 2 * 8
                    col = col0 + left + j * 8 + place * 2 + r % 2
                    if row < C.shape[0] and col < C.shape[1]:
                        C[row, col] = acc[i, j, r]

    return kernel
