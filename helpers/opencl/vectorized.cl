// vectorized: C = A @ B, row-major float32; loads four numbers at a time, from global and from local memory.
// Launch: work-group (BN / TN, BM / TM), one work-group for BM rows x BN columns of C.
#define THREADS_X (BN / TN)
#define THREADS_Y (BM / TM)
#define THREADS (THREADS_X * THREADS_Y)
#define A_FOURS (BM * BK / 4 / THREADS)
#define B_FOURS (BK * BN / 4 / THREADS)
// Row and column of four q of a tile of A: two work-items share a row, and no two of a warp a bank.
#define ROW(q) ((q) / 2 % BM)
#define COL(q) ((q) / (2 * BM) * 8 + (q) % 2 * 4)

// X[row, col .. col + 3], one 16-byte load where rows begin on 16 bytes; zeros outside X.
float4 four(__global const float *X, const int rows, const int columns, const int row, const int col)
{
    if (row >= rows || col >= columns) return (float4)(0.0f);
    __global const float *x = X + row * columns + col;
    if (columns % 4 == 0) return *(__global const float4 *)x;
    return (float4)(x[0], col + 1 < columns ? x[1] : 0.0f,
                    col + 2 < columns ? x[2] : 0.0f, col + 3 < columns ? x[3] : 0.0f);
}

// This work-item's fours of the tiles that begin at k0.
void fetch(const int M, const int N, const int K, __global const float *A, __global const float *B,
           const int row0, const int col0, const int k0, const int item, float4 *a, float4 *b)
{
    for (int i = 0, q = item; i < A_FOURS; i++, q += THREADS)
        a[i] = four(A, M, K, row0 + ROW(q), k0 + COL(q));
    for (int i = 0, q = item; i < B_FOURS; i++, q += THREADS)
        b[i] = four(B, K, N, k0 + q / (BN / 4), col0 + q % (BN / 4) * 4);
}

__kernel __attribute__((reqd_work_group_size(THREADS_X, THREADS_Y, 1)))
void vectorized(const int M, const int N, const int K,
                __global const float *A, __global const float *B, __global float *C)
{
    // Transposed: a work-item's rows lie side by side. 4 wider: stores have no bank conflicts.
    __local float4 As[BK][BM / 4 + 1], Bs[BK][BN / 4];
    const int tx = get_local_id(0), ty = get_local_id(1), item = ty * THREADS_X + tx;
    const int row0 = get_group_id(1) * BM, col0 = get_group_id(0) * BN;
    float4 a_new[A_FOURS], b_new[B_FOURS], acc[TM][TN / 4];
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN / 4; j++) acc[i][j] = 0.0f;

    for (int k0 = 0; k0 < K; k0 += BK) {
        // 1. Each work-item asks for all its fours, then stores them: it waits once, not for each.
        fetch(M, N, K, A, B, row0, col0, k0, item, a_new, b_new);
        for (int i = 0, q = item; i < A_FOURS; i++, q += THREADS) {
            const int r = ROW(q), c = COL(q);
            ((__local float *)As[c])[r] = a_new[i].s0;
            ((__local float *)As[c + 1])[r] = a_new[i].s1;
            ((__local float *)As[c + 2])[r] = a_new[i].s2;
            ((__local float *)As[c + 3])[r] = a_new[i].s3;
        }
        for (int i = 0, q = item; i < B_FOURS; i++, q += THREADS)
            Bs[q / (BN / 4)][q % (BN / 4)] = b_new[i];
        // 2. Both tiles are complete before anyone reads them.
        barrier(CLK_LOCAL_MEM_FENCE);
        // 3. A work-item's rows and columns come in fours that lie side by side.
        for (int k = 0; k < BK; k++) {
            float4 a_reg[TM / 4], b_reg[TN / 4];
            for (int i = 0; i < TM / 4; i++) a_reg[i] = As[k][ty + i * THREADS_Y];
            for (int j = 0; j < TN / 4; j++) b_reg[j] = Bs[k][tx + j * THREADS_X];
            for (int i = 0; i < TM / 4; i++)
                for (int j = 0; j < TN / 4; j++) {
                    acc[4 * i][j] += a_reg[i].s0 * b_reg[j];
                    acc[4 * i + 1][j] += a_reg[i].s1 * b_reg[j];
                    acc[4 * i + 2][j] += a_reg[i].s2 * b_reg[j];
                    acc[4 * i + 3][j] += a_reg[i].s3 * b_reg[j];
                }
        }
        // 4. Everyone is done reading As, Bs before anyone overwrites them.
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN / 4; j++) {
            const int row = row0 + (ty + i / 4 * THREADS_Y) * 4 + i % 4;
            const int col = col0 + (tx + j * THREADS_X) * 4;
            const float sums[4] = {acc[i][j].s0, acc[i][j].s1, acc[i][j].s2, acc[i][j].s3};
            for (int v = 0; v < 4; v++)
                if (row < M && col + v < N) C[row * N + col + v] = sums[v];
        }
}
