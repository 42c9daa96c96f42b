// register_2d: C = A @ B, row-major float32; an invocation computes TM x TN elements of C.
// Launch: workgroup (BN / TN, BM / TM), one workgroup for BM rows x BN columns of C.
@group(0) @binding(0) var<storage, read> A: array<f32>;
@group(0) @binding(1) var<storage, read> B: array<f32>;
@group(0) @binding(2) var<storage, read_write> C: array<f32>;
@group(0) @binding(3) var<uniform> sizes: vec3<u32>;  // M, N, K

const INVOCATIONS_X = BN / TN;
const INVOCATIONS_Y = BM / TM;
const INVOCATIONS = INVOCATIONS_X * INVOCATIONS_Y;
var<workgroup> As: array<array<f32, BK>, BM>;
var<workgroup> Bs: array<array<f32, BN>, BK>;

@compute @workgroup_size(INVOCATIONS_X, INVOCATIONS_Y)
fn register_2d(@builtin(local_invocation_id) id: vec3<u32>,
               @builtin(workgroup_id) group: vec3<u32>)
{
    let M = sizes.x; let N = sizes.y; let K = sizes.z;
    let tx = id.x; let ty = id.y; let item = ty * INVOCATIONS_X + tx;
    let row0 = group.y * BM; let col0 = group.x * BN;
    var acc: array<array<f32, TN>, TM>;  // zeros, as all variables are at first

    for (var k0 = 0u; k0 < K; k0 += BK) {
        // 1. The workgroup walks over each tile as it lies: neighbours bring and store neighbours.
        for (var q = item; q < BM * BK; q += INVOCATIONS) {
            let r = q / BK; let c = q % BK;
            As[r][c] = 0.0;
            if (row0 + r < M && k0 + c < K) { As[r][c] = A[(row0 + r) * K + k0 + c]; }
        }
        for (var q = item; q < BK * BN; q += INVOCATIONS) {
            let r = q / BN; let c = q % BN;
            Bs[r][c] = 0.0;
            if (k0 + r < K && col0 + c < N) { Bs[r][c] = B[(k0 + r) * N + col0 + c]; }
        }
        // 2. Both tiles are complete before anyone reads them.
        workgroupBarrier();
        // 3. TM + TN values from workgroup memory into registers serve TM x TN products.
        for (var k = 0u; k < BK; k++) {
            var a_reg: array<f32, TM>;
            var b_reg: array<f32, TN>;
            for (var i = 0u; i < TM; i++) { a_reg[i] = As[ty + i * INVOCATIONS_Y][k]; }
            for (var j = 0u; j < TN; j++) { b_reg[j] = Bs[k][tx + j * INVOCATIONS_X]; }
            for (var i = 0u; i < TM; i++) {
                for (var j = 0u; j < TN; j++) { acc[i][j] += a_reg[i] * b_reg[j]; }
            }
        }
        // 4. Everyone is done reading As, Bs before anyone overwrites them.
        workgroupBarrier();
    }
    for (var i = 0u; i < TM; i++) {
        for (var j = 0u; j < TN; j++) {
            let row = row0 + ty + i * INVOCATIONS_Y; let col = col0 + tx + j * INVOCATIONS_X;
            if (row < M && col < N) { C[row * N + col] = acc[i][j]; }
        }
    }
}
