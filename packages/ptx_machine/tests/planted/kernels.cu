// Twenty-four kernels of ten kinds, made for test_planted_faults.py, which says how they are launched. kernels.ptx is what
// NVRTC makes of them for sm_80, without comments.
#define T threadIdx.x
#define B blockIdx.x
#define I (B * 64 + T)
#define KERNEL extern "C" __global__ void
#define ARGS (const float* __restrict__ a, float* o, int* n)
#define LOOP _Pragma("unroll 1") for
#define SYNC __syncthreads()

// ------------------------------------------------ sums of a block
KERNEL sum_tree ARGS {
    __shared__ float s[64];
    s[T] = a[I];
    SYNC;
    LOOP (int d = 32; d > 0; d >>= 1) { if (T < d) s[T] += s[T + d]; SYNC; }
    o[I] = s[0];
}
KERNEL sum_by_warps ARGS {
    __shared__ float s[2];
    float v = a[I];
    LOOP (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(~0u, v, d);
    if (T % 32 == 0) s[T / 32] = v;
    SYNC;
    o[I] = s[0] + s[1];
}
KERNEL sum_in_a_warp ARGS {
    __shared__ float s[64];
    float* mine = s + T / 32 * 32; int l = T % 32;
    mine[l] = a[I];
    __syncwarp();
    LOOP (int d = 16; d > 0; d >>= 1) {
        float v = mine[(l + d) % 32];
        __syncwarp();
        mine[l] += v;
        __syncwarp();
    }
    o[I] = mine[l];
}
KERNEL sum_by_atomics ARGS {
    __shared__ float s;
    if (T == 0) s = 0;
    SYNC;
    atomicAdd(&s, a[I]);
    SYNC;
    o[I] = s;
}
KERNEL mean_and_spread ARGS {
    __shared__ float s[64], m;
    s[T] = a[I];
    SYNC;
    if (T == 0) { float x = 0; LOOP (int i = 0; i < 64; ++i) x += s[i]; m = x / 64; }
    SYNC;
    float e = s[T] - m;
    SYNC;
    s[T] = e * e;
    SYNC;
    if (T == 0) { float x = 0; LOOP (int i = 0; i < 64; ++i) x += s[i]; o[B] = x; }
}
// ------------------------------------------------ prefix sums
KERNEL scan_one_buffer ARGS {
    __shared__ float s[64];
    s[T] = a[I];
    SYNC;
    LOOP (int d = 1; d < 64; d *= 2) {
        float v = T >= d ? s[T - d] : 0.f;
        SYNC;
        s[T] += v;
        SYNC;
    }
    o[I] = s[T ^ 1];
}
KERNEL scan_of_warps ARGS {
    __shared__ float s[2];
    float v = a[I];
    LOOP (int d = 1; d < 32; d *= 2) { float u = __shfl_up_sync(~0u, v, d); if (T % 32 >= d) v += u; }
    if (T % 32 == 31) s[T / 32] = v;
    SYNC;
    o[I] = v + (T >= 32 ? s[0] : 0.f);
}
// ------------------------------------------------ tiles
KERNEL transpose_twice ARGS {
    __shared__ float s[8][9];
    LOOP (int r = 0; r < 2; ++r) {
        s[T / 8][T % 8] = a[r * 64 + T];
        SYNC;
        o[r * 64 + T] = s[T % 8][T / 8];
        SYNC;
    }
}
KERNEL product_two_buffers ARGS {
    __shared__ float x[2][8][8], y[2][8][8];
    int r = T / 8, c = T % 8, w = 0;
    float sum = 0;
    x[0][r][c] = a[r * 16 + c]; y[0][r][c] = a[r * 8 + c];
    SYNC;
    LOOP (int k = 8; k < 32; k += 8) {
        x[1 - w][r][c] = a[(r * 16 + k + c) % 256]; y[1 - w][r][c] = a[((k + r) * 8 + c) % 256];
        LOOP (int i = 0; i < 8; ++i) sum += x[w][r][i] * y[w][i][c];
        w = 1 - w;
        SYNC;
    }
    o[I] = sum;
}
KERNEL stencil ARGS {
    __shared__ float s[66];
    s[T + 1] = a[I];
    if (T == 0) s[0] = B ? a[I - 1] : 0.f;
    if (T == 63) s[65] = B < gridDim.x - 1 ? a[I + 1] : 0.f;
    SYNC;
    o[I] = s[T] + s[T + 1] + s[T + 2];
}
// ------------------------------------------------ histograms and queues
KERNEL histogram ARGS {
    __shared__ int s[8];
    if (T < 8) s[T] = 0;
    SYNC;
    atomicAdd(&s[(int)(a[I] * 8) & 7], 1);
    SYNC;
    if (T < 8) atomicAdd(&n[T], s[T]);
}
KERNEL compact ARGS {
    __shared__ int many;
    if (T == 0) many = 0;
    SYNC;
    float v = a[I];
    int at = -1;
    if (v > 0.5f) at = atomicAdd(&many, 1);
    SYNC;
    if (at >= 0) o[B * 64 + at] = v;
    if (T == 0) n[B] = many;
}
// ------------------------------------------------ rows
KERNEL reversed ARGS {
    extern __shared__ float s[];
    s[T] = a[I];
    SYNC;
    o[I] = s[63 - T];
}
KERNEL broadcast ARGS {
    __shared__ float s;
    LOOP (int r = 0; r < 3; ++r) {
        if (T == r) s = a[I] + r;
        SYNC;
        o[B * 192 + r * 64 + T] = s;
        SYNC;
    }
}
KERNEL warps_hand_on ARGS {
    __shared__ float s[64];
    int l = T % 32;
    s[T] = a[I];
    __syncwarp();
    float v = s[T - l + (l + 1) % 32];
    SYNC;
    s[T] = v;
    SYNC;
    o[I] = s[(T + 32) % 64];
}
// ------------------------------------------------ blocks that wait for others
KERNEL last_block ARGS {
    __shared__ bool last;
    if (T == 0) {
        float x = 0;
        LOOP (int i = 0; i < 64; ++i) x += a[B * 64 + i];
        o[1 + B] = x;
        __threadfence();
        last = atomicAdd(n, 1) == gridDim.x - 1;
    }
    SYNC;
    if (last) {
        __threadfence();
        if (T == 0) { float x = 0; LOOP (int i = 0; i < gridDim.x; ++i) x += o[1 + i]; o[0] = x; }
    }
}
KERNEL last_block_all ARGS {
    __shared__ bool last;
    o[64 + I] = a[I] * 2;
    __threadfence();
    SYNC;
    if (T == 0) last = atomicAdd(n, 1) == gridDim.x - 1;
    SYNC;
    if (!last) return;
    __threadfence();
    float x = 0;
    LOOP (int i = 0; i < gridDim.x; ++i) x += o[64 + i * 64 + T];
    o[T] = x;
}
KERNEL lock ARGS {
    if (T == 0) {
        while (atomicCAS(n, 0, 1)) {}
        __threadfence();
        o[0] += a[I];
        __threadfence();
        atomicExch(n, 0);
    }
}
KERNEL flag ARGS {
    if (T == 0 && B == 0) { o[0] = a[0]; __threadfence(); atomicExch(n, 1); }
    if (T == 0 && B == 1) { while (!atomicAdd(n, 0)) {} __threadfence(); o[1] = o[0]; }
}
KERNEL flag_by_release ARGS {
    if (T == 0 && B == 0) { o[0] = a[0]; asm volatile("st.release.gpu.global.u32 [%0], 1;" :: "l"(n) : "memory"); }
    if (T == 0 && B == 1) {
        int v;
        do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(n) : "memory"); while (!v);
        o[1] = o[0];
    }
}
KERNEL look_back ARGS {
    __shared__ float before;
    if (T == 0) {
        float x = 0;
        LOOP (int i = 0; i < 64; ++i) x += a[B * 64 + i];
        before = 0;
        if (B) { while (!atomicAdd(n + B - 1, 0)) {} __threadfence(); before = o[256 + B - 1]; }
        o[256 + B] = before + x;
        __threadfence();
        atomicExch(n + B, 1);
    }
    SYNC;
    o[I] = a[I] + before;
}
KERNEL grid_barrier ARGS {
    o[I] = a[I];
    SYNC;
    if (T == 0) {
        __threadfence();
        atomicAdd(n, 1);
        while (atomicAdd(n, 0) < (int)gridDim.x) {}
        __threadfence();
    }
    SYNC;
    float v = o[(I + 64) % (64 * gridDim.x)];
    o[256 + I] = v;
}
// ------------------------------------------------ asynchronous copies
KERNEL copies ARGS {
    __shared__ __align__(16) float s[64];
    unsigned to = (unsigned)__cvta_generic_to_shared(s + T);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(a + I) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    SYNC;
    o[I] = s[63 - T];
}
KERNEL copies_in_stages ARGS {
    __shared__ __align__(16) float s[2][64];
    unsigned to = (unsigned)__cvta_generic_to_shared(&s[0][T]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(a + T) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    float sum = 0;
    LOOP (int r = 0; r < 4; ++r) {
        if (r < 3) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                                :: "r"(to + 256 * ((r + 1) & 1)), "l"(a + 64 * (r + 1) + T) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        SYNC;
        sum += s[r & 1][63 - T];
        SYNC;
    }
    o[I] = sum;
}
