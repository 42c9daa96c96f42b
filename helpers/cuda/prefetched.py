from numba import cuda, float32, uint32

from helpers.cuda.vectorized import four
from helpers.launch import load4, store4


def prefetched(BM=128, BN=128, BK=16, TM=8, TN=8, WM=64, WN=32):
    """Build the CUDA kernel C = A @ B that brings the next tile while it multiplies this one, a compact patch a warp.

    A (M, K), B (K, N), C (M, N): float32, C-contiguous; any M, N, K >= 1; wide global loads where K, N are multiples of 4.
    Launch: block (lanes WM // TM * (WN // TN), warps BM // WM * (BN // WN)), grid (ceil_div(N, BN), ceil_div(M, BM)).
    """
    THREADS, LANES_Y, LANES_X = BM // TM * (BN // TN), WM // TM, WN // TN
    LANES, ACROSS, WIDE, HALVES = LANES_Y * LANES_X, BN // WN, BM + 4, 2 * BK
    A_FOURS, B_FOURS = BM * BK // 4 // THREADS, BK * BN // 4 // THREADS

    @cuda.jit(device=True)
    def fetch(A, B, row0, col0, k0, thread, a_next, b_next):
        for i in range(A_FOURS):
            q = thread + uint32(i * THREADS)
            a_next[i, 0], a_next[i, 1], a_next[i, 2], a_next[i, 3] = four(
                A, row0 + q // 2 % BM, k0 + q // (2 * BM) * 8 + q % 2 * 4)
        for i in range(B_FOURS):
            q = thread + uint32(i * THREADS)
            b_next[i, 0], b_next[i, 1], b_next[i, 2], b_next[i, 3] = four(
                B, k0 + q // (BN // 4), col0 + q % (BN // 4) * 4)

    @cuda.jit
    def kernel(A, B, C):
        M, K = A.shape
        N = B.shape[1]
        # Two tiles of each, one above the other: while one is multiplied, the other may be filled.
        As = cuda.shared.array((HALVES, WIDE), float32, alignment=16)
        Bs = cuda.shared.array((HALVES, BN), float32, alignment=16)
        lane, warp = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
        thread = warp * uint32(LANES) + lane
        row0, col0 = uint32(cuda.blockIdx.y * BM), uint32(cuda.blockIdx.x * BN)
        # LANES threads, on a GPU a warp, own a patch of WM x WN; in it, a thread's rows and columns come in fours.
        ty = uint32(warp // ACROSS * WM + lane % LANES_Y * 4)
        tx = uint32(warp % ACROSS * WN + lane // LANES_Y * 4)
        a_next = cuda.local.array((A_FOURS, 4), float32)
        b_next = cuda.local.array((B_FOURS, 4), float32)
        a_reg = cuda.local.array(TM, float32)
        b_reg = cuda.local.array(TN, float32)
        acc = cuda.local.array((TM, TN), float32)
        for i in range(TM):
            for j in range(TN):
                acc[i, j] = 0

        now, k0 = uint32(0), 0
        fetch(A, B, row0, col0, k0, thread, a_next, b_next)
        while k0 < K:
            # 1. Take what was asked for, and wait if it is still on its way: out of the registers, into one half.
            for i in range(A_FOURS):
                q = thread + uint32(i * THREADS)
                r, c = q // 2 % BM, now + q // (2 * BM) * 8 + q % 2 * 4
                As[c, r], As[c + 1, r], As[c + 2, r], As[c + 3, r] = a_next[i, 0], a_next[i, 1], a_next[i, 2], a_next[i, 3]
            for i in range(B_FOURS):
                q = thread + uint32(i * THREADS)
                store4(Bs, now + q // (BN // 4), q % (BN // 4) * 4, (b_next[i, 0], b_next[i, 1], b_next[i, 2], b_next[i, 3]))
            # 2. This half is complete before anyone reads it, and the other has no reader any more.
            cuda.syncthreads()
            # 3. Ask for the next tile now: its numbers travel while this one is multiplied.
            k0 += BK
            fetch(A, B, row0, col0, k0, thread, a_next, b_next)
            # 4. Multiply.
            k = 0
            while k < BK:
                for u in range(2):
                    for i in range(0, TM, 4):
                        a_reg[i], a_reg[i + 1], a_reg[i + 2], a_reg[i + 3] = load4(As, now + k + u, ty + i * LANES_Y)
                    for j in range(0, TN, 4):
                        b_reg[j], b_reg[j + 1], b_reg[j + 2], b_reg[j + 3] = load4(Bs, now + k + u, tx + j * LANES_X)
                    for i in range(TM):
                        for j in range(TN):
                            acc[i, j] += a_reg[i] * b_reg[j]
                k += 2
            now = uint32(BK) - now

        for i in range(TM):
            for j in range(TN):
                row = row0 + ty + i // 4 * 4 * LANES_Y + i % 4
                col = col0 + tx + j // 4 * 4 * LANES_X + j % 4
                if row < M and col < N:
                    C[row, col] = acc[i, j]

    return kernel
