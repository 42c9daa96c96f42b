from numba import cuda, float32, uint32


def tiled(TILE=16):
    """Build the CUDA kernel C = A @ B that stages TILE x TILE tiles in shared memory.

    A (M, K), B (K, N), C (M, N): float32, C-contiguous; any M, N, K >= 1.
    Launch: block (TILE, TILE), grid (ceil_div(N, TILE), ceil_div(M, TILE)).
    """

    @cuda.jit
    def kernel(A, B, C):
        M, K = A.shape
        N = B.shape[1]
        As = cuda.shared.array((TILE, TILE), float32)
        Bs = cuda.shared.array((TILE, TILE), float32)
        # Unsigned: Numba tests a signed index each time, since -1 would mean the last element.
        tx, ty = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
        row, col = cuda.blockIdx.y * TILE + ty, cuda.blockIdx.x * TILE + tx

        acc = float32(0)
        k0 = 0
        while k0 < K:
            # 1. Everyone stages one element of each tile; outside the matrix, zeros add nothing.
            As[ty, tx] = A[row, k0 + tx] if row < M and k0 + tx < K else float32(0)
            Bs[ty, tx] = B[k0 + ty, col] if k0 + ty < K and col < N else float32(0)

            # 2. Both tiles are complete before anyone reads them.
            cuda.syncthreads()

            # 3. TILE products from shared memory.
            for k in range(TILE):
                acc += As[ty, k] * Bs[k, tx]

            # 4. Everyone is done reading As, Bs before anyone overwrites them.
            cuda.syncthreads()
            k0 += TILE

        # 5. Threads outside C helped to stage; only now may they drop out.
        if row < M and col < N:
            C[row, col] = acc

    return kernel
