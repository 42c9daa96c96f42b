// coalesced: C = A @ B, row-major float32; one invocation computes one element of C, and x counts the columns.
// Launch: workgroup (BN, BM), as many invocations as cover C.
@group(0) @binding(0) var<storage, read> A: array<f32>;
@group(0) @binding(1) var<storage, read> B: array<f32>;
@group(0) @binding(2) var<storage, read_write> C: array<f32>;
@group(0) @binding(3) var<uniform> sizes: vec3<u32>;  // M, N, K

@compute @workgroup_size(BN, BM)
fn coalesced(@builtin(global_invocation_id) id: vec3<u32>)
{
    let M = sizes.x; let N = sizes.y; let K = sizes.z;
    let row = id.y; let col = id.x;
    if (row < M && col < N) {
        var acc = 0.0;
        for (var k = 0u; k < K; k++) {
            acc += A[row * K + k] * B[k * N + col];
        }
        C[row * N + col] = acc;
    }
}
