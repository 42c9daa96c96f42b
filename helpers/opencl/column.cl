// column: C = A @ B, row-major float32, for a CPU and a B of one column; a work-item alone computes TM rows of C.
// Launch: work-groups of one work-item, one for TM x 1. VW floats fill one vector register.
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define floatv JOIN(float, VW)
#define vloadv JOIN(vload, VW)
#define vstorev JOIN(vstore, VW)
// Unrolled: an array that a loop indexes is not kept in registers.
#define EACH(i, n) _Pragma("unroll") for (int i = 0; i < n; i++)

// The first n of VW floats, each so far `apart` from the one before, and zeros for the others.
floatv load_some(__global const float *from, const int apart, const int n)
{
    float some[VW];
    for (int v = 0; v < VW; v++) some[v] = v < n ? from[v * apart] : 0.0f;
    return vloadv(0, some);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void column(const int M, const int N, const int K,
            __global const float *A, __global const float *B, __global float *C)
{
    const int row0 = get_group_id(1) * TM, col = get_group_id(0), rows = min(TM, M - row0);
    const int whole = N == 1 && rows == TM ? K / VW * VW : 0;  // as far as nothing must be guarded
    floatv acc[TM];
    EACH(i, TM) acc[i] = 0.0f;

    // 1. The lanes run along K, as rows of A lie. Each number is used once: nothing is packed.
    for (int k = 0; k < whole; k += VW) {
        const floatv b_reg = vloadv(0, B + k);
        EACH(i, TM) acc[i] = fma(vloadv(0, A + (row0 + i) * K + k), b_reg, acc[i]);
    }
    for (int k = whole; k < K; k += VW) {
        const floatv b_reg = load_some(B + k * N + col, N, K - k);
        EACH(i, TM) {
            const floatv a_reg = load_some(A + (row0 + i) * K + k, 1, i < rows ? K - k : 0);
            acc[i] = fma(a_reg, b_reg, acc[i]);
        }
    }
    // 2. Sum the lanes of each row.
    EACH(i, TM) if (i < rows) {
        float sum = 0.0f, lanes[VW];
        vstorev(acc[i], 0, lanes);
        EACH(v, VW) sum += lanes[v];
        C[(row0 + i) * N + col] = sum;
    }
}
