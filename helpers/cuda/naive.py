from numba import cuda, float32


def naive():
    """Build the CUDA kernel C = A @ B in which a thread computes one element; x counts the rows.

    A (M, K), B (K, N), C (M, N): float32, C-contiguous; any M, N, K >= 1.
    Launch: block (BM, BN), grid (ceil_div(M, BM), ceil_div(N, BN)).
    x counts the rows, so it runs down a column of C: neighbours in x are far apart in memory.
    """

    @cuda.jit
    def kernel(A, B, C):
        # 1. Which element is mine?
        row, col = cuda.grid(2)

        # 2. The grid is made of whole blocks, so some threads fall outside C.
        if row >= C.shape[0] or col >= C.shape[1]:
            return

        # 3. One row of A times one column of B.
        acc = float32(0)
        k = 0
        while k < A.shape[1]:  # `for k in range(...)` would be over four times as long (page 07)
            acc += A[row, k] * B[k, col]
            k += 1
        C[row, col] = acc

    return kernel
