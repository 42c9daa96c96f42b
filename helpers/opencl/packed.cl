// packed: C = A @ B, row-major float32, for a CPU; a work-item alone computes BM rows x STRIPS * BN columns of C.
// Launch: work-groups of one work-item, one for each such tile. VW floats fill one vector register.
// Its kernel has 59 lines: a CPU has no neighbours that share the work of packing, so it stands here.
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define floatv JOIN(float, VW)
#define vloadv JOIN(vload, VW)
#define vstorev JOIN(vstore, VW)
// Unrolled: an array that a loop indexes is not kept in registers.
#define EACH(i, n) _Pragma("unroll") for (int i = 0; i < n; i++)
#define PANEL (TN * VW)
#define ONCE (BM == TM)  // a single patch has all rows of the tile, and uses its piece of B only once
#define COPIED (BN >= 4 * PANEL)  // so many patches use the same rows of A that a copy of those pays
#define STEP (COPIED && !ONCE ? VW : 1)
#define HERE(i, j) (r + i < rows ? columns - c - j * VW : 0)  // of vector j in row i of a patch: floats that C has

// The first n of VW floats, and zeros for the others.
floatv load_some(__global const float *from, const int n)
{
    if (n >= VW) return vloadv(0, from);
    float some[VW];
    for (int v = 0; v < VW; v++) some[v] = v < n ? from[v] : 0.0f;
    return vloadv(0, some);
}

void store_some(const floatv x, __global float *to, const int n)
{
    if (n >= VW) { vstorev(x, 0, to); return; }
    float some[VW];
    vstorev(x, 0, some);
    for (int v = 0; v < n; v++) to[v] = some[v];
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void packed(const int M, const int N, const int K,
            __global const float *A, __global const float *B, __global float *C)
{
    __local floatv Bs[BN / PANEL][BK][TN];
    __local floatv As[COPIED ? BK / VW : 1][TM];
    __local const float *copy = (__local const float *)As;
    const int row0 = get_group_id(1) * BM, rows = min(BM, M - row0);
    const int left = get_group_id(0) * STRIPS * BN, right = min(left + STRIPS * BN, N);

    for (int k0 = 0; k0 < K; k0 += BK) {
        const int depth = min(BK, K - k0), whole = (depth + STEP - 1) / STEP * STEP;
        for (int col0 = left; col0 < right; col0 += BN) {
            const int columns = min(BN, right - col0);
            // 1. Pack BK rows of B into panels, in the order of use; not if used only once.
            for (int k = 0; !ONCE && k < depth; k++)
                for (int c = 0; c < columns; c += PANEL)
                    EACH(j, TN) {
                        __global const float *from = B + (k0 + k) * N + col0 + c + j * VW;
                        Bs[c / PANEL][k][j] = load_some(from, columns - c - j * VW);
                    }

            // 2. Zeros below the last row, so that part 5 may take STEP rows at a time.
            for (int k = depth; k < whole; k++)
                for (int c = 0; c < columns; c += PANEL) EACH(j, TN) Bs[c / PANEL][k][j] = 0.0f;

            for (int r = 0; r < rows; r += TM) {
                // 3. TM rows of A, in place or copied by vectors. (Below C, the last row again.)
                __global const float *a[TM];
                EACH(i, TM) a[i] = A + (row0 + min(r + i, rows - 1)) * K + k0;
                for (int k = 0; COPIED && k < depth; k += VW)
                    EACH(i, TM) As[k / VW][i] = load_some(a[i] + k, depth - k);

                for (int c = 0; c < columns; c += PANEL) {
                    // 4. A patch of TM x TN vectors, in registers, begins with what C has by now.
                    __global float *to = C + (row0 + r) * N + col0 + c;
                    floatv acc[TM][TN];
                    EACH(i, TM) EACH(j, TN)
                        acc[i][j] = k0 > 0 ? load_some(to + i * N + j * VW, HERE(i, j)) : 0.0f;

                    // 5. Add outer products: a number of A, in every lane, times each vector of B.
                    for (int k = 0; k < whole; k += STEP) EACH(v, STEP) {
                        floatv b_reg[TN];
                        EACH(j, TN) b_reg[j] = ONCE
                            ? load_some(B + (k0 + k) * N + col0 + c + j * VW, columns - c - j * VW)
                            : Bs[c / PANEL][k + v][j];
                        EACH(i, TM) {
                            const floatv a_reg = COPIED
                                ? copy[k / VW * TM * VW + i * VW + k % VW + v] : a[i][k];
                            EACH(j, TN) acc[i][j] = fma(a_reg, b_reg[j], acc[i][j]);
                        }
                    }

                    // 6. Store the patch.
                    EACH(i, TM) EACH(j, TN) store_some(acc[i][j], to + i * N + j * VW, HERE(i, j));
                }
            }
        }
    }
}
