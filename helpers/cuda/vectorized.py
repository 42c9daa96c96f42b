from numba import cuda, float32, uint32

from helpers.launch import load4, store4


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

    @cuda.jit
    def kernel(A, B, C):
        M, K = A.shape
        N = B.shape[1]
        # Turned round, so that a thread's rows lie side by side; 4 wider, so that staging has no bank conflicts.
        As = cuda.shared.array((BK, WIDE), float32, alignment=16)
        Bs = cuda.shared.array((BK, BN), float32, alignment=16)
        tx, ty = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
        thread = ty * uint32(THREADS_X) + tx
        row0, col0 = uint32(cuda.blockIdx.y * BM), uint32(cuda.blockIdx.x * BN)
        a_reg = cuda.local.array(TM, float32)
        b_reg = cuda.local.array(TN, float32)
        acc = cuda.local.array((TM, TN), float32)
        for i in range(TM):
            for j in range(TN):
                acc[i, j] = 0

        k0 = 0
        while k0 < K:
            # 1. Each thread brings four numbers at a time. Two threads share a row of A: 32 bytes, different banks.
            for q in range(0, BM * BK // 4, THREADS):
                r, c = (thread + q) // 2 % BM, (thread + q) // (2 * BM) * 8 + (thread + q) % 2 * 4
                As[c, r], As[c + 1, r], As[c + 2, r], As[c + 3, r] = four(A, row0 + r, k0 + c)
            for q in range(0, BK * BN // 4, THREADS):
                r, c = (thread + q) // (BN // 4), (thread + q) % (BN // 4) * 4
                store4(Bs, r, c, four(B, k0 + r, col0 + c))
            cuda.syncthreads()  # 2. Both tiles are complete before anyone reads them.
            # 3. A thread's rows and columns come in fours that lie side by side.
            k = 0
            while k < BK:
                for i in range(0, TM, 4):
                    a_reg[i], a_reg[i + 1], a_reg[i + 2], a_reg[i + 3] = load4(As, k, ty * 4 + i * THREADS_Y)
                for j in range(0, TN, 4):
                    b_reg[j], b_reg[j + 1], b_reg[j + 2], b_reg[j + 3] = load4(Bs, k, tx * 4 + j * THREADS_X)
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
                if row < M and col < N:
                    C[row, col] = acc[i, j]

    return kernel
