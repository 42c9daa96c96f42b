"""A product in Triton, the one that the course counts. Needs Triton."""

import triton
import triton.language as tl


@triton.jit
def product(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr):
    """C = A @ B: A (M, K), B (K, N), C (M, N), float32 and row-major; a BM x BN tile of C a program."""
    row = tl.program_id(1) * BM + tl.arange(0, BM)[:, None]
    col = tl.program_id(0) * BN + tl.arange(0, BN)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        a = tl.load(A + row * K + k[None, :], mask=(row < M) & (k[None, :] < K), other=0.0)
        b = tl.load(B + k[:, None] * N + col, mask=(k[:, None] < K) & (col < N), other=0.0)
        acc = tl.dot(a, b, acc, PRECISION)
    tl.store(C + row * N + col, acc, mask=(row < M) & (col < N))
