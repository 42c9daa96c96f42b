// prefetched: C = A @ B, row-major float32; brings the next tile while it multiplies this one, a compact patch a warp.
// Launch: work-group (lanes of a warp, warps), one work-group for BM rows x BN columns of C.
// Its kernel has 56 lines, since it has two tiles of each and says which lane has which fours.
#define LANES_Y (WM / TM)
#define LANES_X (WN / TN)
#define LANES (LANES_Y * LANES_X)
#define WARPS (BM / WM * (BN / WN))
#define THREADS (WARPS * LANES)
#define PAIRS (LANES_Y % 2 == 0)
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

__kernel __attribute__((reqd_work_group_size(LANES, WARPS, 1)))
void prefetched(const int M, const int N, const int K,
                __global const float *A, __global const float *B, __global float *C)
{
    // Two tiles of each: while one is multiplied, the other may be filled.
    __local float4 As[2 * BK][BM / 4 + 1];
    __local float4 Bs[2 * BK][BN / 4];
    const int lane = get_local_id(0), warp = get_local_id(1), item = warp * LANES + lane;
    const int row0 = get_group_id(1) * BM, col0 = get_group_id(0) * BN;
    // LANES work-items, on a GPU a warp, own a patch of WM x WN. Rows and columns come in fours,
    // counted by ty, tx. Lanes n, n ^ 1 share columns, n, n ^ 2 rows: half the wavefronts.
    const int y = PAIRS ? lane % 2 + lane / (2 * LANES_X) * 2 : lane % LANES_Y;
    const int x = PAIRS ? lane / 2 % LANES_X : lane / LANES_Y;
    const int ty = warp / (BN / WN) * (WM / 4) + y, tx = warp % (BN / WN) * (WN / 4) + x;
    float4 a_next[A_FOURS], b_next[B_FOURS], acc[TM][TN / 4];
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN / 4; j++) acc[i][j] = 0.0f;

    fetch(M, N, K, A, B, row0, col0, 0, item, a_next, b_next);
    for (int k0 = 0, now = 0; k0 < K; k0 += BK, now = BK - now) {
        // 1. Take what was asked for, and wait if it is still on its way: into one half.
        for (int i = 0, q = item; i < A_FOURS; i++, q += THREADS) {
            const int r = ROW(q), c = now + COL(q);
            ((__local float *)As[c])[r] = a_next[i].s0;
            ((__local float *)As[c + 1])[r] = a_next[i].s1;
            ((__local float *)As[c + 2])[r] = a_next[i].s2;
            ((__local float *)As[c + 3])[r] = a_next[i].s3;
        }
        for (int i = 0, q = item; i < B_FOURS; i++, q += THREADS)
            Bs[now + q / (BN / 4)][q % (BN / 4)] = b_next[i];
        // 2. This half is complete before anyone reads it; the other has no reader any more.
        barrier(CLK_LOCAL_MEM_FENCE);
        // 3. Ask for the next tile now: its numbers travel while this one is multiplied.
        fetch(M, N, K, A, B, row0, col0, k0 + BK, item, a_next, b_next);
        // 4. Multiply.
        for (int k = 0; k < BK; k++) {
            float4 a_reg[TM / 4], b_reg[TN / 4];
            for (int i = 0; i < TM / 4; i++) a_reg[i] = As[now + k][ty + i * LANES_Y];
            for (int j = 0; j < TN / 4; j++) b_reg[j] = Bs[now + k][tx + j * LANES_X];
            for (int i = 0; i < TM / 4; i++)
                for (int j = 0; j < TN / 4; j++) {
                    acc[4 * i][j] += a_reg[i].s0 * b_reg[j];
                    acc[4 * i + 1][j] += a_reg[i].s1 * b_reg[j];
                    acc[4 * i + 2][j] += a_reg[i].s2 * b_reg[j];
                    acc[4 * i + 3][j] += a_reg[i].s3 * b_reg[j];
                }
        }
    }
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN / 4; j++) {
            const int row = row0 + (ty + i / 4 * LANES_Y) * 4 + i % 4;
            const int col = col0 + (tx + j * LANES_X) * 4;
            const float sums[4] = {acc[i][j].s0, acc[i][j].s1, acc[i][j].s2, acc[i][j].s3};
            for (int v = 0; v < 4; v++)
                if (row < M && col + v < N) C[row * N + col + v] = sums[v];
        }
}
