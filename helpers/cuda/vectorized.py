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


def vectorized(BM=128, BN=128, BK=16, TM=8, TN=8):
    """Build the CUDA kernel C = A @ B that loads four numbers at a time, from global and from shared memory.

    A (M, K), B (K, N), C (M, N): float32, C-contiguous; any M, N, K >= 1; wide global loads where K, N are multiples of 4.
    Launch: block (BN // TN, BM // TM), grid (ceil_div(N, BN), ceil_div(M, BM)).
    """
    THREADS_X, THREADS_Y = BN // TN, BM // TM
    THREADS, WIDE = THREADS_X * THREADS_Y, BM + 4
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
        # Transposed: a thread's rows lie side by side. 4 wider: stores have no bank conflicts.
        As = cuda.shared.array((BK, WIDE), float32, alignment=16)
        Bs = cuda.shared.array((BK, BN), float32, alignment=16)
        tx, ty = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
        thread = ty * uint32(THREADS_X) + tx
        row0, col0 = uint32(cuda.blockIdx.y * BM), uint32(cuda.blockIdx.x * BN)
        a_new = cuda.local.array((A_FOURS, 4), float32)
        b_new = cuda.local.array((B_FOURS, 4), float32)
        a_reg, b_reg = cuda.local.array(TM, float32), cuda.local.array(TN, float32)
        acc = cuda.local.array((TM, TN), float32)
        for i in range(TM):
            for j in range(TN):
                acc[i, j] = 0

        k0 = 0
        while k0 < A.shape[1]:
            # 1. Each thread asks for all its fours, then stores them: it waits once, not for each.
            fetch(A, B, row0, col0, k0, thread, a_new, b_new)
            for i in range(A_FOURS):
                r, c = swizzled(thread + uint32(i * THREADS))
                for v in range(4):
                    As[c + v, r] = a_new[i, v]
            for i in range(B_FOURS):
                q = thread + uint32(i * THREADS)
                r, c = q // (BN // 4), q % (BN // 4) * 4
                store4(Bs, r, c, (b_new[i, 0], b_new[i, 1], b_new[i, 2], b_new[i, 3]))
            cuda.syncthreads()  # 2. Both tiles are complete before anyone reads them.
            # 3. A thread's rows and columns come in fours that lie side by side.
            k = 0
            while k < BK:
                for i in range(0, TM, 4):
                    x = load4(As, k, ty * 4 + i * THREADS_Y)
                    a_reg[i], a_reg[i + 1], a_reg[i + 2], a_reg[i + 3] = x
                for j in range(0, TN, 4):
                    x = load4(Bs, k, tx * 4 + j * THREADS_X)
                    b_reg[j], b_reg[j + 1], b_reg[j + 2], b_reg[j + 3] = x
                for i in range(TM):
                    for j in range(TN):
                        acc[i, j] += a_reg[i] * b_reg[j]
                k += 1
            cuda.syncthreads()  # 4. Everyone is done reading As, Bs before anyone overwrites them.
            k0 += BK

        for i in range(TM):
            for j in range(TN):
                row = row0 + ty * 4 + i // 4 * 4 * THREADS_Y + i % 4
                col = col0 + tx * 4 + j // 4 * 4 * THREADS_X + j % 4
                if row < C.shape[0] and col < C.shape[1]:
                    C[row, col] = acc[i, j]

    return kernel
