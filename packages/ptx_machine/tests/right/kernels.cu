// Right kernels in many styles, for test_right_kernels.py, which says what each computes: 4 blocks of 64 threads read
// a, 256 integers, each of 0 to 255 once, and write o. n is 0 at first, and for what blocks tell each other.
#define T threadIdx.x
#define B blockIdx.x
#define I (B * 64 + T)
#define LANE (T & 31)
#define ALL 0xffffffffu
#define SYNC __syncthreads()
#define KERNEL(name) extern "C" __global__ void name(const int* __restrict__ a, int* o, int* n)

// ---------------------------------------------------------------- prefix sums
KERNEL(scan_blelloch) {
    __shared__ int s[64];
    s[T] = a[I];
    for (int d = 1; d < 64; d *= 2) { SYNC; int k = (T + 1) * 2 * d - 1; if (k < 64) s[k] += s[k - d]; }
    SYNC;
    if (T == 0) s[63] = 0;
    for (int d = 32; d > 0; d /= 2) {
        SYNC;
        int k = (T + 1) * 2 * d - 1;
        if (k < 64) { int held = s[k - d]; s[k - d] = s[k]; s[k] += held; }
    }
    SYNC;
    o[I] = s[T] + a[I];
}
__device__ int warp_scan(int v) {
    for (int d = 1; d < 32; d *= 2) { int w = __shfl_up_sync(ALL, v, d); if (LANE >= d) v += w; }
    return v;
}
KERNEL(scan_by_warps) {
    __shared__ int sums[2];
    int v = warp_scan(a[I]);
    if (LANE == 31) sums[T / 32] = v;
    SYNC;
    o[I] = v + (T >= 32 ? sums[0] : 0);
}
KERNEL(scan_four_to_a_thread) {
    __shared__ int s[16];
    if (T >= 16) return;
    int4 v = reinterpret_cast<const int4*>(a)[B * 16 + T];
    v.y += v.x; v.z += v.y; v.w += v.z;
    s[T] = v.w;
    __syncwarp(0xffff);
    int before = 0;
    for (int i = 0; i < T; ++i) before += s[i];
    reinterpret_cast<int4*>(o)[B * 16 + T] = make_int4(v.x + before, v.y + before, v.z + before, v.w + before);
}
// Blocks add to what the one before them tells: flag and number in one word.
KERNEL(scan_chained) {
    __shared__ int before;
    int v = warp_scan(a[I]);
    __shared__ int sums[2];
    if (LANE == 31) sums[T / 32] = v;
    SYNC;
    if (T == 0) {
        volatile int* word = n;
        int held = 1;
        if (B) while (!(held = word[B - 1])) {}
        before = held - 1;
        word[B] = held + sums[0] + sums[1];
    }
    SYNC;
    o[I] = v + before + (T >= 32 ? sums[0] : 0);
}
// Decoupled look-back: a block's own sum first, then the sum of all until it.
KERNEL(scan_look_back) {
    __shared__ int total, before;
    if (T == 0) total = 0;
    SYNC;
    atomicAdd(&total, a[I]);
    SYNC;
    if (T == 0) {
        volatile int* own = n, *until = n + 8, *state = n + 16;
        own[B] = total;
        __threadfence();
        state[B] = 1;
        int sum = 0;
        for (int at = (int)B - 1; at >= 0; --at) {
            int is;
            while (!(is = state[at])) {}
            __threadfence();
            if (is == 2) { sum += until[at]; break; }
            sum += own[at];
        }
        until[B] = sum + total;
        __threadfence();
        state[B] = 2;
        before = sum;
    }
    SYNC;
    o[I] = before;
}
// ---------------------------------------------------------------- sums
KERNEL(sum_shuffled_xor) {
    __shared__ int s[2];
    int v = a[I];
    for (int d = 1; d < 32; d *= 2) v += __shfl_xor_sync(ALL, v, d);
    if (LANE == 0) s[T / 32] = v;
    SYNC;
    o[I] = s[0] + s[1];
}
KERNEL(sum_of_all_by_the_last_block) {
    __shared__ int s[64];
    __shared__ bool last;
    s[T] = a[I];
    for (int d = 32; d > 0; d /= 2) { SYNC; if (T < d) s[T] += s[T + d]; }
    if (T == 0) {
        n[1 + B] = s[0];
        __threadfence();
        last = atomicAdd(n, 1) == 3;
        __threadfence();
    }
    SYNC;
    if (last && T == 0) o[0] = n[1] + n[2] + n[3] + n[4];
}
KERNEL(sum_of_pairs_of_words) {
    unsigned long long* wide = reinterpret_cast<unsigned long long*>(n);
    atomicAdd(wide, (unsigned long long)a[I] << 32 | 1);
    if (I) return;
    while ((unsigned)atomicAdd(wide, 0ull) != 256) {}
    o[0] = (int)(atomicAdd(wide, 0ull) >> 32);
}
KERNEL(smallest_by_compare_and_swap) {
    __shared__ int s;
    if (T == 0) s = 1 << 30;
    SYNC;
    int held = *(volatile int*)&s, v = a[I];
    while (v < held) { int was = atomicCAS(&s, held, v); if (was == held) break; held = was; }
    SYNC;
    o[I] = s;
}
KERNEL(counted_by_a_barrier) { o[I] = __syncthreads_count(a[I] & 1); }
KERNEL(asked_by_a_barrier) { o[I] = __syncthreads_or(a[I] == 17) * 2 + __syncthreads_and(a[I] >= 0); }
KERNEL(sum_of_floats) {
    __shared__ float s;
    if (T == 0) s = 0.f;
    SYNC;
    atomicAdd(&s, (float)a[I]);
    SYNC;
    o[I] = (int)s;
}
// ---------------------------------------------------------------- sorting
KERNEL(sort_bitonic) {
    __shared__ int s[64];
    s[T] = a[I];
    for (int k = 2; k <= 64; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            SYNC;
            int other = T ^ j;
            if (other > T && (s[T] > s[other]) == ((T & k) == 0)) { int v = s[T]; s[T] = s[other]; s[other] = v; }
        }
    SYNC;
    o[I] = s[T];
}
KERNEL(sort_by_bits) {
    __shared__ int s[64], zeros[2];
    int v = a[I];
    for (int bit = 0; bit < 8; ++bit) {
        unsigned are = __ballot_sync(ALL, v >> bit & 1);
        if (LANE == 0) zeros[T / 32] = 32 - __popc(are);
        SYNC;
        int below = __popc(are & ((1u << LANE) - 1)), all = zeros[0] + zeros[1];
        int before = T >= 32 ? zeros[0] : 0;
        int place = v >> bit & 1 ? all + (T / 32 * 32 - before) + below : before + LANE - below;
        s[place] = v;
        SYNC;
        v = s[T];
    }
    o[I] = v;
}
// ---------------------------------------------------------------- histograms
KERNEL(histogram_shared) {
    __shared__ int many[16];
    if (T < 16) many[T] = 0;
    SYNC;
    atomicAdd(&many[a[I] % 16], 1);
    SYNC;
    if (T < 16) atomicAdd(&o[T], many[T]);
}
KERNEL(histogram_of_who_match) {
    int key = a[I] % 16;
    unsigned same = __match_any_sync(ALL, key);
    if (__ffs(same) - 1 == LANE) atomicAdd(&o[key], __popc(same));
}
KERNEL(histogram_of_own_columns) {
    __shared__ unsigned char many[16][64];
    for (int i = 0; i < 16; ++i) many[i][T] = 0;
    many[a[I] % 16][T] = 1;
    SYNC;
    if (T < 16) { int sum = 0; for (int i = 0; i < 64; ++i) sum += many[T][(i + T) % 64]; atomicAdd(&o[T], sum); }
}
// ---------------------------------------------------------------- locks
KERNEL(lock_of_a_grid) {
    if (T) return;
    while (atomicCAS(n, 0, 1)) {}
    __threadfence();
    o[0] += a[B];
    __threadfence();
    atomicExch(n, 0);
}
KERNEL(lock_by_tickets) {
    if (T % 16) return;
    int mine = atomicAdd(n, 1);
    while (atomicAdd(n + 1, 0) != mine) {}
    __threadfence();
    o[0] += a[I];
    __threadfence();
    atomicAdd(n + 1, 1);
}
KERNEL(lock_for_each_bucket) {
    int bucket = a[I] % 4;
    bool done = T % 4 != 0;
    while (!done) {
        if (atomicCAS(n + bucket, 0, 1) == 0) {
            __threadfence();
            o[bucket] += a[I];
            __threadfence();
            atomicExch(n + bucket, 0);
            done = true;
        }
    }
}
KERNEL(lock_in_a_block) {
    __shared__ int locked, sum;
    if (T == 0) locked = sum = 0;
    SYNC;
    for (bool done = T % 4; !done;) {
        if (atomicExch(&locked, 1) == 0) {
            __threadfence_block();
            sum += a[I];
            __threadfence_block();
            atomicExch(&locked, 0);
            done = true;
        }
    }
    SYNC;
    o[I] = sum;
}
KERNEL(lock_with_acquire) {
    if (T) return;
    int was;
    do asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;" : "=r"(was) : "l"(n) : "memory"); while (was);
    o[0] += a[B];
    asm volatile("st.release.gpu.global.b32 [%0], 0;" ::"l"(n) : "memory");
}
// ---------------------------------------------------------------- queues
KERNEL(queue_between_two_blocks) {  // of four places; block 0 puts in, block 1 takes out
    volatile int* put = n, *taken = n + 1, *places = n + 2;
    if (T || B > 1) return;
    for (int i = 0; i < 20; ++i) {
        if (B == 0) {
            while (i - *taken >= 4) {}
            __threadfence();
            places[i % 4] = a[i];
            __threadfence();
            *put = i + 1;
        } else {
            while (*put <= i) {}
            __threadfence();
            o[i] = places[i % 4];
            __threadfence();
            *taken = i + 1;
        }
    }
}
KERNEL(queue_of_work) {  // each warp asks for the next four numbers
    int at;
    while (true) {
        if (LANE == 0) at = atomicAdd(n, 4);
        at = __shfl_sync(ALL, at, 0);
        if (at >= 256) break;
        if (LANE < 4) o[at + LANE] = a[at + LANE] * 2;
    }
}
KERNEL(queue_of_work_for_blocks) {
    __shared__ int at;
    while (true) {
        if (T == 0) at = atomicAdd(n, 1);
        SYNC;
        int mine = at;
        SYNC;
        if (mine >= 8) break;
        if (T < 32) o[mine * 32 + T] = a[mine * 32 + T] + 1;
    }
}
KERNEL(appended_by_one_of_a_warp) {
    bool keep = a[I] % 3 == 0;
    unsigned who = __ballot_sync(ALL, keep);
    int at;
    if (LANE == 0) at = atomicAdd(n, __popc(who));
    at = __shfl_sync(ALL, at, 0);
    if (keep) o[at + __popc(who & ((1u << LANE) - 1))] = a[I];
}
KERNEL(stack_of_linked_places) {  // n[0]: the top; n[1 + i]: what lies below i
    if (T % 8) return;
    int top = atomicAdd(n, 0), was;
    while (true) {
        atomicExch(n + 1 + I, top);
        if ((was = atomicCAS(n, top, I + 1)) == top) break;
        top = was;
    }
    atomicAdd(o, top ? 1 : 100);
}
// ---------------------------------------------------------------- blocks that wait for blocks
KERNEL(flags_in_a_row) {
    if (T == 0 && B) { while (atomicAdd(n + B - 1, 0) == 0) {} __threadfence(); }
    SYNC;
    o[I] = a[I] + (B ? o[I - 64] : 0);
    __threadfence();
    SYNC;
    if (T == 0) atomicExch(n + B, 1);
}
KERNEL(flags_released_and_acquired) {
    int is;
    if (T == 0 && B)
        do asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(is) : "l"(n + B - 1) : "memory"); while (!is);
    SYNC;
    o[I] = a[I] + (B ? o[I - 64] : 0);
    SYNC;
    if (T == 0) asm volatile("st.release.gpu.global.b32 [%0], 1;" ::"l"(n + B) : "memory");
}
KERNEL(token_in_a_ring) {
    if (T) return;
    for (int round = 0; round < 3; ++round) {
        while (atomicAdd(n, 0) != round * 4 + (int)B) {}
        __threadfence();
        o[0] = o[0] * 3 + a[B];
        __threadfence();
        atomicAdd(n, 1);
    }
}
__device__ void all_blocks(int* n, int round) {
    SYNC;
    if (T == 0) {
        __threadfence();
        atomicAdd(n, 1);
        while (atomicAdd(n, 0) < 4 * round) {}
        __threadfence();
    }
    SYNC;
}
KERNEL(all_blocks_come_together) {
    o[I] = a[I];
    all_blocks(n, 1);
    int v = o[255 - I];
    all_blocks(n, 2);
    o[I] = v + 1;
}
KERNEL(tree_of_blocks) {  // block 1 tells block 0, block 3 tells 2, block 2 tells 0
    if (T) return;
    int sum = a[B];
    for (int d = 1; d < 4; d *= 2) {
        if (B & d) { o[B] = sum; __threadfence(); atomicExch(n + B, 1); return; }
        while (atomicAdd(n + B + d, 0) == 0) {}
        __threadfence();
        sum += o[B + d];
    }
    o[0] = sum;
}
// ---------------------------------------------------------------- tiles
KERNEL(transpose_in_place) {
    o[I] = a[I];
    SYNC;
    int r = T / 8, c = T % 8;
    if (r < c) { int* x = o + B * 64 + r * 8 + c, *y = o + B * 64 + c * 8 + r, v = *x; *x = *y; *y = v; }
}
KERNEL(transpose_by_matrices) {
    unsigned v = a[I] | a[(I + 64) % 256] << 16, t;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(t) : "r"(v));
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(t) : "r"(t));
    o[I] = t & 0xffff;
}
KERNEL(product_of_tiles) {  // 16 x 16, of tiles of 8 x 8
    __shared__ int x[8][8], y[8][8];
    int r = T / 8, c = T % 8, row = B / 2 * 8 + r, column = B % 2 * 8 + c, sum = 0;
    for (int k = 0; k < 16; k += 8) {
        x[r][c] = a[row * 16 + k + c];
        y[r][c] = a[(k + r) * 16 + column];
        SYNC;
        for (int i = 0; i < 8; ++i) sum += x[r][i] * y[i][c];
        SYNC;
    }
    o[row * 16 + column] = sum;
}
KERNEL(product_of_bytes) {  // dot products of four bytes
    __shared__ __align__(4) unsigned char s[256];
    for (int i = T; i < 256; i += 64) s[i] = a[i];
    SYNC;
    const unsigned* word = reinterpret_cast<const unsigned*>(s);
    o[I] = __dp4a(word[T], word[63 - T], B);
}
// ---------------------------------------------------------------- copies on their way, barriers with numbers
KERNEL(copies_in_two_buffers) {
    __shared__ int s[2][64];
    int sum = 0;
    for (int turn = 0; turn <= 4; ++turn) {
        if (turn < 4) {
            unsigned place = (unsigned)__cvta_generic_to_shared(s[turn & 1] + T);
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place), "l"(a + turn * 64 + T) : "memory");
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        if (turn) {
            asm volatile("cp.async.wait_group 1;" ::: "memory");
            SYNC;
            sum += s[1 - (turn & 1)][63 - T];
            SYNC;
        }
    }
    o[I] = sum;
}
KERNEL(one_warp_gives_the_other_takes) {
    __shared__ int s[32];
    for (int turn = 0; turn < 3; ++turn) {
        if (T < 32) {
            if (turn) asm volatile("bar.sync 2, 64;" ::: "memory");
            s[T] = a[I] + turn;
            asm volatile("bar.arrive 1, 64;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            o[I] += s[63 - T];
            if (turn < 2) asm volatile("bar.arrive 2, 64;" ::: "memory");
        }
    }
}
KERNEL(warps_with_barriers_of_their_own) {
    __shared__ int s[64];
    s[T] = a[I];
    asm volatile("bar.sync %0, 32;" ::"r"(T / 32 + 1) : "memory");
    o[I] = s[T ^ 31];
}
KERNEL(barrier_in_memory) {
    __shared__ unsigned long long barrier;
    __shared__ int s[64];
    unsigned place = (unsigned)__cvta_generic_to_shared(&barrier);
    if (T == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(place) : "memory");
    SYNC;
    s[T] = a[I];
    unsigned long long state;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(place) : "memory");
    int over = 0;
    while (!over)
        asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                     : "=r"(over) : "r"(place), "l"(state) : "memory");
    o[I] = s[63 - T];
}
// ---------------------------------------------------------------- warps
KERNEL(warp_of_two_halves) {
    int v = a[I];
    unsigned half = T & 16 ? 0xffff0000u : 0xffffu;
    for (int d = 8; d > 0; d /= 2) v += __shfl_down_sync(half, v, d, 16);
    o[I] = __shfl_sync(half, v, 0, 16);
}
KERNEL(warp_by_shared_memory) {
    __shared__ int s[64];
    int* own = s + T / 32 * 32;
    own[LANE] = a[I];
    __syncwarp();
    for (int d = 16; d > 0; d /= 2) { if (LANE < d) own[LANE] += own[LANE + d]; __syncwarp(); }
    o[I] = own[0];
}
KERNEL(until_none_goes_on) {
    int v = a[I], turns = 0;
    while (__any_sync(ALL, v > 1)) { if (v > 1) v = v & 1 ? 3 * v + 1 : v / 2; ++turns; }
    o[I] = turns;
}
KERNEL(threads_of_a_branch) {
    int v = a[I];
    if (v & 1) { unsigned who = __activemask(); v = __shfl_sync(who, v, __ffs(who) - 1) & 1; }
    o[I] = v;
}
KERNEL(queue_of_two_warps) {
    __shared__ volatile int s[32], ready;
    if (T == 0) ready = 0;
    SYNC;
    if (T < 32) {
        s[T] = a[I];
        __threadfence_block();
        __syncwarp();
        if (T == 0) ready = 1;
    } else {
        while (!ready) {}
        __threadfence_block();
        o[I] = s[63 - T];
    }
}
// ---------------------------------------------------------------- others
KERNEL(threads_that_leave) {
    __shared__ int s[64];
    s[T] = a[I];
    if (T >= 40) return;
    SYNC;
    o[I] = s[39 - T];
}
KERNEL(all_store_the_same) {
    __shared__ int any, s[64];
    any = 0;
    SYNC;
    if (a[I] > 250) any = 1;
    s[T / 2] = T / 2;
    SYNC;
    o[I] = any * 100 + s[T / 2];
}
KERNEL(sieve) {
    __shared__ bool composite[256];
    for (int i = T; i < 256; i += 64) composite[i] = i < 2;
    SYNC;
    for (int i = T + 2; i < 16 && T < 14; ++i) for (int k = 2 * i; k < 256; k += i) composite[k] = true;
    SYNC;
    o[I] = !composite[I];
}
KERNEL(smallest_of_a_group) {  // labels run along neighbours with a like parity until nothing changes
    __shared__ int label[64], changed;
    int odd = a[I] & 1, right = T < 63 && (a[I + 1] & 1) == odd;
    label[T] = T;
    do {
        SYNC;
        if (T == 0) changed = 0;
        SYNC;
        if (right) {
            int low = min(atomicAdd(&label[T], 0), atomicAdd(&label[T + 1], 0));
            if (atomicMin(&label[T], low) > low) atomicExch(&changed, 1);
            if (atomicMin(&label[T + 1], low) > low) atomicExch(&changed, 1);
        }
        SYNC;
    } while (changed);
    o[I] = label[T];
}
__device__ int fibonacci(int k) { return k < 2 ? k : fibonacci(k - 1) + fibonacci(k - 2); }
KERNEL(calls_itself) { o[I] = fibonacci(a[I] % 8); }
__device__ int twice(int v) { return 2 * v; }
__device__ int square(int v) { return v * v; }
__device__ int less(int v) { return v - 1; }
KERNEL(called_by_address) {
    int (*const table[])(int) = {twice, square, less};
    o[I] = table[a[I] % 3](a[I]);
}
KERNEL(array_of_a_threads_own) {
    int own[16];
    for (int i = 0; i < 16; ++i) own[i] = i * a[I];
    int v = 0;
    for (int i = 0; i < 4; ++i) v += own[(a[I] + i) % 16];
    o[I] = v;
}
KERNEL(cases) {
    int v = a[I];
    switch (v % 7) {
        case 0: v += 10; break;
        case 1: v *= 3;  // falls through
        case 2: v -= 1; break;
        case 3: v ^= 255; break;
        case 4: return;
        case 5: v <<= 2; break;
        default: v = -v;
    }
    o[I] = v;
}
struct Pair { short low; char high; };
KERNEL(structures_and_bytes) {
    __shared__ Pair s[64];
    s[T] = {(short)a[I], (char)(T & 7)};
    SYNC;
    Pair other = s[63 - T];
    o[I] = other.low * 8 + other.high;
}
