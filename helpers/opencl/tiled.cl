// tiled: C = A @ B, row-major float32; a work-group computes one TILE x TILE tile of C.
// Launch: work-group (TILE, TILE), one work-group a tile.
__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void tiled(const int M, const int N, const int K,
           __global const float *A, __global const float *B, __global float *C)
{
    __local float As[TILE][TILE];
    __local float Bs[TILE][TILE];
    const int tx = get_local_id(0), ty = get_local_id(1);
    const int row0 = get_group_id(1) * TILE, col0 = get_group_id(0) * TILE;
    const int row = row0 + ty, col = col0 + tx;

    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        // 1. Everyone stages one element of each tile; outside the matrix, zeros add nothing.
        As[ty][tx] = (row < M && k0 + tx < K) ? A[row * K + k0 + tx] : 0.0f;
        Bs[ty][tx] = (k0 + ty < K && col < N) ? B[(k0 + ty) * N + col] : 0.0f;

        // 2. Both tiles are complete before anyone reads them.
        barrier(CLK_LOCAL_MEM_FENCE);

        // 3. TILE products from local memory.
        for (int k = 0; k < TILE; k++)
            acc += As[ty][k] * Bs[k][tx];

        // 4. Everyone is done reading As, Bs before anyone overwrites them.
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    // 5. Work-items outside C helped to stage; only now may they drop out.
    if (row < M && col < N) C[row * N + col] = acc;
}
