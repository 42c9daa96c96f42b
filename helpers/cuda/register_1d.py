from numba import cuda, float32, uint32


def register_1d(BM=64, BN=32, BK=16, TM=8):
    """Build the CUDA kernel C = A @ B in which a thread owns TM elements of a column of C.

    A (M, K), B (K, N), C (M, N): float32, C-contiguous; any M, N, K >= 1.
    Launch: block (BN, BM // TM), grid (ceil_div(N, BN), ceil_div(M, BM)).
    """
    THREADS_Y = BM // TM
    THREADS = BN * THREADS_Y
    EVEN = BM * BK % THREADS == 0 and BK * BN % THREADS == 0  # of each tile, all threads bring as many numbers

    @cuda.jit
    def kernel(A, B, C):
        M, K = A.shape
        N = B.shape[1]
        As = cuda.shared.array((BM, BK), float32)
        Bs = cuda.shared.array((BK, BN), float32)
        # Unsigned: Numba tests a signed index each time, since -1 would mean the last element.
        tx, ty = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
        thread = ty * uint32(BN) + tx
        row0, col0 = uint32(cuda.blockIdx.y * BM), uint32(cuda.blockIdx.x * BN)

        # My rows are THREADS_Y apart, so that the block as a whole covers every row once.
        acc = cuda.local.array(TM, float32)
        for i in range(TM):
            acc[i] = 0

        k0 = 0
        while k0 < K:
            # 1. The block walks over each tile as it lies: neighbours bring and store neighbours.
            for i in range(0, BM * BK, THREADS):
                q = thread + uint32(i)
                if EVEN or q < BM * BK:  # the compiler knows EVEN, and then leaves the guard out
                    r, c = q // BK, q % BK
                    As[r, c] = A[row0 + r, k0 + c] if row0 + r < M and k0 + c < K else float32(0)
            for i in range(0, BK * BN, THREADS):
                q = thread + uint32(i)
                if EVEN or q < BK * BN:
                    r, c = q // BN, q % BN
                    Bs[r, c] = B[k0 + r, col0 + c] if k0 + r < K and col0 + c < N else float32(0)
            # 2. Both tiles are complete before anyone reads them.
            cuda.syncthreads()
            # 3. One value of B, read once from shared memory, serves TM products.
            k = 0
            while k < BK:
                b_reg = Bs[k, tx]
                for i in range(TM):
                    acc[i] += As[ty + i * THREADS_Y, k] * b_reg
                k += 1
            # 4. Everyone is done reading As, Bs before anyone overwrites them.
            cuda.syncthreads()
            k0 += BK

        for i in range(TM):
            row, col = row0 + ty + i * THREADS_Y, col0 + tx
            if row < M and col < N:
                C[row, col] = acc[i]

    return kernel
