// tiled: C = A @ B, row-major float32;
// a workgroup computes one TILE x TILE tile of C.
// Launch: workgroup (TILE, TILE), one workgroup a tile.
@group(0) @binding(0) var<storage, read> A: array<f32>;
@group(0) @binding(1) var<storage, read> B: array<f32>;
@group(0) @binding(2) var<storage, read_write> C: array<f32>;
@group(0) @binding(3) var<uniform> sizes: vec3<u32>;  // M, N, K

var<workgroup> As: array<array<f32, TILE>, TILE>;
var<workgroup> Bs: array<array<f32, TILE>, TILE>;

@compute @workgroup_size(TILE, TILE)
fn tiled(@builtin(local_invocation_id) id: vec3<u32>,
         @builtin(workgroup_id) group: vec3<u32>)
{
    let M = sizes.x; let N = sizes.y; let K = sizes.z;
    let tx = id.x; let ty = id.y;
    let row = group.y * TILE + ty; let col = group.x * TILE + tx;

    var acc = 0.0;
    for (var k0 = 0u; k0 < K; k0 += TILE) {
        // 1. Everyone stages one element of each tile, outside the matrix a zero; beyond K, 0 x 0 adds nothing.
        As[ty][tx] = 0.0;
        if (row < M && k0 + tx < K) { As[ty][tx] = A[row * K + k0 + tx]; }
        Bs[ty][tx] = 0.0;
        if (k0 + ty < K && col < N) { Bs[ty][tx] = B[(k0 + ty) * N + col]; }

        // 2. Both tiles are complete before anyone reads them.
        workgroupBarrier();

        // 3. TILE products from workgroup memory.
        for (var k = 0u; k < TILE; k++) {
            acc += As[ty][k] * Bs[k][tx];
        }

        // 4. Everyone is done reading As, Bs before anyone overwrites them.
        workgroupBarrier();
    }

    // 5. Invocations outside C helped to stage; only now may they drop out.
    if (row < M && col < N) { C[row * N + col] = acc; }
}
