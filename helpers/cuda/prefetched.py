from numba import cuda, float32, uint32

from helpers.cuda.intrinsics import load4, store4


@cuda.jit(device=True)
def four(X, row, col):
    """X[row, col : col + 4], one 16-byte load where rows begin on 16 bytes; zeros outside X."""
    rows, columns = X.shape
    if row < rows and col < columns and columns % 4 == 0:
        return load4(X, row, col)
    a = X[row, col] if row < rows and col < columns else float32(0)
    b = X[row, col + 1] if row < rows and col + 1 < columns else float32(0)
    c = X[row, col + 2] if row < rows and col + 2 < columns else float32(0)
    d = X[row, col + 3] if row < rows and col + 3 < columns else float32(0)
    return a, b, c, d


def prefetched(BM=128, BN=128, BK=16, TM=8, TN=8, WM=64, WN=32):
    """Build the CUDA kernel C = A @ B that brings the next tile while it multiplies this one, a compact patch a warp.

    A (M, K), B (K, N), C (M, N): float32, C-contiguous; any M, N, K >= 1; wide global loads where K, N are multiples of 4.
    Its kernel has 58 lines, since it has two tiles of each and says which lane has which fours.
    Launch: block (lanes WM // TM * (WN // TN), warps BM // WM * (BN // WN)), grid (ceil_div(N, BN), ceil_div(M, BM)).
    """
    THREADS, LANES_Y, LANES_X = BM // TM * (BN // TN), WM // TM, WN // TN
    LANES, ACROSS, WIDE, ROWS = LANES_Y * LANES_X, BN // WN, BM + 4, 2 * BK
    PAIRS = LANES_Y % 2 == 0
    A_FOURS, B_FOURS = BM * BK // 4 // THREADS, BK * BN // 4 // THREADS  # of each thread

    @cuda.jit(device=True)
    def swizzled(q):  # row and column of four q of a tile of A: two threads share a row, and no two of a warp a bank
        return q // 2 % BM, q // (2 * BM) * 8 + q % 2 * 4

    @cuda.jit(device=True)
    def fetch(A, B, row0, col0, k0, thread, a, b):  # this thread's fours of the tiles that begin at k0
        for i in range(A_FOURS):
            r, c = swizzled(thread + uint32(i * THREADS))
            a[i, 0], a[i, 1], a[i, 2], a[i, 3] = four(A, row0 + r, k0 + c)
        for i in range(B_FOURS):
            q = thread + uint32(i * THREADS)
            r, c = q // (BN // 4), q % (BN // 4) * 4
            b[i, 0], b[i, 1], b[i, 2], b[i, 3] = four(B, k0 + r, col0 + c)

    @cuda.jit
    def kernel(A, B, C):
        # Two tiles of each, one above the other: while one is multiplied, the other may be filled.
        As = cuda.shared.array((ROWS, WIDE), float32, alignment=16)
        Bs = cuda.shared.array((ROWS, BN), float32, alignment=16)
        lane, warp = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
        thread = warp * uint32(LANES) + lane
        row0, col0 = uint32(cuda.blockIdx.y * BM), uint32(cuda.blockIdx.x * BN)
        # LANES threads, on a GPU a warp, own a patch of WM x WN. Rows and columns come in fours,
        # counted by ty, tx. Lanes n, n ^ 1 share columns, n, n ^ 2 rows: half the wavefronts.
        y = lane % 2 + lane // (2 * LANES_X) * 2 if PAIRS else lane % LANES_Y
        x = lane // 2 % LANES_X if PAIRS else lane // LANES_Y
        ty, tx = uint32(warp // ACROSS * (WM // 4) + y), uint32(warp % ACROSS * (WN // 4) + x)
        a_next = cuda.local.array((A_FOURS, 4), float32)
        b_next = cuda.local.array((B_FOURS, 4), float32)
        a_reg, b_reg = cuda.local.array(TM, float32), cuda.local.array(TN, float32)
        acc = cuda.local.array((TM, TN), float32)
        for i in range(TM):
            for j in range(TN):
                acc[i, j] = 0

        now, k0 = uint32(0), 0
        fetch(A, B, row0, col0, k0, thread, a_next, b_next)
        while k0 < A.shape[1]:
            # 1. Take what was asked for, and wait if it is still on its way: into one half.
            for i in range(A_FOURS):
                r, c = swizzled(thread + uint32(i * THREADS))
                for v in range(4):
                    As[now + c + v, r] = a_next[i, v]
            for i in range(B_FOURS):
                q = thread + uint32(i * THREADS)
                r, c = now + q // (BN // 4), q % (BN // 4) * 4
                store4(Bs, r, c, (b_next[i, 0], b_next[i, 1], b_next[i, 2], b_next[i, 3]))
            # 2. This half is complete before anyone reads it; the other has no reader any more.
            cuda.syncthreads()
            # 3. Ask for the next tile now: its numbers travel while this one is multiplied.
            k0 += BK
            fetch(A, B, row0, col0, k0, thread, a_next, b_next)
            # 4. Multiply.
            k = 0
            while k < BK:
                for i in range(0, TM, 4):
                    a = load4(As, now + k, ty * 4 + i * LANES_Y)
                    a_reg[i], a_reg[i + 1], a_reg[i + 2], a_reg[i + 3] = a
                for j in range(0, TN, 4):
                    b = load4(Bs, now + k, tx * 4 + j * LANES_X)
                    b_reg[j], b_reg[j + 1], b_reg[j + 2], b_reg[j + 3] = b
                for i in range(TM):
                    for j in range(TN):
                        acc[i, j] += a_reg[i] * b_reg[j]
                k += 1
            now = uint32(BK) - now

        for i in range(TM):
            for j in range(TN):
                row = row0 + ty * 4 + i // 4 * 4 * LANES_Y + i % 4
                col = col0 + tx * 4 + j // 4 * 4 * LANES_X + j % 4
                if row < C.shape[0] and col < C.shape[1]:
                    C[row, col] = acc[i, j]

    return kernel
