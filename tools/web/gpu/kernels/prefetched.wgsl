// prefetched: C = A @ B, row-major float32; brings the next tile while it multiplies this one, a compact patch a warp.
// Launch: workgroup (lanes of a warp, warps), one workgroup for BM rows x BN columns of C.
@group(0) @binding(0) var<storage, read> A: array<vec4<f32>>;  // what lies in memory, in fours
@group(0) @binding(1) var<storage, read> B: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> C: array<f32>;
@group(0) @binding(3) var<uniform> sizes: vec3<u32>;  // M, N, K

const LANES_Y = WM / TM;
const LANES_X = WN / TN;
const LANES = LANES_Y * LANES_X;
const PAIRS = LANES_Y % 2 == 0;
const WARPS = BM / WM * (BN / WN);
const INVOCATIONS = WARPS * LANES;
// An invocation's pieces of a tile: four rows of four numbers of A, four numbers of B.
const A_PIECES = (BM * BK / 16 + INVOCATIONS - 1) / INVOCATIONS;
const B_PIECES = BK * BN / 4 / INVOCATIONS;
// Two tiles of each: while one is multiplied, the other may be filled.
var<workgroup> As: array<array<vec4<f32>, BM / 4 + 1>, 2 * BK>;
var<workgroup> Bs: array<array<vec4<f32>, BN / 4>, 2 * BK>;
// This invocation's pieces of the next tiles.
var<private> a_next: array<mat4x4<f32>, A_PIECES>;
var<private> b_next: array<vec4<f32>, B_PIECES>;

// A[row, col .. col + 3], one load where rows begin on 16 bytes; zeros outside A.
fn four_of_A(row: u32, col: u32) -> vec4<f32>
{
    let rows = sizes.x; let columns = sizes.z; let at = row * columns + col;
    if (row >= rows || col >= columns) { return vec4<f32>(); }
    if (columns % 4 == 0) { return A[at / 4]; }
    var x: vec4<f32>;
    for (var v = 0u; v < min(4, columns - col); v++) { x[v] = A[(at + v) / 4][(at + v) % 4]; }
    return x;
}

// B[row, col .. col + 3], likewise.
fn four_of_B(row: u32, col: u32) -> vec4<f32>
{
    let rows = sizes.z; let columns = sizes.y; let at = row * columns + col;
    if (row >= rows || col >= columns) { return vec4<f32>(); }
    if (columns % 4 == 0) { return B[at / 4]; }
    var x: vec4<f32>;
    for (var v = 0u; v < min(4, columns - col); v++) { x[v] = B[(at + v) / 4][(at + v) % 4]; }
    return x;
}

// Ask for the tiles that begin at k0 now; they are wanted after the next multiplications.
fn fetch(row0: u32, col0: u32, k0: u32, item: u32)
{
    for (var p = 0u; p < A_PIECES; p++) {
        let q = item + p * INVOCATIONS;
        if (q < BM * BK / 16) {
            for (var i = 0u; i < 4; i++) { a_next[p][i] = four_of_A(row0 + q / (BK / 4) * 4 + i, k0 + q % (BK / 4) * 4); }
        }
    }
    for (var p = 0u; p < B_PIECES; p++) {
        let q = item + p * INVOCATIONS;
        b_next[p] = four_of_B(k0 + q / (BN / 4), col0 + q % (BN / 4) * 4);
    }
}

@compute @workgroup_size(LANES, WARPS)
fn prefetched(@builtin(local_invocation_id) id: vec3<u32>,
              @builtin(workgroup_id) group: vec3<u32>)
{
    let M = sizes.x; let N = sizes.y; let K = sizes.z;
    let lane = id.x; let warp = id.y; let item = warp * LANES + lane;
    let row0 = group.y * BM; let col0 = group.x * BN;
    // LANES invocations, on a GPU a warp, own a patch of WM x WN. Rows and columns come in fours: ty, tx count those.
    // Lanes n, n ^ 1 share columns, n, n ^ 2 rows: half as many wavefronts.
    let y = select(lane % LANES_Y, lane % 2 + lane / (2 * LANES_X) * 2, PAIRS);
    let x = select(lane / LANES_Y, lane / 2 % LANES_X, PAIRS);
    let ty = warp / (BN / WN) * (WM / 4) + y; let tx = warp % (BN / WN) * (WN / 4) + x;
    var acc: array<array<vec4<f32>, TN / 4>, TM>;  // zeros, as all variables are at first

    fetch(row0, col0, 0, item);
    var now = 0u;
    for (var k0 = 0u; k0 < K; k0 += BK) {
        // 1. Take what was asked for, and wait if it is still on its way: into one half.
        for (var p = 0u; p < A_PIECES; p++) {
            let q = item + p * INVOCATIONS;
            if (q < BM * BK / 16) {
                let x = transpose(a_next[p]);
                for (var i = 0u; i < 4; i++) { As[now + q % (BK / 4) * 4 + i][q / (BK / 4)] = x[i]; }
            }
        }
        for (var p = 0u; p < B_PIECES; p++) {
            let q = item + p * INVOCATIONS;
            Bs[now + q / (BN / 4)][q % (BN / 4)] = b_next[p];
        }
        // 2. This half is complete before anyone reads it, and the other has no reader any more.
        workgroupBarrier();
        // 3. Ask for the next tile now: its numbers travel while this one is multiplied.
        fetch(row0, col0, k0 + BK, item);
        // 4. Multiply.
        for (var k = 0u; k < BK; k++) {
            var b_reg: array<vec4<f32>, TN / 4>;
            for (var j = 0u; j < TN / 4; j++) { b_reg[j] = Bs[now + k][tx + j * LANES_X]; }
            for (var i = 0u; i < TM / 4; i++) {
                let a = As[now + k][ty + i * LANES_Y];
                for (var j = 0u; j < TN / 4; j++) {
                    acc[4 * i][j] += a.x * b_reg[j];
                    acc[4 * i + 1][j] += a.y * b_reg[j];
                    acc[4 * i + 2][j] += a.z * b_reg[j];
                    acc[4 * i + 3][j] += a.w * b_reg[j];
                }
            }
        }
        now = BK - now;
    }
    for (var i = 0u; i < TM; i++) {
        for (var j = 0u; j < TN / 4; j++) {
            let row = row0 + (ty + i / 4 * LANES_Y) * 4 + i % 4; let col = col0 + (tx + j * LANES_X) * 4;
            for (var v = 0u; v < 4; v++) {
                if (row < M && col + v < N) { C[row * N + col + v] = acc[i][j][v]; }
            }
        }
    }
}
