// register_2d: C = A @ B, row-major float32; a work-item computes TM x TN elements of C.
// Launch: work-group (BN / TN, BM / TM), one work-group for BM rows x BN columns of C.
#define THREADS_X (BN / TN)
#define THREADS_Y (BM / TM)
#define THREADS (THREADS_X * THREADS_Y)
// Of each tile, all work-items bring as many numbers.
#define EVEN (BM * BK % THREADS == 0 && BK * BN % THREADS == 0)
// Row and column of number q + tx of a tile with W columns. Where whole rows of work-items make a row of the tile, tx
// stands alone: so a CPU's compiler sees that neighbours are neighbours, and loads them as a vector.
#define ROW_OF(q, W) ((W) % THREADS_X == 0 ? (q) / (W) : ((q) + tx) / (W))
#define COLUMN_OF(q, W) ((W) % THREADS_X == 0 ? (q) % (W) + tx : ((q) + tx) % (W))
__kernel __attribute__((reqd_work_group_size(THREADS_X, THREADS_Y, 1)))
void register_2d(const int M, const int N, const int K,
                 __global const float *A, __global const float *B, __global float *C)
{
    __local float As[BM][BK];
    __local float Bs[BK][BN];
    const int tx = get_local_id(0), ty = get_local_id(1);
    const int row0 = get_group_id(1) * BM, col0 = get_group_id(0) * BN;
    float acc[TM][TN];
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j++) acc[i][j] = 0.0f;

    for (int k0 = 0; k0 < K; k0 += BK) {
        // 1. The work-group walks over each tile as it lies: neighbours bring and store neighbours.
        for (int i = 0; i < BM * BK; i += THREADS) {
            const int q = ty * THREADS_X + i, r = ROW_OF(q, BK), c = COLUMN_OF(q, BK);
            if (EVEN || q + tx < BM * BK)  // the compiler knows EVEN, and then leaves the guard out
                As[r][c] = (row0 + r < M && k0 + c < K) ? A[(row0 + r) * K + k0 + c] : 0.0f;
        }
        for (int i = 0; i < BK * BN; i += THREADS) {
            const int q = ty * THREADS_X + i, r = ROW_OF(q, BN), c = COLUMN_OF(q, BN);
            if (EVEN || q + tx < BK * BN)
                Bs[r][c] = (k0 + r < K && col0 + c < N) ? B[(k0 + r) * N + col0 + c] : 0.0f;
        }
        // 2. Both tiles are complete before anyone reads them.
        barrier(CLK_LOCAL_MEM_FENCE);
        // 3. TM + TN values from local memory into registers serve TM x TN products.
        for (int k = 0; k < BK; k++) {
            float a_reg[TM], b_reg[TN];
            for (int i = 0; i < TM; i++) a_reg[i] = As[ty + i * THREADS_Y][k];
            for (int j = 0; j < TN; j++) b_reg[j] = Bs[k][tx + j * THREADS_X];
            for (int i = 0; i < TM; i++)
                for (int j = 0; j < TN; j++) acc[i][j] += a_reg[i] * b_reg[j];
        }
        // 4. Everyone is done reading As, Bs before anyone overwrites them.
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j++) {
            const int row = row0 + ty + i * THREADS_Y, col = col0 + tx + j * THREADS_X;
            if (row < M && col < N) C[row * N + col] = acc[i][j];
        }
}
