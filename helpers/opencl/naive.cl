// naive: C = A @ B, row-major float32; a work-item computes one element of C.
// x counts the rows, so it runs down a column of C: neighbours in x are far apart in memory.
// Launch: work-group (BM, BN), one work-group for BM rows x BN columns of C.
__kernel void naive(const int M, const int N, const int K,
                    __global const float *A, __global const float *B, __global float *C)
{
    // 1. Which element is mine? (size_t is what get_global_id gives.)
    const size_t row = get_global_id(0);
    const size_t col = get_global_id(1);

    // 2. The grid is made of whole work-groups, so some work-items fall outside C.
    if (row >= M || col >= N) return;

    // 3. One row of A times one column of B.
    float acc = 0.0f;
    for (int k = 0; k < K; k++)
        acc += A[row * K + k] * B[k * N + col];
    C[row * N + col] = acc;
}
