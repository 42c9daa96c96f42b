// vectorized: C = A @ B, row-major float32; loads four numbers at a time, from storage and from workgroup memory.
// Launch: workgroup (BN / TN, BM / TM), one workgroup for BM rows x BN columns of C.
@group(0) @binding(0) var<storage, read> A: array<vec4<f32>>;  // what lies in memory, in fours
@group(0) @binding(1) var<storage, read> B: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> C: array<f32>;
@group(0) @binding(3) var<uniform> sizes: vec3<u32>;  // M, N, K

const INVOCATIONS_X = BN / TN;
const INVOCATIONS_Y = BM / TM;
const INVOCATIONS = INVOCATIONS_X * INVOCATIONS_Y;
// An invocation's pieces of a tile: four rows of four numbers of A, four numbers of B.
const A_PIECES = (BM * BK / 16 + INVOCATIONS - 1) / INVOCATIONS;
const B_PIECES = BK * BN / 4 / INVOCATIONS;
// Transposed, so that an invocation's rows lie side by side.
var<workgroup> As: array<array<vec4<f32>, BM / 4 + 1>, BK>;
var<workgroup> Bs: array<array<vec4<f32>, BN / 4>, BK>;

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

@compute @workgroup_size(INVOCATIONS_X, INVOCATIONS_Y)
fn vectorized(@builtin(local_invocation_id) id: vec3<u32>,
              @builtin(workgroup_id) group: vec3<u32>)
{
    let M = sizes.x; let N = sizes.y; let K = sizes.z;
    let tx = id.x; let ty = id.y; let item = ty * INVOCATIONS_X + tx;
    let row0 = group.y * BM; let col0 = group.x * BN;
    var acc: array<array<vec4<f32>, TN / 4>, TM>;  // zeros, as all variables are at first

    for (var k0 = 0u; k0 < K; k0 += BK) {
        // 1. Each invocation asks for all its pieces, then stores them: it waits once, not for each. Four rows of A
        // are transposed in registers, since a store writes a whole vector.
        var a_new: array<mat4x4<f32>, A_PIECES>;
        var b_new: array<vec4<f32>, B_PIECES>;
        for (var p = 0u; p < A_PIECES; p++) {
            let q = item + p * INVOCATIONS;
            if (q < BM * BK / 16) {
                let r = q / (BK / 4) * 4; let c = q % (BK / 4) * 4;
                for (var i = 0u; i < 4; i++) { a_new[p][i] = four_of_A(row0 + r + i, k0 + c); }
            }
        }
        for (var p = 0u; p < B_PIECES; p++) {
            let q = item + p * INVOCATIONS;
            b_new[p] = four_of_B(k0 + q / (BN / 4), col0 + q % (BN / 4) * 4);
        }
        for (var p = 0u; p < A_PIECES; p++) {
            let q = item + p * INVOCATIONS;
            if (q < BM * BK / 16) {
                let x = transpose(a_new[p]);
                for (var i = 0u; i < 4; i++) { As[q % (BK / 4) * 4 + i][q / (BK / 4)] = x[i]; }
            }
        }
        for (var p = 0u; p < B_PIECES; p++) {
            let q = item + p * INVOCATIONS;
            Bs[q / (BN / 4)][q % (BN / 4)] = b_new[p];
        }
        // 2. Both tiles are complete before anyone reads them.
        workgroupBarrier();
        // 3. An invocation's rows and columns come in fours that lie side by side.
        for (var k = 0u; k < BK; k++) {
            var b_reg: array<vec4<f32>, TN / 4>;
            for (var j = 0u; j < TN / 4; j++) { b_reg[j] = Bs[k][tx + j * INVOCATIONS_X]; }
            for (var i = 0u; i < TM / 4; i++) {
                let a = As[k][ty + i * INVOCATIONS_Y];
                for (var j = 0u; j < TN / 4; j++) {
                    acc[4 * i][j] += a.x * b_reg[j];
                    acc[4 * i + 1][j] += a.y * b_reg[j];
                    acc[4 * i + 2][j] += a.z * b_reg[j];
                    acc[4 * i + 3][j] += a.w * b_reg[j];
                }
            }
        }
        // 4. Everyone is done reading As, Bs before anyone overwrites them.
        workgroupBarrier();
    }
    for (var i = 0u; i < TM; i++) {
        for (var j = 0u; j < TN / 4; j++) {
            let row = row0 + (ty + i / 4 * INVOCATIONS_Y) * 4 + i % 4; let col = col0 + (tx + j * INVOCATIONS_X) * 4;
            for (var v = 0u; v < 4; v++) {
                if (row < M && col + v < N) { C[row * N + col + v] = acc[i][j][v]; }
            }
        }
    }
}
