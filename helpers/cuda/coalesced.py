from numba import cuda, float32


def coalesced():
    """Build the CUDA kernel C = A @ B in which a thread computes one element; x counts the columns.

    A (M, K), B (K, N), C (M, N): float32, C-contiguous; any M, N, K >= 1.
    Launch: block (BN, BM), grid (ceil_div(N, BN), ceil_div(M, BM)).
    x counts the columns, so it runs along a row of C: neighbours in x use neighbouring addresses.
    """

    @cuda.jit
    def kernel(A, B, C):
        # 1. The only change: x is the column, y is the row.
        col, row = cuda.grid(2)

        # 2. The grid is made of whole blocks, so some threads fall outside C.
        if row >= C.shape[0] or col >= C.shape[1]:
            return

        # 3. Neighbours share A[row, k] and read one unbroken piece of row k of B.
        acc = float32(0)
        k = 0
        while k < A.shape[1]:  # `for k in range(...)` would be over four times as long (page 07)
            acc += A[row, k] * B[k, col]
            k += 1
        C[row, col] = acc

    return kernel
