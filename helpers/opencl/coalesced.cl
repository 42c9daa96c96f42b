// coalesced: C = A @ B, row-major float32; a work-item computes one element of C.
// x counts the columns, so it runs along a row of C: neighbours in x read and write neighbouring addresses.
// Launch: work-group (BN, BM), one work-group for BM rows x BN columns of C.
__kernel void coalesced(const int M, const int N, const int K,
                        __global const float *A, __global const float *B, __global float *C)
{
    // 1. The only change: x is the column, y is the row.
    const size_t col = get_global_id(0);
    const size_t row = get_global_id(1);

    // 2. The grid is made of whole work-groups, so some work-items fall outside C.
    if (row >= M || col >= N) return;

    // 3. Neighbours share A[row, k] and read one unbroken piece of row k of B.
    float acc = 0.0f;
    for (int k = 0; k < K; k++)
        acc += A[row * K + k] * B[k * N + col];
    C[row * N + col] = acc;
}
