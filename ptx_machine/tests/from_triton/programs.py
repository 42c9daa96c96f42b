"""Programs in Triton that are no products, in the manner of its tutorials: softmax, sort, attention and others.

`python programs.py` writes those that are kept as PTX beside this file; it needs Triton, and no GPU.
"""

import re
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def softmax_kernel(x, y, n, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + column, mask=column < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * n + column, e / tl.sum(e, axis=0), mask=column < n)


@triton.jit
def layer_norm_kernel(x, y, w, b, mean, rstd, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for at in range(0, n, BLOCK):
        c = at + tl.arange(0, BLOCK)
        total += tl.load(x + row * n + c, mask=c < n, other=0.0)
    m = tl.sum(total, axis=0) / n
    squares = tl.zeros([BLOCK], tl.float32)
    for at in range(0, n, BLOCK):
        c = at + tl.arange(0, BLOCK)
        d = tl.where(c < n, tl.load(x + row * n + c, mask=c < n, other=0.0) - m, 0.0)
        squares += d * d
    r = 1 / tl.sqrt(tl.sum(squares, axis=0) / n + eps)
    tl.store(mean + row, m)
    tl.store(rstd + row, r)
    for at in range(0, n, BLOCK):
        c = at + tl.arange(0, BLOCK)
        v = (tl.load(x + row * n + c, mask=c < n, other=0.0) - m) * r
        tl.store(y + row * n + c, v * tl.load(w + c, mask=c < n) + tl.load(b + c, mask=c < n), mask=c < n)


@triton.jit
def rms_norm_kernel(x, y, w, n, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + c, mask=c < n, other=0.0).to(tl.float32)
    r = tl.rsqrt(tl.sum(v * v, axis=0) / n + 1e-6)
    tl.store(y + row * n + c, (v * r * tl.load(w + c, mask=c < n, other=0.0)).to(tl.float16), mask=c < n)


@triton.jit
def sort_kernel(x, y, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + at, tl.sort(tl.load(x + at)))


@triton.jit
def topk_kernel(x, y, N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0)
    tl.store(y + row * K + tl.arange(0, K), tl.topk(tl.load(x + row * N + tl.arange(0, N)), K))


@triton.jit
def cumsum_kernel(x, y, R: tl.constexpr, N: tl.constexpr):
    at = (tl.program_id(0) * R + tl.arange(0, R))[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(y + at, tl.cumsum(tl.load(x + at), axis=1))


@triton.jit
def linear(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def scan_kernel(a, b, y, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    _, h = tl.associative_scan((tl.load(a + at), tl.load(b + at)), axis=0, combine_fn=linear)
    tl.store(y + at, h)


@triton.jit
def histogram_kernel(x, y, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=BINS - 1)
    tl.atomic_add(y + tl.arange(0, BINS), tl.histogram(v, BINS))


@triton.jit
def attention_kernel(q, k, v, o, n, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    rows, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    head = tl.program_id(1) * n * D
    at = head + rows[:, None] * D + d[None, :]
    query = tl.load(q + at, mask=rows[:, None] < n, other=0.0)
    most, size = tl.full([BM], -float("inf"), tl.float32), tl.zeros([BM], tl.float32)
    total = tl.zeros([BM, D], tl.float32)
    for start in range(0, n, BN):
        columns = start + tl.arange(0, BN)
        keys = tl.load(k + head + columns[None, :] * D + d[:, None], mask=columns[None, :] < n, other=0.0)
        s = tl.dot(query, keys) * scale
        seen = columns[None, :] < n
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        s = tl.where(seen, s, -1e30)
        now = tl.maximum(most, tl.max(s, 1))
        p = tl.exp(s - now[:, None])
        fade = tl.exp(most - now)
        size = size * fade + tl.sum(p, 1)
        values = tl.load(v + head + columns[:, None] * D + d[None, :], mask=columns[:, None] < n, other=0.0)
        total = total * fade[:, None] + tl.dot(p.to(values.dtype), values)
        most = now
    tl.store(o + at, (total / size[:, None]).to(tl.float16), mask=rows[:, None] < n)


@triton.jit
def dropout_kernel(x, y, kept, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, at) > p
    v = tl.load(x + at, mask=at < n)
    tl.store(y + at, tl.where(keep, v / (1 - p), 0.0), mask=at < n)
    tl.store(kept + at, tl.randint(seed, at), mask=at < n)


@triton.jit
def gather_kernel(x, index, y, N: tl.constexpr, M: tl.constexpr):
    rows = tl.arange(0, 4)[:, None]
    v = tl.load(x + rows * N + tl.arange(0, N)[None, :])
    i = tl.load(index + rows * M + tl.arange(0, M)[None, :])
    tl.store(y + rows * M + tl.arange(0, M)[None, :], tl.gather(v, i, axis=1))


@triton.jit
def atomics_kernel(x, low, high, total, lock, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0)
    tl.atomic_min(low + at % 8, v, mask=at < n)
    tl.atomic_max(high + at % 8, v, mask=at < n)
    part = tl.sum(v, axis=0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.atomic_xchg(total, tl.atomic_add(total, 0) + part)
    tl.atomic_xchg(lock, 0)
    tl.atomic_add(out, part)


@triton.jit
def argmax_kernel(x, y, z, n, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + c, mask=c < n, other=-float("inf"))
    tl.store(y + row, tl.argmax(v, axis=0))
    tl.store(z + row, tl.argmin(tl.where(c < n, v, float("inf")), axis=0))


@triton.jit
def transpose_kernel(x, y, M, N, B: tl.constexpr):
    r, c = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    v = tl.load(x + r[:, None] * N + c[None, :], mask=(r[:, None] < M) & (c[None, :] < N))
    tl.store(y + c[:, None] * M + r[None, :], tl.trans(v), mask=(c[:, None] < N) & (r[None, :] < M))


@triton.jit
def embedding_kernel(ids, table, y, d, BLOCK: tl.constexpr):
    token, c = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(y + token * d + c, tl.load(table + tl.load(ids + token) * d + c, mask=c < d), mask=c < d)


@triton.jit
def cross_entropy_kernel(x, label, loss, grad, n, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + c, mask=c < n, other=-float("inf"))
    most = tl.max(v, 0)
    e = tl.exp(v - most)
    size = tl.sum(e, 0)
    right = tl.load(label + row)
    tl.store(loss + row, tl.log(size) + most - tl.load(x + row * n + right))
    tl.store(grad + row * n + c, e / size - (c == right), mask=c < n)


@triton.jit
def descriptor_kernel(x, y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    target = tl.make_tensor_descriptor(y, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    r, c = tl.program_id(0) * BM, tl.program_id(1) * BN
    target.store([r, c], source.load([r, c]) * 2 + 1)


@triton.jit
def conv_kernel(x, w, y, n, K: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for k in tl.static_range(K):
        from_ = at + k - K // 2
        total += tl.load(x + from_, mask=(from_ >= 0) & (from_ < n), other=0.0) * tl.load(w + k)
    tl.store(y + at, total, mask=at < n)


@triton.jit
def welford(m1, s1, n1, m2, s2, n2):
    d, n = m2 - m1, n1 + n2
    size = tl.maximum(n, 1.0)
    return (n1 * m1 + n2 * m2) / size, s1 + s2 + d * d * (n1 * n2 / size), n  # the same from either side


@triton.jit
def welford_kernel(x, mean, variance, n, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + c, mask=c < n, other=0.0)
    one = tl.where(c < n, 1.0, 0.0)
    m, s, many = tl.reduce((v, tl.zeros([BLOCK], tl.float32), one), 0, welford)
    tl.store(mean + row, m)
    tl.store(variance + row, s / many)


@triton.jit
def batched_kernel(a, x, y, m, n, BM: tl.constexpr, BN: tl.constexpr):
    batch, r = tl.program_id(1), tl.program_id(0) * BM + tl.arange(0, BM)
    total = tl.zeros([BM], tl.float32)
    for start in range(0, n, BN):
        c = start + tl.arange(0, BN)
        tile = tl.load(
            a + batch * m * n + r[:, None] * n + c[None, :], mask=(r[:, None] < m) & (c[None, :] < n), other=0.0
        )
        total += tl.sum(tile * tl.load(x + batch * n + c, mask=c < n, other=0.0)[None, :], axis=1)
    tl.store(y + batch * m + r, total, mask=r < m)


@triton.jit
def split_kernel(x, y, N: tl.constexpr):
    at = tl.arange(0, N)
    a, b = tl.split(tl.reshape(tl.load(x + at), [N // 2, 2]))
    tl.store(y + at, tl.reshape(tl.join(b, tl.flip(a, 0)), [N]))


def compiled(kernel, types, constants, warps, target):
    """(PTX, bytes of shared memory, threads of a block) of the kernel of that name.

    types      {parameter: its type in Triton's words, such as "*fp32"}
    constants  {parameter: what it is when the kernel is compiled}
    warps      of a block
    target     such as "sm_80"
    """
    function = globals()[kernel]
    signature = dict.fromkeys(function.arg_names, "constexpr") | types
    source = ASTSource(fn=function, signature=signature, constexprs=constants)
    made = triton.compile(
        source, target=GPUTarget("cuda", int(target[3:]), 32), options={"num_warps": warps, "enable_fp_fusion": False}
    )
    return made.asm["ptx"], made.metadata.shared, 32 * made.metadata.num_warps


def keep(name, *how):
    """Write NAME.ptx, without what it says for debuggers, and with what a launch must know in its first line."""
    ptx, shared, threads = compiled(*how, "sm_80")
    text = re.sub(r"^\s*\.section\b[^{]*\{[^}]*\}\n?|^\s*\.loc\b.*\n|^\s*\.file\b.*\n", "", ptx, flags=re.M)
    head = f"// programs.py by Triton {triton.__version__}: {threads} threads, {shared} bytes of shared memory\n"
    (Path(__file__).parent / f"{name}.ptx").write_text(head + text.rstrip() + "\n")
